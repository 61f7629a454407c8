#include "testing_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int testing_http_connect(int port)
{
    struct sockaddr_in at = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert(fd >= 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Until the end of the connection, an error of it included: a server may hang up on what it does not want. */
static size_t read_all(int fd, char *out, size_t size)
{
    int64_t deadline = testing_now_ms() + TESTING_PATIENCE * 15000;
    size_t len = 0;

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t got;

        ck_assert_msg(testing_now_ms() < deadline, "no end of the answer in 15 s");
        if (poll(&p, 1, 100) != 1)
            continue;
        ck_assert_msg(len + 1 < size, "the answer is too long");
        got = read(fd, out + len, size - 1 - len);
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    out[len] = '\0';
    return len;
}

void testing_http_read(int fd, struct testing_reply *reply)
{
    static char all[sizeof reply->head + sizeof reply->body];
    char *end;

    memset(reply, 0, sizeof *reply);
    read_all(fd, all, sizeof all);
    close(fd);
    end = strstr(all, "\r\n\r\n");
    if (!end)
        return;
    *end = '\0';
    ck_assert(sscanf(all, "HTTP/1.%*c %d", &reply->status) == 1);
    ck_assert(strlen(all) < sizeof reply->head && strlen(end + 4) < sizeof reply->body);
    strcpy(reply->head, all);
    strcpy(reply->body, end + 4);
}

void testing_http_raw(int port, const char *bytes, size_t len, struct testing_reply *reply)
{
    int fd = testing_http_connect(port);

    ck_assert_msg(fd >= 0, "port %d: %s", port, strerror(errno));
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

        if (sent < 0) /* it does not want the rest */
            break;
        bytes += sent;
        len -= (size_t)sent;
    }
    testing_http_read(fd, reply);
}

void testing_http(int port, const char *method, const char *path, struct testing_reply *reply)
{
    char request[1024];
    int len = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: localhost\r\n\r\n", method, path);

    testing_http_raw(port, request, (size_t)len, reply);
}

double testing_http_metric(const char *page, const char *series)
{
    size_t len = strlen(series);

    for (const char *line = page; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, series, len) == 0 && line[len] == ' ')
            return strtod(line + len, NULL);
    }
    ck_abort_msg("there is no series %s", series);
    return 0;
}
