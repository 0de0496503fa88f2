/* Whose words are whose. */
#include "text/template/own.h"

#include <string.h>

hn_tpl_str hn_tpl_str_on(hn_heap *heap) { return (hn_tpl_str){ hn_str_on(heap), hn_str_on(heap) }; }

void hn_tpl_str_free(hn_tpl_str *str)
{
    hn_str_free(&str->text);
    hn_str_free(&str->own);
}

hn_status hn_tpl_str_status(const hn_tpl_str *str)
{
    HN_TRY(hn_str_status(&str->text));
    return hn_str_status(&str->own);
}

/* Marks up to the text's end: what was written without any is data. */
static void catch_up(hn_tpl_str *str)
{
    static const char data[256];
    while (str->own.length < str->text.length && str->own.status == HN_OK) {
        const size_t n = str->text.length - str->own.length;
        hn_str_add_bytes(&str->own, data, n < sizeof data ? n : sizeof data);
    }
}

void hn_tpl_put(hn_tpl_str *to, hn_tpl_text text)
{
    if (text.own && text.bytes) {
        catch_up(to);
        hn_str_add_bytes(&to->own, (const char *)text.own, text.bytes);
    }
    hn_str_add_bytes(&to->text, text.text, text.bytes);
}

void hn_tpl_put_as(hn_tpl_str *to, const char *bytes, size_t n, hn_tpl_text text, size_t at)
{
    if (text.own && text.own[at]) {
        catch_up(to);
        for (size_t i = 0; i < n; i++)
            hn_str_add_char(&to->own, 1);
    }
    hn_str_add_bytes(&to->text, bytes, n);
}

hn_tpl_text hn_tpl_str_text(hn_tpl_str *str)
{
    hn_tpl_text text = { .text = str->text.text, .bytes = str->text.length };
    if (str->own.length)
        catch_up(str);
    if (str->own.length && str->own.length == str->text.length)
        text.own = (const uint8_t *)str->own.text;
    return text;
}

hn_tpl_text hn_tpl_owned(const hn_template *t, hn_tpl_text literal)
{
    literal.own = literal.bytes <= t->words.bytes ? t->ones : NULL;
    return literal;
}

static hn_status add_span(hn_heap *heap, hn_template_spans *spans, size_t begin, size_t end)
{
    if (spans->n == spans->room) {
        const size_t room = spans->room ? 2 * spans->room : 16;
        hn_template_span *grown = hn_realloc_array(heap, HN_TAG_TEXT, spans->at, room, sizeof *grown);
        if (!grown)
            return HN_ERR_MEMORY;
        spans->at = grown;
        spans->room = room;
    }
    spans->at[spans->n++] = (hn_template_span){ begin, end };
    return HN_OK;
}

hn_status hn_tpl_spans_of(hn_heap *heap, const hn_tpl_str *str, size_t base, hn_template_spans *out)
{
    const char *own = str->own.text;
    const size_t n = str->own.length < str->text.length ? str->own.length : str->text.length;
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && !own[end] == !own[begin];)
            end++;
        if (own[begin])
            HN_TRY(add_span(heap, out, base + begin, base + end));
    }
    return HN_OK;
}
