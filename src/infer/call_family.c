/* What a template says of how its model speaks, by words that it holds. */
#include "infer/call_family.h"

#include "base/word_list.h"

#include <string.h>

/* ---- forms ---- */

static const char *const forms[HN_N_CALL_FORMS] = {
    [HN_CALLS_JSON] = "json",   [HN_CALLS_KEYED] = "keyed",   [HN_CALLS_NAMED] = "named",    [HN_CALLS_XML] = "xml",
    [HN_CALLS_PAIRS] = "pairs", [HN_CALLS_PYTHON] = "python", [HN_CALLS_HARMONY] = "harmony",
};

const char *hn_call_form_name(hn_call_form form) { return forms[form]; }

hn_status hn_call_form_parse(const char *word, hn_call_form *out)
{
    for (int i = 0; i < HN_N_CALL_FORMS; i++)
        if (!strcmp(word, forms[i])) {
            *out = (hn_call_form)i;
            return HN_OK;
        }
    hn_word_text all;
    return hn_fail(HN_ERR_ARGUMENT, "form of calls '%.40s': expected %s", word, hn_words_or(HN_N_CALL_FORMS, forms, &all));
}

/* ---- families ---- */

static const hn_call_family families[] = {
#define HN_CALLS(name, form, signs, open, begin, prefix, sep, end, close)                                            \
    { name, HN_CALLS_##form, signs, open, begin, prefix, sep, end, close },
#include "infer/call_families.def"
#undef HN_CALLS
};

const hn_call_family *hn_call_family_at(size_t i)
{
    return i < sizeof families / sizeof *families ? &families[i] : NULL;
}

const hn_call_family *hn_call_family_named(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(families[i].name, name))
            return families[i].form == HN_CALLS_REFUSED ? NULL : &families[i];
    return NULL;
}

bool hn_text_holds(const char *source, size_t bytes, const char *word, size_t n)
{
    for (size_t i = 0; i + n <= bytes; i++)
        if (source[i] == word[0] && !memcmp(source + i, word, n))
            return true;
    return false;
}

/* All of the words, between which a space stands; U+2423 is a space within one. */
static bool has_signs(const char *source, size_t bytes, const char *signs)
{
    static const char space[] = "\xe2\x90\xa3";
    char word[64];
    size_t n = 0;
    for (const char *c = signs;; c++) {
        if (*c && *c != ' ') {
            const bool is_space = !strncmp(c, space, 3);
            word[n] = is_space ? ' ' : *c;
            n += n + 1 < sizeof word;
            c += is_space ? 2 : 0;
            continue;
        }
        if (n && !hn_text_holds(source, bytes, word, n))
            return false;
        n = 0;
        if (!*c)
            return true;
    }
}

const hn_call_family *hn_call_family_of(const char *source, size_t bytes)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (families[i].signs[0] && has_signs(source, bytes, families[i].signs))
            return families[i].form == HN_CALLS_REFUSED ? NULL : &families[i];
    return NULL;
}

static const struct {
    const char *sign;
    hn_thought_marks marks;
} thoughts[] = {
#define HN_THOUGHTS(sign, open, close, before, after) { sign, { open, close, before, after } },
#include "infer/thought_marks.def"
#undef HN_THOUGHTS
};

hn_thought_marks hn_thought_marks_of(const char *source, size_t bytes)
{
    size_t i = 0;
    while (thoughts[i].sign[0] && !hn_text_holds(source, bytes, thoughts[i].sign, strlen(thoughts[i].sign)))
        i++;
    return thoughts[i].marks;
}
