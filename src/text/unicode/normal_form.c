/* normal_form: text is cut into one character that stays and the run of those that may change
 * after it; each such stretch is taken apart, put in order and put together by itself. */
#include "text/unicode/normal_form.h"

#include "text/unicode/unicode.h"

#include <string.h>

typedef struct item {
    uint32_t code, class, from;
} item;

typedef struct stretch {
    hn_heap *heap;
    item *at, *other;
    size_t n, room;
    hn_status status;
} stretch;

hn_charset *hn_form_touches(hn_heap *heap, hn_form form)
{
    const bool composes = form == HN_NFC || form == HN_NFKC;
    hn_ranges set = hn_ranges_on(heap);
    if (composes)
        hn_unicode_add_set(&set, HN_SET_NFC_TOUCHES);
    else
        hn_ranges_add(&set, 0xac00, 0xd7a3);
    if (form != HN_NFC)
        hn_unicode_add_mapped(&set, form == HN_NFD ? HN_MAP_NFD : HN_MAP_NFKD);
    hn_unicode_add_combining(&set);
    hn_charset *out = hn_charset_new(heap, &set);
    hn_ranges_free(&set);
    return out;
}

static void add(stretch *s, uint32_t code, uint32_t from)
{
    if (s->status != HN_OK)
        return;
    if (s->n == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        item *at = hn_realloc_array(s->heap, HN_TAG_TEXT, s->at, room, sizeof *at);
        s->at = at ? at : s->at;
        item *other =
            at ? hn_realloc_array(s->heap, HN_TAG_TEXT, s->other, room, sizeof *other) : NULL;
        s->other = other ? other : s->other;
        if (!other) {
            s->status = HN_ERR_MEMORY;
            return;
        }
        s->room = room;
    }
    s->at[s->n++] = (item){ code, hn_unicode_combining_class(code), from };
}

static void take_apart(stretch *s, hn_form form, uint32_t code, uint32_t from)
{
    size_t n = 0;
    if (code >= 0xac00 && code < 0xd7a4) {
        const uint32_t at = code - 0xac00, last = at % 28;
        add(s, 0x1100 + at / 588, from);
        add(s, 0x1161 + at % 588 / 28, from);
        if (last)
            add(s, 0x11a7 + last, from);
        return;
    }
    const bool by_look = form == HN_NFKC || form == HN_NFKD;
    const uint32_t *parts = hn_unicode_map_of(by_look ? HN_MAP_NFKD : HN_MAP_NFD, code, &n);
    if (!parts)
        add(s, code, from);
    for (size_t i = 0; parts && i < n; i++)
        add(s, parts[i], from);
}

/* Marks between starters by class, equal ones as they came. */
static void put_in_order(stretch *s)
{
    for (size_t begin = 0, end; begin < s->n; begin = end) {
        end = begin + 1;
        if (!s->at[begin].class)
            continue;
        while (end < s->n && s->at[end].class)
            end++;
        if (end - begin > 32) { /* counting, because a text may consist of marks */
            size_t place[257] = { 0 };
            for (size_t i = begin; i < end; i++)
                place[s->at[i].class + 1]++;
            for (size_t i = 1; i < 257; i++)
                place[i] += place[i - 1];
            for (size_t i = begin; i < end; i++)
                s->other[place[s->at[i].class]++] = s->at[i];
            memcpy(s->at + begin, s->other, (end - begin) * sizeof *s->at);
            continue;
        }
        for (size_t i = begin + 1; i < end; i++) {
            const item moved = s->at[i];
            size_t to = i;
            for (; to > begin && s->at[to - 1].class > moved.class; to--)
                s->at[to] = s->at[to - 1];
            s->at[to] = moved;
        }
    }
}

/* A mark joins the last starter unless one of its class or a higher one stands between. */
static void put_together(stretch *s)
{
    size_t n = 0, starter = SIZE_MAX;
    uint32_t last_class = 0;
    for (size_t i = 0; i < s->n; i++) {
        const item next = s->at[i];
        const bool is_near =
            starter != SIZE_MAX && (n == starter + 1 || last_class < next.class);
        const uint32_t whole = is_near ? hn_unicode_compose(s->at[starter].code, next.code) : 0;
        if (whole) {
            s->at[starter].code = whole;
            continue;
        }
        s->at[n] = next;
        if (!next.class)
            starter = n;
        last_class = next.class;
        n++;
    }
    s->n = n;
}

static void finish(stretch *s, hn_form form, hn_passage *out)
{
    put_in_order(s);
    if (form == HN_NFC || form == HN_NFKC)
        put_together(s);
    for (size_t i = 0; i < s->n; i++)
        hn_passage_put_char(out, s->at[i].code, s->at[i].from);
    s->n = 0;
}

void hn_form_apply(hn_form form, const hn_charset *touches, const hn_passage *in,
                   hn_passage *out)
{
    stretch s = { .heap = in->heap, .status = HN_OK };
    const uint8_t *end = in->bytes + in->n, *kept = in->bytes, *last = kept;
    size_t looked = 0;
    for (const uint8_t *at = in->bytes; at < end && hn_passage_goes_on(out, &looked, (size_t)(at - in->bytes));) {
        uint32_t code;
        const size_t n = hn_char_at(at, end, &code);
        if (!hn_charset_has(touches, code)) {
            last = at;
            at += n;
            continue;
        }
        /* the character before belongs to the stretch, unless there is none or it is a bad byte
         */
        if (last < at) {
            uint32_t before;
            hn_char_at(last, end, &before);
            if (before == HN_BAD_CHAR)
                last = at;
        }
        hn_passage_copy(out, in, (size_t)(kept - in->bytes), (size_t)(last - kept));
        for (at = last; at < end; at += hn_char_at(at, end, &code)) {
            hn_char_at(at, end, &code);
            if (at != last && !hn_charset_has(touches, code))
                break;
            take_apart(&s, form, code, hn_passage_from(in, (size_t)(at - in->bytes)));
        }
        finish(&s, form, out);
        kept = last = at;
    }
    hn_passage_copy(out, in, (size_t)(kept - in->bytes), (size_t)(end - kept));
    if (s.status != HN_OK)
        out->status = s.status;
    hn_free(in->heap, s.at);
    hn_free(in->heap, s.other);
}
