#include "kv_private.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "orderd/clock.h"

void kv_request_begin(struct kv *kv, size_t argc)
{
    strbuf_add_char(&kv->out, '*');
    strbuf_add_u64(&kv->out, argc);
    strbuf_add(&kv->out, "\r\n", 2);
}

void kv_request_add(struct kv *kv, struct slice arg)
{
    strbuf_add_char(&kv->out, '$');
    strbuf_add_u64(&kv->out, arg.len);
    strbuf_add(&kv->out, "\r\n", 2);
    strbuf_add_slice(&kv->out, arg);
    strbuf_add(&kv->out, "\r\n", 2);
}

/* One round trip: what is out, what is in, and when it must be over. */
struct trip {
    struct kv *kv;
    redisReply **replies;
    size_t count, got;
    size_t sent;
    int64_t deadline;
};

/* Whether the request may have reached the server decides what the caller may believe. */
static bool fail(const struct trip *t, struct error *err, const char *what)
{
    t->kv->broken = true;
    if (t->sent == 0)
        return error_set(err, ERROR_KV_AWAY, "%s: %s; nothing was sent", t->kv->peer, what);
    return error_set(err, ERROR_KV_LOST, "%s: %s; answer %zu of %zu is lost", t->kv->peer, what, t->got + 1, t->count);
}

/* An idle connection must be open and silent. One that the server closed meanwhile is found here, before the request
 * leaves, so that its outcome is certain; bytes nobody asked for would answer the wrong question. */
static bool is_quiet(const struct trip *t, struct error *err)
{
    const redisReader *reader = t->kv->reader;
    char bytes[100], what[160];
    ssize_t n;

    if (reader->pos != reader->len)
        return fail(t, err, "sent more answers than were asked for");
    do {
        n = kv_bytes_peek(t->kv, bytes, sizeof bytes);
    } while (n < 0 && errno == EINTR);
    if (n == 0)
        return fail(t, err, "closed the connection");
    if (n > 0) { /* e.g. -ERR max number of clients reached */
        snprintf(what, sizeof what, "spoke without being asked: %.*s", (int)n, bytes);
        return fail(t, err, what);
    }
    return errno == EAGAIN || errno == EWOULDBLOCK || fail(t, err, strerror(errno));
}

static bool send_some(struct trip *t, struct error *err)
{
    const struct strbuf *out = &t->kv->out;

    while (t->sent < out->len) {
        ssize_t n = kv_bytes_send(t->kv, out->data + t->sent, out->len - t->sent);

        if (n >= 0)
            t->sent += (size_t)n;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return true;
        else if (errno != EINTR)
            return fail(t, err, strerror(errno));
    }
    return true;
}

static bool take_replies(struct trip *t, struct error *err)
{
    while (t->got < t->count) {
        void *reply = NULL;

        if (redisReaderGetReply(t->kv->reader, &reply) != REDIS_OK)
            return fail(t, err, t->kv->reader->errstr);
        if (!reply)
            return true;
        t->replies[t->got++] = reply;
    }
    return true;
}

static bool receive_once(struct trip *t, struct error *err)
{
    char bytes[16384];
    ssize_t n = kv_bytes_receive(t->kv, bytes, sizeof bytes);

    if (n == 0)
        return fail(t, err, "closed the connection");
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || fail(t, err, strerror(errno));
    if (redisReaderFeed(t->kv->reader, bytes, (size_t)n) != REDIS_OK)
        return fail(t, err, t->kv->reader->errstr);
    return take_replies(t, err);
}

static bool receive_some(struct trip *t, struct error *err)
{
    do {
        if (!receive_once(t, err))
            return false;
    } while (kv_bytes_left(t->kv));
    return true;
}

/* Waits until the socket can do something for us; false when the time is up. */
static bool await(struct trip *t, short *events, struct error *err)
{
    bool unsent = t->sent < t->kv->out.len;
    struct pollfd p = {.fd = t->kv->fd, .events = (short)(POLLIN | (unsent ? POLLOUT : 0))};
    int64_t left = t->deadline - clock_mono_ms();
    int ready = left > 0 ? poll(&p, 1, (int)left) : 0;

    if (ready < 0 && errno != EINTR)
        return fail(t, err, strerror(errno));
    if (ready == 0)
        return fail(t, err, "did not answer in time");
    *events = ready > 0 ? p.revents : 0;
    return true;
}

/* Reads while it still writes: a server whose replies nobody takes stops reading, and both would wait for ever. */
static bool run(struct trip *t, struct error *err)
{
    if (!is_quiet(t, err) || !send_some(t, err))
        return false;
    while (t->got < t->count) {
        short events = 0;

        if (!await(t, &events, err))
            return false;
        if ((events & POLLOUT) && !send_some(t, err))
            return false;
        if ((events & (POLLIN | POLLHUP | POLLERR)) && !receive_some(t, err))
            return false;
    }
    return true;
}

bool kv_exchange(struct kv *kv, redisReply **replies, size_t count, struct error *err)
{
    struct trip trip = {.kv = kv, .replies = replies, .count = count, .deadline = clock_mono_ms() + kv->timeout_ms};
    bool ok;

    if (kv->broken)
        ok = error_set(err, ERROR_KV_AWAY, "%s: the connection is out of use; open a new one", kv->peer);
    else
        ok = run(&trip, err);
    if (kv->out.cap > 1 << 20) /* a pipeline of whole scripts (EVAL) is rare: do not keep its memory */
        strbuf_release(&kv->out);
    strbuf_reset(&kv->out);
    if (ok)
        return true;
    for (size_t i = 0; i < trip.got; i++)
        freeReplyObject(replies[i]);
    for (size_t i = 0; i < count; i++)
        replies[i] = NULL;
    return false;
}
