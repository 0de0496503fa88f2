#include "nn/numerics.h"

#include <string.h>

static const char *const names[] = { "f32", "bf16", "mixed", "int8" };
static const char *const definitions[] = { "f32", "bf16", "mixed", "int8.1" };

const char *hn_numerics_name(hn_numerics numerics) { return names[numerics]; }

const char *hn_numerics_definition(hn_numerics numerics) { return definitions[numerics]; }

hn_status hn_numerics_parse(const char *word, hn_numerics *out)
{
    *out = HN_NUMERICS_F32;
    if (!word)
        return HN_OK;
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (!strcmp(word, names[i])) {
            *out = (hn_numerics)i;
            return HN_OK;
        }
    return hn_fail(HN_ERR_ARGUMENT, "numerics '%s': expected f32, bf16, mixed or int8", word);
}
