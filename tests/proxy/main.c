/* A proxy that hurts: it stands between programs and their servers, and does to their connections what it is told.
 *
 *   drill_proxy [--seed N] NAME:PROTOCOL=HOST:PORT...     PROTOCOL: amqp, mysql or redis
 *
 * It listens on free ports of loopback and prints "NAME PORT" for each route, then "ready". After that each line of
 * standard input is an order, and each is answered by one line, "ok" or "error: ...". It ends with its input.
 *
 *   cut NAME               resets all connections
 *   refuse NAME            resets them, and every new one
 *   stall NAME [up|down]   nothing goes on (up: to the server), connections stay
 *   throttle NAME RATE     bytes a second, each way of each connection
 *   half NAME [up|down]    one side of all connections is told that the other sends no more (down: the client, by
 * default) split NAME [up|down]   the next frame stops in the middle, and its connection ends (down by default) drop
 * NAME [N]          the next N answers are lost, each with its connection: of a COMMIT, of a script, of a publish heal
 * NAME              ends refuse, stall, throttle, and what split and drop have not found yet count NAME answers
 * "links=N answers=N cut=N dropped=N splits=N waiting=N" instead of "ok" */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "link.h"
#include "orderd/check.h"
#include "orderd/exitcode.h"

#define ROUTES_MAX 8
#define LINKS_MAX  512
#define TICK_MS    10 /* while something is throttled */

static struct route routes[ROUTES_MAX];
static size_t route_count;
static struct link *links;

/* ---- routes ---- */

__attribute__((noreturn)) static void refuse(const char *word, const char *why)
{
    fprintf(stderr, "drill_proxy: \"%s\": %s\n", word, why);
    exit(EXIT_USAGE);
}

static int listen_on_loopback(uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 128) == 0 &&
          getsockname(fd, (struct sockaddr *)&at, &len) == 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static void add_route(char *word)
{
    char *protocol = strchr(word, ':'), *host = strchr(word, '='), *port = host ? strrchr(host, ':') : NULL;
    struct route *r = &routes[route_count];
    uint16_t listens;

    if (!protocol || !port || protocol > host)
        refuse(word, "expected NAME:PROTOCOL=HOST:PORT");
    if (route_count++ == ROUTES_MAX)
        refuse(word, "one route too many");
    *protocol++ = *host++ = *port++ = '\0';
    *r = (struct route){.name = word, .host = host, .port = port, .protocol = protocol_of(protocol)};
    if (r->protocol == PROTOCOL_COUNT)
        refuse(protocol, "expected amqp, mysql or redis");
    r->listener = listen_on_loopback(&listens);
    printf("%s %u\n", word, listens);
}

static struct route *find_route(const char *name)
{
    for (size_t i = 0; i < route_count && name; i++) {
        if (strcmp(routes[i].name, name) == 0)
            return &routes[i];
    }
    return NULL;
}

/* ---- orders ---- */

static void cut_all(struct route *r)
{
    for (struct link **at = &links, *l; (l = *at);) {
        if (l->route != r) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        link_cut(&l);
        r->cut++;
    }
}

static void do_cut(struct route *r, const char *word)
{
    (void)word;
    cut_all(r);
}

static void do_refuse(struct route *r, const char *word)
{
    (void)word;
    r->refuses = true;
    cut_all(r);
}

static void do_stall(struct route *r, const char *word)
{
    r->stalled[WAY_UP] = !word || strcmp(word, "up") == 0;
    r->stalled[WAY_DOWN] = !word || strcmp(word, "down") == 0;
}

static void do_throttle(struct route *r, const char *word)
{
    r->rate = word ? strtol(word, NULL, 10) : 0;
}

static enum way way_of(const char *word)
{
    return word && strcmp(word, "up") == 0 ? WAY_UP : WAY_DOWN;
}

static void do_half(struct route *r, const char *word)
{
    for (struct link *l = links; l; l = l->next) {
        if (l->route == r)
            link_half_close(l, way_of(word));
    }
}

static void do_split(struct route *r, const char *word)
{
    r->split[way_of(word)]++;
}

static void do_drop(struct route *r, const char *word)
{
    r->drop += word ? (int)strtol(word, NULL, 10) : 1;
}

static void do_heal(struct route *r, const char *word)
{
    (void)word;
    r->refuses = false;
    r->stalled[WAY_UP] = r->stalled[WAY_DOWN] = false;
    r->rate = 0;
    r->drop = r->split[WAY_UP] = r->split[WAY_DOWN] = 0;
}

static void do_count(struct route *r, const char *word)
{
    (void)word;
    printf("links=%" PRId64 " answers=%" PRId64 " cut=%" PRId64 " dropped=%" PRId64 " splits=%" PRId64 " waiting=%d\n",
           r->links, r->answers, r->cut, r->dropped, r->splits, r->drop + r->split[WAY_UP] + r->split[WAY_DOWN]);
}

static const struct {
    const char *word;
    void (*act)(struct route *r, const char *word);
} orders[] = {{"cut", do_cut},           {"refuse", do_refuse}, {"stall", do_stall},
              {"throttle", do_throttle}, {"half", do_half},     {"split", do_split},
              {"drop", do_drop},         {"heal", do_heal},     {"count", do_count}};

static void obey(char *line)
{
    char *rest, *word = strtok_r(line, " ", &rest), *name = strtok_r(NULL, " ", &rest);
    struct route *r = find_route(name);

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (!r || !word || strcmp(orders[i].word, word) != 0)
            continue;
        orders[i].act(r, strtok_r(NULL, " ", &rest));
        if (orders[i].act != do_count)
            puts("ok");
        return;
    }
    printf("error: %s\n", r ? "no such order" : "no such route");
}

/* Reads what has come, obeys whole lines. false: the input has ended. */
static bool listen_to_orders(void)
{
    static char text[4096];
    static size_t len;
    ssize_t got = read(STDIN_FILENO, text + len, sizeof text - 1 - len);
    char *end;

    if (got <= 0)
        return false;
    len += (size_t)got;
    text[len] = '\0';
    while ((end = strchr(text, '\n'))) {
        *end++ = '\0';
        obey(text);
        len -= (size_t)(end - text);
        memmove(text, end, len + 1);
    }
    return len < sizeof text - 1;
}

/* ---- the loop ---- */

static void open_links(const struct pollfd *fds)
{
    for (size_t i = 0; i < route_count; i++) {
        struct link *l = fds[i].revents ? link_open(&routes[i]) : NULL;

        if (!l)
            continue;
        l->next = links;
        links = l;
    }
}

static void move_links(const struct pollfd *fds)
{
    size_t n = 0;

    for (struct link **at = &links, *l; (l = *at); n += WAY_COUNT) {
        if (link_move(l, fds + n)) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        link_cut(&l);
    }
}

/* Answers how many of fds are in use: the input, the routes, the links. */
static size_t want(struct pollfd *fds, int *wait_ms)
{
    size_t n = 1 + route_count, count = 0;

    *wait_ms = -1;
    fds[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (size_t i = 0; i < route_count; i++) {
        fds[1 + i] = (struct pollfd){.fd = routes[i].listener, .events = POLLIN};
        if (routes[i].rate > 0)
            *wait_ms = TICK_MS;
    }
    for (const struct link *l = links; l; l = l->next, n += WAY_COUNT) {
        CHECK(count++ < LINKS_MAX);
        link_want(l, fds + n);
    }
    return n;
}

/* Links first: orders and new ones change the list that fds was made from. */
static void serve(void)
{
    static struct pollfd fds[1 + ROUTES_MAX + LINKS_MAX * WAY_COUNT];
    int wait_ms;

    for (;;) {
        size_t n = want(fds, &wait_ms);

        if (poll(fds, n, wait_ms) < 0)
            continue;
        move_links(fds + 1 + route_count);
        open_links(fds + 1);
        if (fds[0].revents && !listen_to_orders())
            return;
    }
}

int main(int argc, char **argv)
{
    int first = 1;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2 && strcmp(argv[1], "--seed") == 0) {
        srandom((unsigned)strtoul(argv[2], NULL, 10));
        first = 3;
    }
    if (first == argc)
        refuse(argv[0], "expected NAME:PROTOCOL=HOST:PORT");
    for (int i = first; i < argc; i++)
        add_route(argv[i]);
    puts("ready");
    serve();
    return EXIT_SUCCESS;
}
