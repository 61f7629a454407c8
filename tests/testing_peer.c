#include "testing_peer.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testing_http.h"

static struct {
    const char *path;
    int status;
    const char *body;
} answers[4];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over answers */
static pthread_t thread;
static atomic_bool stopping;
static atomic_int asked;
static int listener, port, held[16];
static size_t held_count;

static bool read_request(int fd, char *out, size_t size)
{
    size_t len = 0;
    ssize_t n;

    while (len + 1 < size && (n = recv(fd, out + len, size - 1 - len, 0)) > 0) {
        len += (size_t)n;
        out[len] = '\0';
        if (strstr(out, "\r\n\r\n"))
            return true;
    }
    return false;
}

static void send_all(int fd, const char *text)
{
    size_t left = strlen(text);
    ssize_t n;

    while (left > 0 && (n = send(fd, text, left, MSG_NOSIGNAL)) > 0) {
        text += n;
        left -= (size_t)n;
    }
}

static void answer(int fd, int status, const char *body)
{
    char head[128];

    if (status == 0 && held_count < sizeof held / sizeof *held) {
        held[held_count++] = fd;
        return;
    }
    snprintf(head, sizeof head, "HTTP/1.1 %d x\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status,
             strlen(body));
    send_all(fd, head);
    send_all(fd, body);
    close(fd);
}

static void serve(int fd)
{
    char request[4096] = "", path[256] = "";
    int status = 404;
    const char *body = "";

    if (!read_request(fd, request, sizeof request) || sscanf(request, "GET %255s", path) != 1) {
        close(fd);
        return;
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (answers[i].path && strcmp(answers[i].path, path) == 0) {
            status = answers[i].status;
            body = answers[i].body;
        }
    }
    pthread_mutex_unlock(&lock);
    asked++;
    answer(fd, status, body);
}

static void *run(void *unused)
{
    (void)unused;
    while (!stopping) {
        struct pollfd p = {.fd = listener, .events = POLLIN};

        if (poll(&p, 1, 20) == 1) {
            int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

            if (fd >= 0)
                serve(fd);
        }
    }
    return NULL;
}

void testing_peer_restart(void)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;

    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert(listener >= 0 && setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    ck_assert(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 16) == 0);
    stopping = false;
    ck_assert(pthread_create(&thread, NULL, run, NULL) == 0);
}

int testing_peer_start(void)
{
    port = testing_free_port();
    testing_peer_restart();
    return port;
}

void testing_peer_stop(void)
{
    stopping = true;
    pthread_join(thread, NULL);
    close(listener);
    while (held_count > 0)
        close(held[--held_count]);
}

void testing_peer_say(const char *path, int status, const char *body)
{
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (answers[i].path && strcmp(answers[i].path, path) != 0)
        i++;
    ck_assert(i + 1 < sizeof answers / sizeof *answers);
    answers[i].path = path;
    answers[i].status = status;
    answers[i].body = body;
    pthread_mutex_unlock(&lock);
}

int testing_peer_asked(void)
{
    return asked;
}
