/* orderctl: the program. */
#include "orderd/ctl.h"

int main(int argc, char **argv)
{
    return (int)ctl_main(argc, argv);
}
