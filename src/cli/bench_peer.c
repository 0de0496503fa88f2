/* Other libraries' matrix products, loaded when they are named. */
#include "cli/bench.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* An object pointer of dlsym as a function pointer, as POSIX asks for it. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

hn_status hn_bench_peer_open(const char *path, hn_isa isa, hn_peer *out)
{
    *out = (hn_peer){ .name = strstr(path, "blis") ? "blis" : "openblas" };
    /* The same instructions as ours, unless the caller chose; threads are chosen by call. */
    if (isa & HN_ISA(avx512)) {
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
        setenv("BLIS_ARCH_TYPE", "skx", 0);
    } else if (isa & HN_ISA(avx2)) {
        setenv("OPENBLAS_CORETYPE", "Haswell", 0);
        setenv("BLIS_ARCH_TYPE", "haswell", 0);
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    HN_REQUIRE(library, HN_ERR_IO, "%s", dlerror());
    HN_REQUIRE(find(library, "cblas_sgemm", &out->sgemm), HN_ERR_UNSUPPORTED,
               "%s: has no cblas_sgemm", path);
    if (!find(library, "openblas_set_num_threads", &out->set_threads))
        find(library, "bli_thread_set_num_threads", &out->set_threads_long);
    return HN_OK;
}
