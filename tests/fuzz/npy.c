/* Any bytes as a .npy file: refused with a message, or an array whose sizes agree; nothing
 * leaks. */
#include "io/npy.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = 1 << 24;
    hn_npy array;
    if (hn_npy_parse(&heap, "fuzz", data, bytes, &array) == HN_OK) {
        size_t count = hn_dtype_bytes(array.dtype);
        for (int i = 0; i < array.rank; i++)
            count *= (size_t)array.dim[i];
        if (count != array.bytes || !array.data)
            abort();
    } else if (!hn_error_message()[0] || array.data) {
        abort();
    }
    hn_npy_free(&array);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
