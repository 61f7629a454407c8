/* A small HTTP client. */
#ifndef ORDERD_TESTING_HTTP_H
#define ORDERD_TESTING_HTTP_H

#include "testing.h"

struct testing_reply {
    int status; /* 0: the connection ended without an answer */
    char head[4096], body[262144];
};

/* Connects to loopback; -1: refused. */
int testing_http_connect(int port);

/* Sends these bytes as a request and reads to the end of the connection; fails the test after 15 s. */
void testing_http_raw(int port, const char *bytes, size_t len, struct testing_reply *reply);

/* "METHOD PATH" with a Host header. */
void testing_http(int port, const char *method, const char *path, struct testing_reply *reply);

/* What is left to come on this connection; closes it. */
void testing_http_read(int fd, struct testing_reply *reply);

/* The value of a line "name{labels} value" of /metrics, the part before the value as it stands there; fails the test
 * where there is none. */
double testing_http_metric(const char *page, const char *series);

#endif
