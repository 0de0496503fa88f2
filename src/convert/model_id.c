#include "convert/model_id.h"

#include <string.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* "v1.2" */
static bool is_version(const char *word, size_t n)
{
    size_t at = 1;
    if (n < 2 || word[0] != 'v')
        return false;
    for (;; at++) {
        const size_t begin = at;
        while (at < n && is_digit(word[at]))
            at++;
        if (at == begin)
            return false;
        if (at == n)
            return true;
        if (word[at] != '.')
            return false;
    }
}

static void capitalise(char *word, size_t n)
{
    bool has_capital = false;
    for (size_t i = 0; i < n; i++)
        has_capital = has_capital || (word[i] >= 'A' && word[i] <= 'Z');
    if (has_capital || is_digit(word[0]) || is_version(word, n))
        return;
    for (size_t i = 0; i < n; i++)
        if (word[i] >= 'a' && word[i] <= 'z' && (i == 0 || !is_letter(word[i - 1])))
            word[i] = (char)(word[i] - 32);
}

char *hn_model_title(hn_heap *heap, const char *text, size_t bytes)
{
    char *title = hn_alloc(heap, HN_TAG_TEXT, bytes + 1);
    size_t n = 0;
    for (size_t i = 0; title && i < bytes;) {
        size_t end = i;
        while (end < bytes && !strchr("- \t\n\v\f\r", text[end]))
            end++;
        if (end > i) {
            if (n)
                title[n++] = ' ';
            memcpy(title + n, text + i, end - i);
            capitalise(title + n, end - i);
            n += end - i;
        }
        i = end + 1;
    }
    return title;
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
