#include "nn/numerics.h"

#include <string.h>

const char *hn_numerics_name(hn_numerics numerics)
{
    return numerics == HN_NUMERICS_BF16 ? "bf16" : "f32";
}

hn_status hn_numerics_parse(const char *word, hn_numerics *out)
{
    *out = word && !strcmp(word, "bf16") ? HN_NUMERICS_BF16 : HN_NUMERICS_F32;
    HN_REQUIRE(!word || !strcmp(word, hn_numerics_name(*out)), HN_ERR_ARGUMENT,
               "--numerics %s: expected f32 or bf16", word);
    return HN_OK;
}
