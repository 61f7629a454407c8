#include "ctl.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *ctl_who(char out[CTL_WHO_MAX])
{
    const char *name = getenv("SUDO_USER");
    const struct passwd *user = name && name[0] ? NULL : getpwuid(geteuid());
    char host[65] = "";

    if (user)
        name = user->pw_name;
    (void)!gethostname(host, sizeof host - 1);
    if (name && name[0])
        snprintf(out, CTL_WHO_MAX, "%.100s@%s", name, host);
    else
        snprintf(out, CTL_WHO_MAX, "uid %ld@%s", (long)geteuid(), host);
    return out;
}
