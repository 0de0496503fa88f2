/* Sizes that were ever released are in structs.def, computed from each one's last field. A longer struct is taken
 * if what is beyond is zero: a caller of newer headers that wants nothing new. */
#include "engine/structs.h"

#include "base/status.h"
#include "hone/hone.h"

#include <stdbool.h>
#include <string.h>

/* To the end of a field, and of the padding behind it. */
#define END(type, last)                                                                        \
    ((offsetof(type, last) + sizeof((type *)0)->last + _Alignof(type) - 1) / _Alignof(type) * _Alignof(type))

const hn_struct_size hn_struct_sizes[] = {
#define HN_STRUCT(type, last) { #type, END(type, last) },
#define HN_RESULT(type, last) HN_STRUCT(type, last)
#include "engine/structs.def"
#undef HN_RESULT
#undef HN_STRUCT
    { NULL, 0 },
};

/* How much longer than the library's a newer struct may be: what is no size at all is not looked behind. */
enum { MOST_MORE = 4096 };

static bool is_known(const hn_struct_size *list, const char *name, size_t size)
{
    while (list->name && (strcmp(list->name, name) || list->size != size))
        list++;
    return list->name != NULL;
}

static bool may_be_newer(size_t found, size_t size)
{
    return found > size && found - size <= MOST_MORE && found % sizeof(size_t) == 0;
}

static bool is_size(const hn_struct_size *list, const char *name, size_t found, size_t size)
{
    return is_known(list, name, found) || may_be_newer(found, size);
}

static hn_status check_size(const hn_struct_size *list, const char *name, size_t found, size_t size)
{
    HN_REQUIRE(is_size(list, name, found, size), HN_ERR_ARGUMENT,
               "%s.size is %zu: expected %zu, its size", name, found, size);
    return HN_OK;
}

hn_status hn_take_struct_by(const hn_struct_size *list, const char *name, const void *given, size_t size, void *out)
{
    const unsigned char *bytes = given;
    size_t found = 0;
    memset(out, 0, size);
    if (given) {
        memcpy(&found, given, sizeof found);
        HN_TRY(check_size(list, name, found, size));
        for (size_t i = size; i < found; i++)
            HN_REQUIRE(!bytes[i], HN_ERR_ARGUMENT,
                       "%s.size is %zu: this library knows %zu bytes of it, and byte %zu is not zero: it says what a "
                       "newer one would have to do", name, found, size, i);
        memcpy(out, given, found < size ? found : size);
    }
    memcpy(out, &size, sizeof size);
    return HN_OK;
}

hn_status hn_take_struct(const char *name, const void *given, size_t size, void *out)
{
    return hn_take_struct_by(hn_struct_sizes, name, given, size, out);
}

hn_status hn_take_element(const char *name, const void *list, size_t i, size_t size, void *out)
{
    size_t each, found;
    memcpy(&each, list, sizeof each);
    HN_TRY(check_size(hn_struct_sizes, name, each, size));
    const unsigned char *at = (const unsigned char *)list + i * each;
    memcpy(&found, at, sizeof found);
    HN_REQUIRE(found == each, HN_ERR_ARGUMENT, "%s %zu of a list: its size is %zu: expected %zu, as the first has", name, i, found,
               each);
    return hn_take_struct(name, at, size, out);
}

hn_status hn_check_giving(const hn_giving *g)
{
    return g->to ? check_size(hn_struct_sizes, g->name, g->room, g->size) : HN_OK;
}

void hn_give(const hn_giving *g)
{
    if (!g->to || !is_size(hn_struct_sizes, g->name, g->room, g->size))
        return;
    memset(g->to, 0, g->room);
    memcpy(g->to, g->from, g->room < g->size ? g->room : g->size);
}
