#include "orderd/local_message.h"

#include <stdlib.h>
#include <string.h>

#include "orderd/check.h"
#include "orderd/clock.h"

void local_messages_init(struct local_messages *list)
{
    list->first = NULL;
    list->end = &list->first;
    list->count = 0;
}

void local_messages_append(struct local_messages *list, struct local_messages *more)
{
    if (!more->first)
        return;
    *list->end = more->first;
    list->end = more->end;
    list->count += more->count;
    local_messages_init(more);
}

struct local_message *local_messages_pop(struct local_messages *list)
{
    struct local_message *m = list->first;

    if (!m)
        return NULL;
    list->first = m->next;
    if (!list->first)
        list->end = &list->first;
    list->count--;
    m->next = NULL;
    return m;
}

void local_messages_push(struct local_messages *list, struct local_message *m)
{
    m->next = NULL;
    *list->end = m;
    list->end = &m->next;
    list->count++;
}

void local_messages_free(struct local_messages *list)
{
    while (list->first) {
        struct local_message *next = list->first->next;

        free(list->first);
        list->first = next;
    }
    local_messages_init(list);
}

static struct slice copy(char **at, struct slice s)
{
    struct slice out = {*at, s.len};

    if (s.len)
        memcpy(*at, s.ptr, s.len);
    *at += s.len;
    return out;
}

struct local_message *local_message_create(struct slice key, struct slice topic, struct slice payload,
                                           struct slice headers, const char *owner)
{
    struct local_message *m = check_malloc(sizeof *m + key.len + topic.len + payload.len + headers.len);
    char *at = (char *)(m + 1);

    CHECK(key.len <= LOCAL_MESSAGE_KEY_MAX && strlen(owner) <= LOCAL_MESSAGE_OWNER_MAX);
    memset(m, 0, sizeof *m);
    m->key = copy(&at, key);
    m->topic = copy(&at, topic);
    m->payload = copy(&at, payload);
    m->headers = copy(&at, headers);
    strcpy(m->owner, owner);
    m->attempts = 1;
    m->leased_at = clock_mono_ms();
    return m;
}

void local_messages_add(struct local_messages *list, struct slice key, const char *topic, struct slice payload,
                        struct slice headers, const char *owner)
{
    local_messages_push(list, local_message_create(key, slice_of(topic), payload, headers, owner));
}
