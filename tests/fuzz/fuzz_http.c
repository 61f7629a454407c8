/* The admin endpoint: the real server of this process, to which each input is sent as what a client says; and what our
 * own code reads of a request, without a server between. */
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../src/program/admin/file.h"
#include "../../src/program/admin/host.h"
#include "fuzz.h"
#include "orderd/admin.h"
#include "orderd/log.h"
#include "orderd/survey_board.h"

#define TRIES     50
#define ANSWER_US 20000

static struct sockaddr_in at;
static struct admin_view answer;

static void collect(void *arg, struct admin_view *view)
{
    (void)arg;
    *view = answer;
}

/* A port that is free just now; somebody else may be faster. */
static int free_port(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof at;

    at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
          getsockname(fd, (struct sockaddr *)&at, &len) == 0);
    close(fd);
    return ntohs(at.sin_port);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct conf conf = {.admin_host = "127.0.0.1", .log_level = CONF_LOG_LEVEL_ERROR};
    struct admin *server = NULL;
    struct error err = {0};

    (void)argc, (void)argv;
    log_configure(&conf);
    answer = (struct admin_view){.instance = "1", .phase = ADMIN_RUNNING, .beat_limit_ms = 50000};
    answer.board = survey_board_create();
    for (int i = 0; i < TRIES && !server; i++) {
        conf.admin_port = free_port();
        server = admin_start(&conf, "", collect, NULL, &err);
    }
    CHECK(server != NULL);
    return 0;
}

/* What comes back must be HTTP with an answer that we give, or nothing. */
static void judge(const char *head, size_t len)
{
    static const int known[] = {200, 304, 400, 404, 405, 411, 413, 414, 421, 431, 501, 503, 505};
    bool found = len == 0;
    int status = 0;

    if (len > 0)
        CHECK(sscanf(head, "HTTP/1.%*1d %3d", &status) == 1 || strncmp(head, "HTTP/1.1 100", 12) == 0);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        found = found || status == known[i];
    CHECK(found);
}

/* A request that is not whole yet gets no answer: not waited for. */
static void ask(struct slice request)
{
    const struct timeval patience = {.tv_usec = ANSWER_US};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char head[64] = "", rest[16384];
    size_t len = 0;
    ssize_t n;

    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    n = send(fd, request.ptr, request.len, MSG_NOSIGNAL);
    while (n >= 0 && (n = recv(fd, rest, sizeof rest, 0)) > 0) {
        size_t part = len + (size_t)n < sizeof head ? (size_t)n : sizeof head - 1 - len;

        memcpy(head + len, rest, part);
        len += part;
    }
    close(fd);
    judge(head, len);
}

static void read_pieces(struct slice bytes)
{
    struct strbuf text = STRBUF_INIT;
    const struct admin_file *file;

    strbuf_add_slice(&text, bytes);
    strbuf_add_str(&text, "");
    if (strstr(text.data, "evil") == text.data) /* a name that nobody calls his own */
        CHECK(!admin_host_known(text.data, "admin.example") || strcasestr(text.data, ".localhost"));
    (void)admin_host_known(text.data, text.data);
    file = admin_file_of(text.data);
    if (!file)
        file = admin_file_of("/");
    if (file)
        (void)admin_file_known(file, text.data);
    strbuf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = fuzz_slice(data, size);

    read_pieces(bytes);
    ask(bytes);
    return 0;
}
