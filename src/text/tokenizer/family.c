/* family: the families as a table, and by their names. */
#include "text/tokenizer/family.h"

#include <string.h>

const hn_family hn_families[] = {
#define HN_FAMILY(name, gguf, json) { #name, gguf, json, &hn_family_##name },
#include "text/tokenizer/families.def"
#undef HN_FAMILY
};
const size_t hn_n_families = HN_COUNT(hn_families);

const hn_family *hn_family_of_gguf(hn_span model)
{
    for (size_t i = 0; i < hn_n_families; i++) {
        const char *name = hn_families[i].gguf;
        if (name && strlen(name) == model.bytes && !memcmp(name, model.data, model.bytes))
            return &hn_families[i];
    }
    return NULL;
}

const hn_family *hn_family_of_json(const char *type, bool has_byte_level)
{
    for (size_t i = 0; i < hn_n_families; i++) {
        const hn_family *f = &hn_families[i];
        if (f->json && !strcmp(f->json, type) && f->calls->of_bytes == has_byte_level)
            return f;
    }
    return NULL;
}

bool hn_model_makes(const hn_tokenizer *tok, int32_t id)
{
    const uint8_t kind = tok->vocab.kind[id];
    return kind == HN_TOKEN_NORMAL || kind == HN_TOKEN_USER_DEFINED || kind == HN_TOKEN_UNUSED;
}
