/* structs.h: structs of the caller's, of the headers that the caller was compiled with: older or newer ones than the
 * library's. */
#ifndef HN_ENGINE_STRUCTS_H
#define HN_ENGINE_STRUCTS_H

#include "hone/status.h"

#include <stddef.h>

/* How long a struct was in a release. */
typedef struct hn_struct_size {
    const char *name;
    size_t size;
} hn_struct_size;

/* structs.def, ended by a NULL name. */
extern const hn_struct_size hn_struct_sizes[];

/* Of a struct of the caller's that begins with its size: zeros after an older one. A newer one is taken if what it has
 * more is zero, which is default there too; HN_ERR_ARGUMENT names any other. NULL is an empty one. `size`: of *out, which
 * begins with it afterwards. */
hn_status hn_take_struct(const char *name, const void *given, size_t size, void *out);
/* The other way: as much as there is room for in the caller's, which begins with `room`; zeros in the rest. */
hn_status hn_give_struct(const char *name, const void *from, size_t size, void *to, size_t room);

/* The same by a list of one's own. */
hn_status hn_take_struct_by(const hn_struct_size *list, const char *name, const void *given, size_t size, void *out);

#endif
