/* Lists of servers, "host:port, host:port". */
#include <stdlib.h>
#include <string.h>

#include "orderd/conf.h"
#include "orderd/units.h"

#define BETWEEN ", "

/* text[0, len) is "host:port". The last colon: an IPv6 address has more of them, and brackets around it. */
static bool read_node(const char *text, size_t len, struct conf_node *node)
{
    const char *colon = memrchr(text, ':', len);
    size_t host = colon ? (size_t)(colon - text) : 0;
    char port[8];
    int64_t number;

    if (host == 0 || len - host - 1 >= sizeof port)
        return false;
    memcpy(port, colon + 1, len - host - 1);
    port[len - host - 1] = '\0';
    if (!units_parse_i64(port, 1, 65535, &number))
        return false;
    if (text[0] == '[' && text[host - 1] == ']')
        text++, host -= 2;
    else if (memchr(text, ':', host))
        return false;
    if (host == 0 || host >= sizeof node->host)
        return false;
    memcpy(node->host, text, host);
    node->host[host] = '\0';
    node->port = (int)number;
    return true;
}

bool conf_node_next(const char **list, struct conf_node *node)
{
    const char *at = *list ? *list : "";
    size_t len;

    at += strspn(at, BETWEEN);
    len = strcspn(at, BETWEEN);
    *list = at;
    if (len == 0 || !read_node(at, len, node))
        return false;
    *list = at + len;
    return true;
}

bool conf_node_at(const char *list, unsigned index, struct conf_node *node)
{
    for (unsigned i = 0; conf_node_next(&list, node); i++) {
        if (i == index)
            return true;
    }
    return false;
}

unsigned conf_node_count(const char *list)
{
    struct conf_node node;
    unsigned count = 0;

    while (conf_node_next(&list, &node))
        count++;
    return count;
}
