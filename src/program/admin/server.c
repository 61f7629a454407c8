/* The listening socket, the thread, and the way from a request to its answer. */
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "file.h"
#include "host.h"
#include "orderd/admin.h"
#include "orderd/check.h"
#include "orderd/clock.h"
#include "orderd/log.h"
#include "orderd/thread.h"

#define CONNECTIONS_MAX   32
#define REQUEST_BYTES_MAX 16384
/* From connecting to the last byte of the answer; the library's own time-out counts anew with every byte. */
#define CONNECTION_MS         5000
#define CONNECTION_CROWDED_MS 1000
#define TURN_MS               200

struct slot {
    int fd; /* -1: free */
    int64_t since;
};

struct admin {
    struct thread thread;
    atomic_bool stop;
    _Atomic int64_t beat;
    admin_collect_fn collect;
    void *arg;
    const char *only_host; /* who asks for another one is refused; NULL: anybody may */

    /* Owned by the thread alone. */
    struct MHD_Daemon *http;
    struct slot slots[CONNECTIONS_MAX];
    unsigned taken;
    struct admin_view *view;
    struct strbuf out;
};

static const struct route {
    const char *path, *type;
    unsigned (*answer)(const struct admin_view *, const struct admin_request *, struct strbuf *);
} routes[] = {
#define X(id, path, type, brief) {path, type, admin_##id},
#include "orderd/tbl/admin_route.h"
#undef X
};

static const struct route *route_of(const char *path)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (strcmp(routes[i].path, path) == 0)
            return &routes[i];
    }
    return NULL;
}

/* ---- one request ---- */

/* Of every answer. Nothing of another origin is loaded or may load this, nothing inline runs, and no script may make
 * HTML of a string: what titles and errors say cannot become part of the page. */
static const char *const guards[][2] = {
    {MHD_HTTP_HEADER_CONNECTION, "close"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
     "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
};

/* Consumes the response, which is NULL where there was no memory for it. */
static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
    enum MHD_Result queued;

    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++)
        MHD_add_response_header(response, guards[i][0], guards[i][1]);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

/* With headers of its own: its type, and how long a cache may keep it. */
static struct MHD_Response *response_of(const char *data, size_t len, enum MHD_ResponseMemoryMode mode,
                                        const char *type, const char *caching)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(len, (void *)(uintptr_t)data, mode);

    if (response) {
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
        MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, caching);
    }
    return response;
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
                             const struct strbuf *out)
{
    return send_response(connection, status, response_of(out->data, out->len, MHD_RESPMEM_MUST_COPY, type, "no-store"));
}

/* A browser asks each time whether it is still the same, so that after an upgrade all files are of one version. */
static enum MHD_Result reply_file(struct MHD_Connection *connection, const struct admin_file *file)
{
    bool known =
        admin_file_known(file, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_IF_NONE_MATCH));
    struct MHD_Response *response = response_of(file->data, *file->len, MHD_RESPMEM_PERSISTENT, file->type, "no-cache");

    if (response)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, file->etag);
    return send_response(connection, known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response);
}

static enum MHD_Result refuse(struct admin *admin, struct MHD_Connection *connection, unsigned status, const char *why)
{
    strbuf_addf(&admin->out, "%s\n", why);
    return reply(connection, status, "text/plain; charset=utf-8", &admin->out);
}

/* "?verbose" and "?verbose=1" alike. */
static bool asked_for(struct MHD_Connection *connection, const char *name)
{
    const char *value;

    return MHD_lookup_connection_value_n(connection, MHD_GET_ARGUMENT_KIND, name, strlen(name), &value, NULL) ==
           MHD_YES;
}

static bool is_foreign(const struct admin *admin, struct MHD_Connection *connection)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

    return admin->only_host && !admin_host_known(host, admin->only_host);
}

/* The library calls it when the head of a request is there; answered at once, a body is never read. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *body, size_t *body_len, void **state)
{
    struct admin *admin = arg;
    const struct route *route = route_of(url);
    const struct admin_file *file = admin_file_of(url);
    struct admin_request request;
    unsigned status;

    (void)version, (void)body, (void)body_len, (void)state;
    strbuf_reset(&admin->out);
    if (is_foreign(admin, connection))
        return refuse(admin, connection, MHD_HTTP_MISDIRECTED_REQUEST,
                      "on loopback only asked by an address, localhost or admin.host: docs/page.md");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse(admin, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
    if (file)
        return reply_file(connection, file);
    if (!route)
        return refuse(admin, connection, MHD_HTTP_NOT_FOUND, "there is no such page");
    request.verbose = asked_for(connection, "verbose");
    memset(admin->view, 0, sizeof *admin->view);
    admin->collect(admin->arg, admin->view);
    status = route->answer(admin->view, &request, &admin->out);
    return reply(connection, status, route->type, &admin->out);
}

/* Nothing that is served has a character that would have to be escaped: what has one stays as it came and is not found.
 * (Decoded, "/%00" would be "/".) */
static size_t leave_escaped(void *arg, struct MHD_Connection *connection, char *text)
{
    (void)arg, (void)connection;
    return strlen(text);
}

/* ---- connections end in time ---- */

static struct slot *free_slot(struct admin *admin)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (admin->slots[i].fd < 0)
            return &admin->slots[i];
    }
    return NULL;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct admin *admin = arg;
    struct slot *slot = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

        slot = free_slot(admin);
        CHECK(slot != NULL && info != NULL); /* the library takes no more than CONNECTIONS_MAX */
        *slot = (struct slot){info->connect_fd, clock_mono_ms()};
        admin->taken++;
        *context = slot;
    } else if (slot) {
        slot->fd = -1;
        admin->taken--;
    }
}

/* Whoever sends or reads too slowly: the library finds the socket ended, and frees the connection. */
static void end_late_ones(struct admin *admin)
{
    int64_t limit = admin->taken < CONNECTIONS_MAX ? CONNECTION_MS : CONNECTION_CROWDED_MS, now = clock_mono_ms();

    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        const struct slot *slot = &admin->slots[i];

        if (slot->fd >= 0 && now - slot->since > limit)
            (void)shutdown(slot->fd, SHUT_RDWR);
    }
}

static void run(void *arg)
{
    struct admin *admin = arg;

    while (!atomic_load_explicit(&admin->stop, memory_order_acquire)) {
        atomic_store_explicit(&admin->beat, clock_mono_ms(), memory_order_relaxed);
        (void)MHD_run_wait(admin->http, TURN_MS);
        end_late_ones(admin);
    }
    MHD_stop_daemon(admin->http);
}

/* ---- start and stop ---- */

bool admin_port(const struct conf *conf, const char *instance, int *port, struct error *err)
{
    int64_t n = 0;

    if (instance[0] && instance[strspn(instance, "0123456789")] == '\0')
        n = strlen(instance) < 6 ? atoi(instance) : 65536;
    if (conf->admin_port + n > 65535)
        return error_set(err, ERROR_CONF_INVALID, "admin.port %d and the instance %s make a port over 65535",
                         (int)conf->admin_port, instance);
    *port = (int)(conf->admin_port + n);
    return true;
}

static int listen_at(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, problem;

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && bind(fd, at->ai_addr, at->ai_addrlen) == 0 &&
        listen(fd, CONNECTIONS_MAX) == 0)
        return fd;
    problem = errno;
    close(fd);
    errno = problem;
    return -1;
}

static int open_socket(const char *host, int port, struct error *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *at = NULL;
    char service[12];
    int fd, problem;

    snprintf(service, sizeof service, "%d", port);
    problem = getaddrinfo(host, service, &hints, &at);
    if (problem != 0) {
        error_set(err, ERROR_IO, "admin.host %s: %s", host, gai_strerror(problem));
        return -1;
    }
    fd = listen_at(at);
    if (fd < 0)
        error_set(err, ERROR_IO, "cannot listen on %s port %d: %s", host, port, strerror(errno));
    freeaddrinfo(at);
    return fd;
}

static bool start_http(struct admin *admin, int fd)
{
    admin->http = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, on_request, admin, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(CONNECTION_MS / 1000),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES_MAX, MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped,
        NULL, MHD_OPTION_NOTIFY_CONNECTION, on_connection, admin, MHD_OPTION_END);
    return admin->http != NULL;
}

struct admin *admin_start(const struct conf *conf, const char *instance, admin_collect_fn collect, void *arg,
                          struct error *err)
{
    struct admin *admin;
    int port, fd;

    if (!admin_port(conf, instance, &port, err))
        return NULL;
    fd = open_socket(conf->admin_host, port, err);
    if (fd < 0)
        return NULL;
    admin = check_calloc(1, sizeof *admin);
    admin->collect = collect;
    admin->arg = arg;
    admin->only_host = admin_host_is_loopback(fd) ? conf->admin_host : NULL;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        admin->slots[i].fd = -1;
    if (!start_http(admin, fd)) {
        error_set(err, ERROR_IO, "libmicrohttpd cannot serve %s port %d", conf->admin_host, port);
        close(fd);
        free(admin);
        return NULL;
    }
    admin->view = check_malloc(sizeof *admin->view);
    admin->thread = (struct thread){.name = "admin", .run = run, .data = admin};
    atomic_init(&admin->beat, clock_mono_ms());
    thread_start(&admin->thread);
    log_event(LOG_EVENT_ADMIN_UP, LOG_STR("host", conf->admin_host), LOG_INT("port", port));
    return admin;
}

int64_t admin_beat(const struct admin *admin)
{
    return atomic_load_explicit(&admin->beat, memory_order_relaxed);
}

void admin_stop(struct admin **admin)
{
    struct admin *a = *admin;

    if (!a)
        return;
    atomic_store_explicit(&a->stop, true, memory_order_release);
    thread_join(&a->thread);
    strbuf_release(&a->out);
    free(a->view);
    free(a);
    *admin = NULL;
}
