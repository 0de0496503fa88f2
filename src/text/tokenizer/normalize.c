/* normalize: each step reads one passage and writes another. */
#include "text/tokenizer/normalize.h"

#include "base/work.h"
#include "text/tokenizer/vocab.h"
#include "text/unicode/unicode.h"

#include <string.h>

static void free_step(hn_heap *heap, hn_norm_step *step)
{
    hn_charset_free(heap, step->set);
    hn_regex_free(step->regex);
    hn_free(heap, step->text);
}

void hn_normalizer_free(hn_normalizer *norm)
{
    for (size_t i = 0; i < norm->n; i++)
        free_step(norm->heap, &norm->steps[i]);
    hn_free(norm->heap, norm->steps);
    *norm = (hn_normalizer){ .heap = norm->heap };
}

hn_status hn_normalizer_add(hn_normalizer *norm, hn_norm_step step)
{
    if (norm->n == norm->room) {
        const size_t room = norm->room ? 2 * norm->room : 8;
        hn_norm_step *steps =
            hn_realloc_array(norm->heap, HN_TAG_TEXT, norm->steps, room, sizeof step);
        if (!steps) {
            free_step(norm->heap, &step);
            return HN_ERR_MEMORY;
        }
        norm->steps = steps;
        norm->room = room;
    }
    norm->steps[norm->n++] = step;
    return HN_OK;
}

hn_status hn_normalizer_add_set(hn_normalizer *norm, hn_norm_kind kind, hn_ranges *set)
{
    hn_charset *bitmap = hn_charset_new(norm->heap, set);
    hn_ranges_free(set);
    if (!bitmap)
        return HN_ERR_MEMORY;
    return hn_normalizer_add(norm, (hn_norm_step){ .kind = kind, .set = bitmap });
}

hn_status hn_normalizer_add_text(hn_normalizer *norm, hn_norm_kind kind, const char *text,
                                 size_t bytes)
{
    char *copy = hn_alloc(norm->heap, HN_TAG_TEXT, bytes + 1);
    if (!copy)
        return HN_ERR_MEMORY;
    if (bytes)
        memcpy(copy, text, bytes);
    return hn_normalizer_add(norm,
                             (hn_norm_step){ .kind = kind, .text = copy, .bytes = bytes });
}

hn_status hn_normalizer_add_form(hn_normalizer *norm, hn_form form)
{
    hn_charset *set = hn_form_touches(norm->heap, form);
    if (!set)
        return HN_ERR_MEMORY;
    return hn_normalizer_add(norm,
                             (hn_norm_step){ .kind = HN_NORM_FORM, .form = form, .set = set });
}

hn_status hn_normalizer_add_replace(hn_normalizer *norm, const char *from, size_t from_bytes,
                                    const char *to, size_t to_bytes)
{
    hn_regex *regex;
    HN_TRY(hn_regex_new_literal(norm->heap, from, from_bytes, &regex));
    const hn_status status = hn_normalizer_add_text(norm, HN_NORM_REPLACE, to, to_bytes);
    if (status == HN_OK)
        norm->steps[norm->n - 1].regex = regex;
    else
        hn_regex_free(regex);
    return status;
}

hn_status hn_normalizer_add_marks(hn_normalizer *norm)
{
    return hn_normalizer_add_replace(norm, " ", 1, "\xe2\x96\x81", 3);
}

hn_status hn_normalizer_add_bert(hn_normalizer *norm, bool clean, bool chinese, bool accents,
                                 bool lower)
{
    hn_ranges set = hn_ranges_on(norm->heap);
    if (clean) {
        hn_unicode_add_set(&set, HN_SET_BERT_REMOVED);
        HN_TRY(hn_normalizer_add_set(norm, HN_NORM_REMOVE, &set));
        hn_unicode_add_set(&set, HN_SET_WHITE);
        HN_TRY(hn_normalizer_add_set(norm, HN_NORM_BLANK, &set));
    }
    if (chinese) {
        static const hn_range ideographs[] = { { 0x4e00, 0x9fff },   { 0x3400, 0x4dbf },
                                               { 0x20000, 0x2a6df }, { 0x2a700, 0x2b73f },
                                               { 0x2b740, 0x2b81f }, { 0x2b920, 0x2ceaf },
                                               { 0xf900, 0xfaff },   { 0x2f800, 0x2fa1f } };
        hn_ranges_add_all(&set, ideographs, HN_COUNT(ideographs));
        HN_TRY(hn_normalizer_add_set(norm, HN_NORM_ISOLATE, &set));
    }
    if (accents) {
        HN_TRY(hn_normalizer_add_form(norm, HN_NFD));
        hn_unicode_add_set(&set, HN_SET_BERT_MARK);
        HN_TRY(hn_normalizer_add_set(norm, HN_NORM_REMOVE, &set));
    }
    return lower ? hn_normalizer_add(norm, (hn_norm_step){ .kind = HN_NORM_LOWER }) : HN_OK;
}

static void put_lower(uint32_t code, uint32_t from, hn_passage *out)
{
    size_t n;
    const uint32_t *to = hn_unicode_map_of(HN_MAP_LOWER, code, &n);
    for (size_t i = 0; to && i < n; i++)
        hn_passage_put_char(out, to[i], from);
    if (!to)
        hn_passage_put_char(out, code, from);
}

/* The next place at or after `at` whose character is in the set, if there is one before a stretch is over. */
static const uint8_t *find_member(const hn_charset *set, const uint8_t *at, const uint8_t *end)
{
    uint32_t code;
    const uint8_t *until = end - at < HN_PASSAGE_STRETCH ? end : at + HN_PASSAGE_STRETCH;
    for (size_t n; at < until; at += n) {
        n = hn_char_at(at, end, &code);
        if (hn_charset_has(set, code))
            break;
    }
    return at;
}

/* The steps that change the members of a set and copy all else. */
static void each_member(const hn_norm_step *s, const hn_passage *in, hn_passage *out)
{
    const uint8_t *end = in->bytes + in->n;
    size_t looked = 0;
    for (const uint8_t *at = in->bytes; at < end && hn_passage_goes_on(out, &looked, (size_t)(at - in->bytes));) {
        const uint8_t *found = find_member(s->set, at, end);
        hn_passage_copy(out, in, (size_t)(at - in->bytes), (size_t)(found - at));
        if (found == end)
            break;
        uint32_t code;
        const size_t n = hn_char_at(found, end, &code), place = (size_t)(found - in->bytes);
        if (!hn_charset_has(s->set, code)) { /* the stretch was over */
            at = found;
            continue;
        }
        const uint32_t from = hn_passage_from(in, place);
        if (s->kind != HN_NORM_REMOVE)
            hn_passage_put(out, " ", 1, from);
        if (s->kind == HN_NORM_ISOLATE) {
            hn_passage_copy(out, in, place, n);
            hn_passage_put(out, " ", 1, from);
        }
        at = found + n;
    }
}

/* ASCII keeps its place: it is copied in runs and then changed. */
static void lower(const hn_passage *in, hn_passage *out)
{
    const uint8_t *end = in->bytes + in->n;
    size_t looked = 0;
    for (const uint8_t *at = in->bytes, *next; at < end && hn_passage_goes_on(out, &looked, (size_t)(at - in->bytes)); at = next) {
        for (next = at; next < end && *next < 0x80 && next - at < HN_PASSAGE_STRETCH; next++) {
        }
        const size_t begin = out->n;
        hn_passage_copy(out, in, (size_t)(at - in->bytes), (size_t)(next - at));
        for (size_t i = begin; i < out->n; i++)
            if (out->bytes[i] >= 'A' && out->bytes[i] <= 'Z')
                out->bytes[i] |= 0x20;
        if (next == end || *next < 0x80)
            continue;
        uint32_t code;
        const size_t n = hn_char_at(next, end, &code), place = (size_t)(next - in->bytes);
        if (code == HN_BAD_CHAR || (code >= 0x2e80 && code < 0xa000)) /* no cases */
            hn_passage_copy(out, in, place, n);
        else
            put_lower(code, hn_passage_from(in, place), out);
        next += n;
    }
}

static void to_byte_chars(const hn_passage *in, hn_passage *out)
{
    size_t looked = 0;
    for (size_t i = 0; i < in->n && hn_passage_goes_on(out, &looked, i); i++)
        hn_passage_put_char(out, hn_byte_char(in->bytes[i]), hn_passage_from(in, i));
}

static void strip(const hn_norm_step *s, const hn_passage *in, hn_passage *out)
{
    const uint8_t *begin = in->bytes, *end = in->bytes + in->n;
    uint32_t code;
    while (s->left && begin < end) {
        const size_t n = hn_char_at(begin, end, &code);
        if (!hn_charset_has(s->set, code))
            break;
        begin += n;
    }
    while (s->right && begin < end) {
        const size_t n = hn_char_before(begin, end);
        hn_char_at(end - n, end, &code);
        if (!hn_charset_has(s->set, code))
            break;
        end -= n;
    }
    hn_passage_copy(out, in, (size_t)(begin - in->bytes), (size_t)(end - begin));
}

static hn_status replace(const hn_norm_step *s, hn_regex_stack *stack, const hn_passage *in,
                         hn_passage *out)
{
    size_t at = 0, looked = 0;
    while (at <= in->n && hn_passage_goes_on(out, &looked, at)) {
        size_t begin, end;
        HN_TRY(hn_regex_find(s->regex, stack, in->bytes, in->n, at, &begin, &end));
        if (begin > in->n)
            break;
        HN_REQUIRE(end > begin, HN_ERR_UNSUPPORTED,
                   "normalizer Replace: its pattern matches nothing");
        hn_passage_copy(out, in, at, begin - at);
        hn_passage_put(out, s->text, s->bytes, hn_passage_from(in, begin));
        at = end;
    }
    hn_passage_copy(out, in, at, in->n - at);
    return HN_OK;
}

static void collapse(const hn_passage *in, hn_passage *out)
{
    bool wants_space = false;
    size_t looked = 0;
    for (size_t i = 0; i < in->n && hn_passage_goes_on(out, &looked, i); i++) {
        if (in->bytes[i] == ' ') {
            wants_space = out->n > 0;
            continue;
        }
        if (wants_space)
            hn_passage_put(out, " ", 1, hn_passage_from(in, i - 1));
        wants_space = false;
        hn_passage_copy(out, in, i, 1);
    }
}

static hn_status run_step(const hn_norm_step *s, hn_regex_stack *stack, const hn_passage *in,
                          hn_passage *out)
{
    switch (s->kind) {
    case HN_NORM_FORM:
        hn_form_apply(s->form, s->set, in, out);
        break;
    case HN_NORM_REPLACE:
        HN_TRY(replace(s, stack, in, out));
        break;
    case HN_NORM_PREPEND_MISSING:
    case HN_NORM_PREPEND: {
        const bool begins = in->n >= s->bytes && memcmp(in->bytes, s->text, s->bytes) == 0;
        if (in->n && !(s->kind == HN_NORM_PREPEND_MISSING && begins))
            hn_passage_put(out, s->text, s->bytes, hn_passage_from(in, 0));
        hn_passage_copy(out, in, 0, in->n);
        break;
    }
    case HN_NORM_STRIP:
        strip(s, in, out);
        break;
    case HN_NORM_CHARSMAP:
        hn_charsmap_apply(s->text, s->bytes, in, out);
        break;
    case HN_NORM_COLLAPSE:
        collapse(in, out);
        break;
    case HN_NORM_LOWER:
        lower(in, out);
        break;
    case HN_NORM_BYTE_CHARS:
        to_byte_chars(in, out);
        break;
    default:
        each_member(s, in, out);
    }
    return out->status;
}

hn_status hn_normalizer_run(const hn_normalizer *norm, hn_regex_stack *stack, hn_passage *text,
                            hn_passage *spare)
{
    for (size_t i = 0; i < norm->n; i++) {
        hn_passage_clear(spare, text->heap, text->maps);
        if (text->n >= HN_PASSAGE_STRETCH)
            HN_TRY(hn_work_look("encoding"));
        if (text->n)
            HN_TRY(run_step(&norm->steps[i], stack, text, spare));
        const hn_passage done = *spare;
        *spare = *text;
        *text = done;
    }
    return HN_OK;
}
