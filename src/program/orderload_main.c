/* orderload: load generator and verifier. */
#include "orderd/load.h"
#include "orderd/standard_fds.h"

int main(int argc, char **argv)
{
    standard_fds_hold();
    return (int)load_main(argc, argv);
}
