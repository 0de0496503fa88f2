/* A mode has a name for people and a definition for records: when what it computes changes, the definition's
 * number does, and what was recorded before is told apart. */
#include "nn/numerics.h"

#include <string.h>

enum { N_MODES = HN_NUMERICS_INT8 + 1, N_DEFINITIONS };
static const char *const names[N_DEFINITIONS] = { "f32", "bf16", "mixed", "int8", "mixed" };
static const char *const definitions[N_DEFINITIONS] = { "f32", "bf16.2", "mixed.2", "int8.1", "mixed" };

const char *hn_numerics_name(hn_numerics numerics) { return names[numerics]; }

const char *hn_numerics_definition(hn_numerics numerics) { return definitions[numerics]; }

const char *hn_numerics_definitions(hn_word_text *text) { return hn_words_or(N_MODES, definitions, text); }

hn_status hn_numerics_parse(const char *word, hn_numerics *out)
{
    *out = HN_NUMERICS_F32;
    if (!word)
        return HN_OK;
    for (int i = 0; i < N_MODES; i++)
        if (!strcmp(word, names[i])) {
            *out = (hn_numerics)i;
            return HN_OK;
        }
    hn_word_text all;
    return hn_fail(HN_ERR_ARGUMENT, "numerics '%s': expected %s", word, hn_words_or(N_MODES, names, &all));
}

hn_status hn_numerics_recorded(const char *word, hn_numerics *out)
{
    *out = HN_NUMERICS_F32;
    for (int i = 0; word && i < N_DEFINITIONS; i++)
        if (!strcmp(word, definitions[i])) {
            *out = (hn_numerics)i;
            return HN_OK;
        }
    hn_word_text all;
    HN_REQUIRE(!word, HN_ERR_UNSUPPORTED, "recorded numerics '%s': expected %s, which this version defines", word,
               hn_words_or(N_DEFINITIONS, definitions, &all));
    return HN_OK;
}
