/* The label of a row is the next token of the same sequence: the last row of each has none, so no sequence
 * foretells the beginning of the one behind it. A run of examples that fits is never reordered to fit better. */
#include "data/pack.h"

hn_pack hn_pack_on(hn_heap *heap) { return (hn_pack){ .heap = heap }; }

void hn_pack_free(hn_pack *p)
{
    hn_free(p->heap, p->ids);
    hn_free(p->heap, p->labels);
    hn_free(p->heap, p->positions);
    hn_free(p->heap, p->segments);
    hn_free(p->heap, p->weights);
    *p = hn_pack_on(p->heap);
}

void hn_pack_clear(hn_pack *p) { p->n = p->n_segments = p->n_supervised = 0; }

static hn_status make_room(hn_pack *p, size_t n)
{
    if (n <= p->room)
        return HN_OK;
    const size_t room = n + n / 2;
#define GROW(field)                                                                            \
    do {                                                                                       \
        void *more =                                                                           \
            hn_realloc_array(p->heap, HN_TAG_STATE, p->field, room, sizeof *p->field);         \
        if (!more)                                                                             \
            return HN_ERR_MEMORY;                                                              \
        p->field = more;                                                                       \
    } while (0)
    GROW(ids);
    GROW(labels);
    GROW(positions);
    GROW(segments);
    GROW(weights);
#undef GROW
    p->room = room;
    return HN_OK;
}

hn_status hn_pack_reserve(hn_pack *p, size_t tokens) { return make_room(p, tokens); }

hn_status hn_pack_add(hn_pack *p, const hn_sample *s)
{
    HN_REQUIRE(s->n <= INT32_MAX - p->n, HN_ERR_SHAPE,
               "a micro-batch of more than 2^31 tokens");
    HN_TRY(make_room(p, p->n + s->n));
    for (size_t t = 0; t < s->n; t++) {
        const size_t row = p->n + t;
        const bool is_last = t + 1 == s->n;
        p->ids[row] = s->ids[t];
        p->weights[row] = is_last ? 0.0f : s->weights[t + 1];
        p->labels[row] = p->weights[row] > 0 ? s->ids[t + 1] : HN_NO_LABEL;
        p->positions[row] = (int32_t)t;
        p->segments[row] = (int32_t)p->n_segments;
        p->n_supervised += p->weights[row] > 0;
    }
    p->n += s->n;
    p->n_segments++;
    return HN_OK;
}

hn_status hn_pack_add_example(hn_pack *p, const hn_example *e)
{
    for (int k = 0; k < e->n_parts; k++)
        HN_TRY(hn_pack_add(p, &e->part[k]));
    return HN_OK;
}

hn_status hn_pack_run(const uint32_t *tokens, size_t n, size_t from, size_t limit, size_t *end)
{
    size_t sum = 0;
    *end = from;
    for (; *end < n && tokens[*end] <= limit - sum; (*end)++)
        sum += tokens[*end];
    HN_REQUIRE(*end > from || from >= n, HN_ERR_ARGUMENT,
               "an example of %u tokens: expected at most the %zu of a micro-batch",
               tokens[from], limit);
    return HN_OK;
}
