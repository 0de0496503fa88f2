/* Where the model itself speaks, marks in its words are made places of the template's own, so that they become
 * tokens again. Spans are kept in order and apart, for the tokenizer takes one after the other. */
#include "data/marks.h"

#include <stdlib.h>
#include <string.h>

static hn_status add_span(hn_template_origins *o, size_t begin, size_t end)
{
    hn_template_spans *own = &o->own;
    if (begin >= end)
        return HN_OK;
    if (own->n == own->room) {
        const size_t room = own->room ? 2 * own->room : 16;
        hn_template_span *more = hn_realloc_array(o->heap, HN_TAG_TEXT, own->at, room, sizeof *more);
        if (!more)
            return HN_ERR_MEMORY;
        own->at = more;
        own->room = room;
    }
    own->at[own->n++] = (hn_template_span){ begin, end };
    return HN_OK;
}

static int by_begin(const void *a, const void *b)
{
    const size_t x = ((const hn_template_span *)a)->begin, y = ((const hn_template_span *)b)->begin;
    return (x > y) - (x < y);
}

/* In order again, and apart. */
static void settle(hn_template_spans *own)
{
    size_t n = 0;
    if (!own->n)
        return;
    qsort(own->at, own->n, sizeof *own->at, by_begin);
    for (size_t i = 1; i < own->n; i++)
        if (own->at[i].begin > own->at[n].end)
            own->at[++n] = own->at[i];
        else if (own->at[i].end > own->at[n].end)
            own->at[n].end = own->at[i].end;
    own->n = n + 1;
}

static size_t mark_at(const char *text, size_t bytes)
{
    static const char *const marks[] = {
#define HN_MARK(text) text,
#include "text/tokenizer/marks.def"
#undef HN_MARK
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const size_t n = strlen(marks[i]);
        if (n <= bytes && !memcmp(text, marks[i], n))
            return n;
    }
    return 0;
}

hn_status hn_marks_find(hn_example *e, const hn_str *text)
{
    for (size_t k = 0; k < e->stretches.n; k++) {
        const hn_stretch *s = &e->stretches.at[k];
        size_t n = 1;
        for (size_t at = s->begin; s->role == HN_ROLE_ASSISTANT && at < s->end && at < text->length; at += n) {
            n = mark_at(text->text + at, s->end - at);
            HN_TRY(add_span(&e->origins, at, at + n));
            n = n ? n : 1;
        }
    }
    settle(&e->origins.own);
    return HN_OK;
}

hn_status hn_marks_insert(hn_example *e, size_t at, size_t n)
{
    hn_template_spans *own = &e->origins.own;
    const hn_template_spans *from = &e->rendered_origins.own;
    const size_t before = own->n;
    for (size_t i = 0; i < before; i++) {
        const hn_template_span s = own->at[i];
        if (s.begin >= at)
            own->at[i].begin += n;
        else if (s.end > at)
            HN_TRY(add_span(&e->origins, at + n, s.end + n));
        own->at[i].end = s.end <= at ? s.end : s.begin >= at ? s.end + n : at;
    }
    for (size_t i = 0; i < from->n; i++) {
        const size_t begin = from->at[i].begin > at ? from->at[i].begin : at;
        const size_t end = from->at[i].end < at + n ? from->at[i].end : at + n;
        HN_TRY(add_span(&e->origins, begin, end));
    }
    settle(own);
    return HN_OK;
}
