/* librabbitmq 0.11 to 0.18: the headers moved in 0.12, and the old names are an error there under -Werror. Nothing that
 * came after 0.11 is called. */
#ifndef BROKER_LIBRARY_H
#define BROKER_LIBRARY_H

#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#ifdef ORDERD_BROKER_TLS
#include <rabbitmq-c/ssl_socket.h>
#endif
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_framing.h>
#ifdef ORDERD_BROKER_TLS
#include <amqp_ssl_socket.h>
#endif
#include <amqp_tcp_socket.h>
#endif

#include "orderd/strbuf.h"

static inline amqp_bytes_t bytes_of(struct slice s)
{
    return (amqp_bytes_t){.len = s.len, .bytes = (void *)s.ptr};
}

static inline amqp_bytes_t bytes_of_text(const char *text)
{
    return bytes_of(slice_of(text));
}

static inline struct slice slice_of_bytes(amqp_bytes_t b)
{
    return (struct slice){b.bytes, b.len};
}

#endif
