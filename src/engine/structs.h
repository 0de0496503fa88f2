/* structs.h: structs of the caller's that it fills, or has filled, of the headers that the caller was compiled with: older or newer ones than the
 * library's. */
#ifndef HN_ENGINE_STRUCTS_H
#define HN_ENGINE_STRUCTS_H

#include "base/status.h"

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

/* The same of element `i` of a list, whose elements all have the size of the first: HN_ERR_ARGUMENT names another. */
hn_status hn_take_element(const char *name, const void *list, size_t i, size_t size, void *out);

/* The other way: a struct of the caller's that the library fills, `room` bytes of it. */
typedef struct hn_giving {
    const char *name;
    const void *from; /* the library's own, of `size` bytes */
    size_t size;
    void *to; /* or NULL: nobody wants it */
    size_t room;
} hn_giving;

/* HN_ERR_ARGUMENT: it never had as much room, and is no newer one. */
hn_status hn_check_giving(const hn_giving *giving);
/* As much as there is room for, and zeros in the rest. */
void hn_give(const hn_giving *giving);

/* For the first lines of a public function that fills `to`: an empty struct of the library's, *out, which the caller gets when
 * the function returns, however it does. A `room` that is none ends it before it has done anything. */
#define HN_GIVES(type, out, to, room)                                                                                  \
    type out##_given = { 0 }, *const out = &out##_given;                                                               \
    const hn_giving out##_giving __attribute__((cleanup(hn_give))) = { #type, out, sizeof *out, to, room };            \
    HN_TRY(hn_check_giving(&out##_giving))

/* The same by a list of one's own. */
hn_status hn_take_struct_by(const hn_struct_size *list, const char *name, const void *given, size_t size, void *out);

#endif
