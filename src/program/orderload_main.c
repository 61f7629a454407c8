/* orderload: load generator and verifier. */
#include "orderd/load.h"

int main(int argc, char **argv)
{
    return (int)load_main(argc, argv);
}
