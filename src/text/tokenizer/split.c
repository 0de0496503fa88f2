/* split: a cutter is told of matches and gaps in order, and makes pieces of them by behaviour.
 */
#include "text/tokenizer/split.h"

#include "base/work.h"
#include "text/tokenizer/vocab.h"

#include <string.h>

typedef struct cutter {
    hn_pieces *out;
    hn_split_behavior behavior;
    size_t begin, end; /* the piece in hand */
    bool has_one, was_match;
} cutter;

static void flush(cutter *c)
{
    if (c->has_one)
        hn_pieces_add(c->out, c->begin, c->end);
    c->has_one = false;
}

static void cut(cutter *c, bool is_match, size_t begin, size_t end)
{
    bool joins = false;
    switch (c->behavior) {
    case HN_SPLIT_ISOLATED:
        hn_pieces_add(c->out, begin, end);
        return;
    case HN_SPLIT_REMOVED:
        if (!is_match)
            hn_pieces_add(c->out, begin, end);
        return;
    case HN_SPLIT_CONTIGUOUS:
        joins = c->has_one && is_match == c->was_match;
        break;
    case HN_SPLIT_MERGED_WITH_PREVIOUS:
        joins = c->has_one && is_match && !c->was_match;
        break;
    case HN_SPLIT_MERGED_WITH_NEXT:
        joins = c->has_one && !is_match && c->was_match;
        break;
    }
    if (joins) {
        c->end = end;
    } else {
        flush(c);
        c->begin = begin;
        c->end = end;
        c->has_one = true;
    }
    c->was_match = is_match;
}

/* Matches that are empty and touch the last one do not count, as in Oniguruma's iterator. */
static hn_status cut_piece(const hn_split_step *s, hn_regex_stack *stack, const uint8_t *text,
                           hn_piece piece, hn_pieces *out)
{
    const uint8_t *at = text + piece.begin;
    const size_t n = piece.end - piece.begin;
    cutter c = { .out = out, .behavior = s->behavior };
    size_t from = 0, done = 0, last_end = SIZE_MAX;
    for (uint64_t i = 1; from <= n; i++) {
        size_t begin, end;
        if (hn_work_every(i))
            HN_TRY(hn_work_look("encoding"));
        HN_TRY(hn_regex_find(s->regex, stack, at, n, from, &begin, &end));
        if (begin > n)
            break;
        if (begin == end && end == last_end) {
            uint32_t code;
            from += from < n ? hn_char_at(at + from, at + n, &code) : 1;
            continue;
        }
        if (begin > done)
            cut(&c, s->inverts, piece.begin + done, piece.begin + begin);
        cut(&c, !s->inverts, piece.begin + begin, piece.begin + end);
        from = done = last_end = end;
    }
    if (done < n)
        cut(&c, s->inverts, piece.begin + done, piece.end);
    flush(&c);
    return out->status;
}

/* Tokens of such models never have the mark after these bytes, so that cutting there changes no
 * token, and a text becomes words that can be remembered. */
static void cut_words(const hn_split_step *s, const uint8_t *text, hn_piece piece,
                      hn_pieces *out)
{
    const size_t n_mark = strlen(s->mark);
    size_t begin = piece.begin;
    for (size_t at = begin + 1; at + n_mark <= piece.end; at++) {
        const uint8_t *found = memchr(text + at, s->mark[0], piece.end - at);
        if (!found)
            break;
        at = (size_t)(found - text);
        if (at + n_mark > piece.end || memcmp(found, s->mark, n_mark) != 0 ||
            s->joins[found[-1]])
            continue;
        hn_pieces_add(out, begin, at);
        begin = at;
    }
    hn_pieces_add(out, begin, piece.end);
}

/* Rewrites pieces into `to`; returns by adding their new bounds to `out`. */
static void rewrite(const hn_split_step *s, const hn_passage *text, const hn_pieces *in,
                    bool is_start, hn_passage *to, hn_pieces *out)
{
    const size_t n_mark = strlen(s->mark);
    size_t looked = 0;
    for (size_t i = 0; i < in->n && to->status == HN_OK; i++) {
        const uint8_t *at = text->bytes + in->at[i].begin, *end = text->bytes + in->at[i].end;
        const size_t begin = to->n;
        const uint32_t from = hn_passage_from(text, in->at[i].begin);
        if (s->kind == HN_SPLIT_BYTE_CHARS) {
            for (size_t k = in->at[i].begin; k < in->at[i].end && hn_passage_goes_on(to, &looked, k); k++)
                hn_passage_put_char(to, hn_byte_char(text->bytes[k]), hn_passage_from(text, k));
            hn_pieces_add(out, begin, to->n);
            continue;
        }
        const bool is_marked =
            *at == ' ' || ((size_t)(end - at) >= n_mark && !memcmp(at, s->mark, n_mark));
        if (s->prepends && !is_marked && (!s->only_first || (is_start && in->at[i].begin == 0)))
            hn_passage_put(to, s->mark, n_mark, from);
        for (; at < end; at++) {
            const size_t place = (size_t)(at - text->bytes);
            if (!hn_passage_goes_on(to, &looked, place))
                return;
            if (*at == ' ')
                hn_passage_put(to, s->mark, n_mark, hn_passage_from(text, place));
            else
                hn_passage_copy(to, text, place, 1);
        }
        hn_pieces_add(out, begin, to->n);
    }
}

static hn_status run_step(const hn_split_step *s, hn_split_space *space, hn_passage *text,
                          bool is_start)
{
    hn_pieces *in = &space->pieces, *out = &space->spare_pieces;
    hn_pieces_clear(out, text->heap);
    if (s->kind == HN_SPLIT_REGEX) {
        for (size_t i = 0; i < in->n; i++)
            HN_TRY(cut_piece(s, &space->stack, text->bytes, in->at[i], out));
    } else if (s->kind == HN_SPLIT_WORDS) {
        for (size_t i = 0; i < in->n; i++)
            cut_words(s, text->bytes, in->at[i], out);
    } else {
        hn_passage *to = &space->spare;
        hn_passage_clear(to, text->heap, text->maps);
        rewrite(s, text, in, is_start, to, out);
        HN_TRY(to->status);
        const hn_passage done = *to;
        *to = *text;
        *text = done;
    }
    const hn_pieces done = *out;
    *out = *in;
    *in = done;
    return in->status;
}

hn_status hn_splitter_run(const hn_splitter *splitter, hn_split_space *space, hn_passage *text,
                          bool is_start)
{
    hn_pieces_clear(&space->pieces, text->heap);
    hn_pieces_add(&space->pieces, 0, text->n);
    for (size_t i = 0; i < splitter->n; i++) {
        HN_TRY(space->pieces.status); /* before a step takes these for its scratch, and clears it */
        HN_TRY(run_step(&splitter->steps[i], space, text, is_start));
    }
    return space->pieces.status;
}

hn_status hn_split_to_bytes(hn_split_space *space, hn_passage *text)
{
    hn_pieces *in = &space->pieces, *out = &space->spare_pieces;
    hn_passage *to = &space->spare;
    hn_pieces_clear(out, text->heap);
    hn_passage_clear(to, text->heap, text->maps);
    size_t looked = 0;
    for (size_t i = 0; i < in->n && to->status == HN_OK; i++) {
        const size_t begin = to->n;
        for (size_t at = in->at[i].begin; at < in->at[i].end && hn_passage_goes_on(to, &looked, at);) {
            uint32_t code;
            const size_t n = hn_char_at(text->bytes + at, text->bytes + in->at[i].end, &code);
            const int byte = code == HN_BAD_CHAR ? -1 : hn_byte_of_char(code);
            if (byte < 0) /* put in by a later step: it keeps its own bytes */
                hn_passage_copy(to, text, at, n);
            else
                hn_passage_put(to, &(uint8_t){ (uint8_t)byte }, 1, hn_passage_from(text, at));
            at += n;
        }
        hn_pieces_add(out, begin, to->n);
    }
    const hn_passage bytes = *to;
    *to = *text;
    *text = bytes;
    const hn_pieces done = *out;
    *out = *in;
    *in = done;
    return text->status != HN_OK ? text->status : in->status;
}

void hn_split_space_free(hn_heap *heap, hn_split_space *space)
{
    hn_passage_free(&space->spare);
    hn_pieces_free(&space->pieces);
    hn_pieces_free(&space->spare_pieces);
    hn_regex_stack_free(heap, &space->stack);
}

hn_status hn_splitter_add(hn_splitter *sp, hn_split_step step)
{
    if (sp->n == sp->room) {
        const size_t room = sp->room ? 2 * sp->room : 4;
        hn_split_step *steps =
            hn_realloc_array(sp->heap, HN_TAG_TEXT, sp->steps, room, sizeof step);
        if (!steps) {
            hn_regex_free(step.regex);
            return HN_ERR_MEMORY;
        }
        sp->steps = steps;
        sp->room = room;
    }
    sp->has_byte_chars |= step.kind == HN_SPLIT_BYTE_CHARS;
    sp->steps[sp->n++] = step;
    return HN_OK;
}

hn_status hn_splitter_add_pattern(hn_splitter *sp, const char *pattern,
                                  hn_split_behavior behavior)
{
    hn_split_step step = { .kind = HN_SPLIT_REGEX, .behavior = behavior };
    HN_TRY(hn_regex_new(sp->heap, pattern, strlen(pattern), &step.regex));
    return hn_splitter_add(sp, step);
}

hn_status hn_splitter_add_set(hn_splitter *sp, hn_unicode_set set, hn_split_behavior behavior)
{
    hn_split_step step = { .kind = HN_SPLIT_REGEX, .behavior = behavior };
    hn_ranges ranges = hn_ranges_on(sp->heap);
    hn_unicode_add_set(&ranges, set);
    const hn_status status = hn_regex_new_set(sp->heap, &ranges, &step.regex);
    hn_ranges_free(&ranges);
    return status == HN_OK ? hn_splitter_add(sp, step) : status;
}

void hn_splitter_free(hn_splitter *sp)
{
    for (size_t i = 0; i < sp->n; i++)
        hn_regex_free(sp->steps[i].regex);
    hn_free(sp->heap, sp->steps);
    *sp = (hn_splitter){ .heap = sp->heap };
}
