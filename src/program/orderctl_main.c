/* orderctl: the program. */
#include "orderd/ctl.h"
#include "orderd/standard_fds.h"

int main(int argc, char **argv)
{
    standard_fds_hold();
    return (int)ctl_main(argc, argv);
}
