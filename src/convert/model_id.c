/* Titles are Python's str.title, of words of small letters alone. */
#include "convert/model_id.h"

#include "base/str.h"
#include "base/utf8.h"
#include "text/unicode/python.h"

#include <string.h>

/* The character at `text`; a byte that is no UTF-8 is one that nothing is known of. */
static uint32_t code_at(const char *text, size_t bytes, size_t *n)
{
    *n = hn_utf8_length(text, bytes);
    if (*n)
        return hn_tpl_code_at(text, n);
    *n = 1;
    return 0;
}

/* "v1.2" */
static bool is_version(const char *word, size_t bytes)
{
    size_t at = 1, n;
    if (bytes < 2 || word[0] != 'v')
        return false;
    for (;; at++) {
        const size_t begin = at;
        while (at < bytes && hn_tpl_is_in(HN_TPL_DECIMAL, code_at(word + at, bytes - at, &n)))
            at += n;
        if (at == begin)
            return false;
        if (at == bytes)
            return true;
        if (word[at] != '.')
            return false;
    }
}

/* Python's str.islower: small letters, and no capital or title-case one. */
static bool is_lower(const char *word, size_t bytes)
{
    bool any = false;
    for (size_t i = 0, n; i < bytes; i += n) {
        const uint32_t code = code_at(word + i, bytes - i, &n);
        if (hn_tpl_is_in(HN_TPL_UPPER, code) || hn_tpl_is_in(HN_TPL_TITLE, code))
            return false;
        any = any || hn_tpl_is_in(HN_TPL_LOWER, code);
    }
    return any;
}

/* Python's str.title of a word of small letters: each gets its title case that stands behind
 * none. */
static void add_title(hn_str *title, const char *word, size_t bytes)
{
    bool in_word = false;
    for (size_t i = 0, n; i < bytes; i += n) {
        uint32_t codes[3];
        const uint32_t code = code_at(word + i, bytes - i, &n);
        const int n_codes =
            in_word || !code ? 0 : hn_tpl_change_case(HN_TPL_TO_TITLE, code, codes);
        char text[4];
        if (!n_codes)
            hn_str_add_bytes(title, word + i, n);
        for (int k = 0; k < n_codes; k++)
            hn_str_add_bytes(title, text, hn_utf8_put(codes[k], text));
        in_word = hn_tpl_is_in(HN_TPL_LOWER, code);
    }
}

static void add_word(hn_str *title, const char *word, size_t bytes)
{
    size_t n;
    const bool has_digit = hn_tpl_is_in(HN_TPL_DECIMAL, code_at(word, bytes, &n));
    if (title->length)
        hn_str_add_char(title, ' ');
    if (has_digit || is_version(word, bytes) || !is_lower(word, bytes))
        hn_str_add_bytes(title, word, bytes);
    else
        add_title(title, word, bytes);
}

char *hn_model_title(hn_heap *heap, const char *text, size_t bytes)
{
    hn_str title = hn_str_on(heap);
    size_t begin = 0, n;
    for (size_t i = 0; i < bytes; i += n) {
        const uint32_t code = code_at(text + i, bytes - i, &n);
        if (code != '-' && !hn_tpl_is_in(HN_TPL_SPACE, code))
            continue;
        if (i > begin)
            add_word(&title, text + begin, i - begin);
        begin = i + n;
    }
    if (bytes > begin)
        add_word(&title, text + begin, bytes - begin);
    char *out =
        hn_str_status(&title) == HN_OK ? hn_strdup(heap, HN_TAG_TEXT, title.text) : NULL;
    hn_str_free(&title);
    return out;
}

hn_status hn_model_id_read(hn_heap *heap, const char *id, double parameters, hn_model_id *out)
{
    const char *slash = strchr(id, ' ') ? NULL : strchr(id, '/');
    const char *name = slash ? slash + 1 : id;
    *out = (hn_model_id){ .heap = heap };
    out->title = hn_model_title(heap, name, strlen(name));
    if (slash && id[0] != '.') {
        out->organization = hn_model_title(heap, id, (size_t)(slash - id));
        if (!out->organization)
            hn_model_id_free(out);
    }
    if (!out->title) {
        hn_model_id_free(out);
        return HN_ERR_MEMORY;
    }
    hn_model_name_read(name, parameters, &out->name);
    return HN_OK;
}

void hn_model_id_free(hn_model_id *id)
{
    if (!id->heap)
        return;
    hn_free(id->heap, id->title);
    hn_free(id->heap, id->organization);
    *id = (hn_model_id){ 0 };
}
