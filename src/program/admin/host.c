#include "host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define LOCALHOST "localhost"

bool admin_host_is_loopback(int fd)
{
    struct sockaddr_storage at = {0};
    socklen_t len = sizeof at;

    if (getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        return false;
    if (at.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&at;

        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (at.ss_family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&at)->sin6_addr;

        return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == IN_LOOPBACKNET);
    }
    return false;
}

static bool is_name(const char *name, size_t len, const char *is)
{
    return len == strlen(is) && strncasecmp(name, is, len) == 0;
}

/* The dot before it belongs to what is compared: "notlocalhost" is another name. */
static bool is_below_localhost(const char *name, size_t len)
{
    size_t tail = sizeof "." LOCALHOST - 1;

    return len > tail && strncasecmp(name + len - tail, "." LOCALHOST, tail) == 0;
}

static bool is_address(const char *name, size_t len)
{
    char text[INET_ADDRSTRLEN];
    struct in_addr v4;

    if (len >= sizeof text)
        return false;
    memcpy(text, name, len);
    text[len] = '\0';
    return inet_pton(AF_INET, text, &v4) == 1;
}

bool admin_host_known(const char *asked, const char *own)
{
    size_t len;

    if (!asked || asked[0] == '[') /* only an address has brackets */
        return true;
    len = strcspn(asked, ":");
    return is_address(asked, len) || is_name(asked, len, LOCALHOST) || is_name(asked, len, own) ||
           is_below_localhost(asked, len);
}
