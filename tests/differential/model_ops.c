/* Attention, mixtures of experts, losses and optimisers against PyTorch in double precision. */
#include "tests/differential/reference.h"
#include "tests/harness/check.h"

int main(int argc, char **argv)
{
    check_open(argc, argv);
    reference_check(HN_SOURCE_DIR "/tests/differential/model_ops/model_ops.txt");
    return check_close();
}
