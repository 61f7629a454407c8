/* Whom a request names as its host. A page of the web can make its visitor's browser ask a server on the visitor's own
 * machine (DNS rebinding: the page's name is given that machine's address), but its Host then is the page's name. So a
 * socket on loopback answers only to names that nobody else can own. */
#ifndef ORDERD_ADMIN_HOST_H
#define ORDERD_ADMIN_HOST_H

#include <stdbool.h>

/* Whether fd is bound to a loopback address. */
bool admin_host_is_loopback(int fd);

/* Whether asked, the Host of a request (NULL: without one, as in HTTP/1.0; with or without a port), is an address,
 * "localhost", below it, or own (admin.host). Source: RFC 9110, 7.2; RFC 6761, 6.3. Pure. */
bool admin_host_known(const char *asked, const char *own);

#endif
