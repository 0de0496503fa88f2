/* Other libraries' matrix products, loaded when they are named. */
#include "cli/bench.h"

#include "base/os/program.h"

#include <string.h>

hn_status hn_bench_peer_open(const char *path, hn_isa isa, hn_peer *out)
{
    *out = (hn_peer){ .name = strstr(path, "blis") ? "blis" : "openblas" };
    /* The same instructions as ours, unless the caller chose; threads are chosen by call. */
    if (isa & HN_ISA(avx512)) {
        hn_os_default_variable("OPENBLAS_CORETYPE", "SkylakeX");
        hn_os_default_variable("BLIS_ARCH_TYPE", "skx");
    } else if (isa & HN_ISA(avx2)) {
        hn_os_default_variable("OPENBLAS_CORETYPE", "Haswell");
        hn_os_default_variable("BLIS_ARCH_TYPE", "haswell");
    }
    void *library = hn_os_library_open(path);
    HN_REQUIRE(library, HN_ERR_IO, "%s", hn_os_library_error());
    HN_REQUIRE(hn_os_library_find(library, "cblas_sgemm", &out->sgemm), HN_ERR_UNSUPPORTED,
               "%s: has no cblas_sgemm", path);
    if (!hn_os_library_find(library, "openblas_set_num_threads", &out->set_threads))
        hn_os_library_find(library, "bli_thread_set_num_threads", &out->set_threads_long);
    return HN_OK;
}
