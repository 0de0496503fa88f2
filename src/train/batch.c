/* A step's sequences lie one after the other in columns; a micro-batch is a run of them, laid into memory that was
 * made for the largest. Rows with a label are listed for the head, which computes no others; where there is none a
 * row stands in that weighs nothing, for a graph has one at least. */
#include "train/batch.h"

#include <string.h>

hn_batch hn_batch_on(hn_heap *heap)
{
    return (hn_batch){ .heap = heap };
}

void hn_batch_free(hn_batch *b)
{
    hn_free(b->heap, b->ids);
    hn_free(b->heap, b->weights);
    hn_free(b->heap, b->begin);
    hn_free(b->heap, b->tokens);
    hn_free(b->heap, b->example_weights);
    hn_free(b->heap, b->labels);
    *b = hn_batch_on(b->heap);
}

void hn_batch_clear(hn_batch *b)
{
    b->n_tokens = b->n_sequences = b->n_examples = b->parts = b->n_supervised = 0;
    b->weight = b->examples_weight = 0;
}

static hn_status grow(hn_heap *heap, void *column, size_t *room, size_t n, size_t size)
{
    void **at = column, *more;
    if (n <= *room)
        return HN_OK;
    more = hn_realloc_array(heap, HN_TAG_STATE, *at, n + n / 2 + 16, size);
    if (!more)
        return HN_ERR_MEMORY;
    *at = more;
    *room = n + n / 2 + 16;
    return HN_OK;
}

static hn_status add_sequence(hn_batch *b, const hn_sample *s)
{
    size_t room = b->room;
    HN_TRY(grow(b->heap, &b->ids, &room, b->n_tokens + s->n, sizeof *b->ids));
    HN_TRY(grow(b->heap, &b->weights, &b->room, b->n_tokens + s->n, sizeof *b->weights));
    HN_TRY(grow(b->heap, &b->begin, &b->sequences_room, b->n_sequences + 2, sizeof *b->begin));
    memcpy(b->ids + b->n_tokens, s->ids, s->n * sizeof *b->ids);
    memcpy(b->weights + b->n_tokens, s->weights, s->n * sizeof *b->weights);
    for (size_t t = 1; t < s->n; t++)
        if (s->weights[t] > 0) {
            b->n_supervised++;
            b->weight += (double)s->weights[t];
        }
    b->begin[b->n_sequences++] = b->n_tokens;
    b->n_tokens += s->n;
    b->begin[b->n_sequences] = b->n_tokens;
    return HN_OK;
}

static float weight_of(const hn_sample *s)
{
    double sum = 0;
    size_t n = 0;
    for (size_t t = 1; t < s->n; t++)
        if (s->weights[t] > 0) {
            sum += (double)s->weights[t];
            n++;
        }
    return n ? (float)(sum / (double)n) : 0;
}

static hn_status add(hn_batch *b, const hn_sample *parts, size_t n, int label)
{
    size_t room = b->examples_room;
    HN_REQUIRE(!b->parts || b->parts == n, HN_ERR_ARGUMENT,
               "a step of examples of %zu and of %zu sequences", b->parts, n);
    HN_TRY(grow(b->heap, &b->example_weights, &room, b->n_examples + 1, sizeof *b->example_weights));
    room = b->examples_room;
    HN_TRY(grow(b->heap, &b->labels, &room, b->n_examples + 1, sizeof *b->labels));
    HN_TRY(grow(b->heap, &b->tokens, &b->examples_room, b->n_examples + 1, sizeof *b->tokens));
    uint32_t tokens = 0;
    for (size_t i = 0; i < n; i++) {
        HN_TRY(add_sequence(b, &parts[i]));
        tokens += (uint32_t)parts[i].n;
    }
    b->labels[b->n_examples] = (int8_t)label;
    b->example_weights[b->n_examples] = weight_of(&parts[0]);
    b->examples_weight += (double)b->example_weights[b->n_examples];
    b->tokens[b->n_examples++] = tokens;
    b->parts = n;
    return HN_OK;
}

hn_status hn_batch_add(hn_batch *b, const hn_example *e)
{
    return add(b, e->part, (size_t)e->n_parts, e->label);
}

hn_status hn_batch_add_sample(hn_batch *b, const hn_sample *sample)
{
    return add(b, sample, 1, 0);
}

hn_status hn_batch_read(hn_batch *b, const hn_dataset *dataset, const hn_data_step *step,
                        hn_example *scratch)
{
    hn_batch_clear(b);
    for (size_t i = 0; i < step->n; i++) {
        HN_TRY(hn_dataset_read(dataset, step->examples[i], scratch));
        HN_TRY(hn_batch_add(b, scratch));
    }
    return HN_OK;
}

static size_t prompt_of(const hn_sample *s)
{
    size_t n = 1;
    while (n < s->n && !(s->weights[n] > 0))
        n++;
    return n < s->n ? n : s->n;
}

static hn_status add_mismatch(const hn_batch *b, size_t i, size_t longest, hn_sample *scratch, hn_batch *out)
{
    const hn_sample asks = hn_batch_sequence(b, i);
    const hn_sample says = hn_batch_sequence(b, (i ? i : b->n_examples) - 1);
    const size_t asked = prompt_of(&asks), begins = prompt_of(&says);
    const size_t said = says.n - begins < longest - asked ? says.n - begins : longest - asked;
    memcpy(scratch->ids, asks.ids, asked * sizeof *asks.ids);
    memcpy(scratch->ids + asked, says.ids + begins, said * sizeof *says.ids);
    for (size_t t = 0; t < asked + said; t++)
        scratch->weights[t] = t >= asked && says.weights[begins + t - asked] > 0;
    scratch->n = asked + said;
    return hn_batch_add_sample(out, scratch);
}

hn_status hn_batch_mismatch(const hn_batch *b, hn_batch *out)
{
    size_t longest = 0;
    for (size_t i = 0; i < b->n_examples; i++)
        longest = b->tokens[i] > longest ? b->tokens[i] : longest;
    hn_sample scratch = { .ids = hn_alloc_array(b->heap, HN_TAG_STATE, longest + 1, sizeof *scratch.ids),
                          .weights = hn_alloc_array(b->heap, HN_TAG_STATE, longest + 1,
                                                    sizeof *scratch.weights) };
    hn_status status = scratch.ids && scratch.weights ? HN_OK : HN_ERR_MEMORY;
    for (size_t i = 0; i < b->n_examples && status == HN_OK; i++)
        status = add_mismatch(b, i, longest, &scratch, out);
    hn_free(b->heap, scratch.ids);
    hn_free(b->heap, scratch.weights);
    return status;
}

hn_sample hn_batch_sequence(const hn_batch *b, size_t i)
{
    return (hn_sample){ .ids = b->ids + b->begin[i], .weights = b->weights + b->begin[i],
                        .n = b->begin[i + 1] - b->begin[i] };
}

static hn_status make_groups(hn_micro *m)
{
    const size_t r = (size_t)m->max_rows, p = (size_t)m->max_pairs + 1;
    m->pair_of = hn_alloc_array(m->heap, HN_TAG_STATE, r, sizeof *m->pair_of);
    m->sign = hn_alloc_array(m->heap, HN_TAG_STATE, r, sizeof *m->sign);
    m->share[0] = hn_alloc_array(m->heap, HN_TAG_STATE, r, sizeof **m->share);
    m->share[1] = hn_alloc_array(m->heap, HN_TAG_STATE, r, sizeof **m->share);
    m->no_pairs = hn_alloc_array(m->heap, HN_TAG_STATE, p, sizeof *m->no_pairs);
    m->pair_weights = hn_alloc_array(m->heap, HN_TAG_STATE, p, sizeof *m->pair_weights);
    m->example_labels = hn_alloc_array(m->heap, HN_TAG_STATE, p, sizeof *m->example_labels);
    return m->pair_of && m->sign && m->share[0] && m->share[1] && m->no_pairs && m->pair_weights &&
                   m->example_labels
               ? HN_OK
               : HN_ERR_MEMORY;
}

hn_status hn_micro_new(hn_micro *m, hn_heap *heap, int64_t max_tokens, int64_t max_rows,
                       int64_t max_pairs)
{
    const size_t t = (size_t)max_tokens, r = (size_t)max_rows;
    *m = (hn_micro){ .heap = heap, .pack = hn_pack_on(heap), .max_tokens = max_tokens,
                     .max_rows = max_rows, .max_pairs = max_pairs };
    m->rows = hn_alloc_array(heap, HN_TAG_STATE, r, sizeof *m->rows);
    m->labels = hn_alloc_array(heap, HN_TAG_STATE, r, sizeof *m->labels);
    m->weights = hn_alloc_array(heap, HN_TAG_STATE, r, sizeof *m->weights);
    m->places = hn_alloc_array(heap, HN_TAG_STATE, 2 * t, sizeof *m->places);
    hn_status status = m->rows && m->labels && m->weights && m->places ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK && max_pairs)
        status = make_groups(m);
    if (status == HN_OK)
        status = hn_pack_reserve(&m->pack, t);
    if (status != HN_OK)
        hn_micro_free(m);
    return status;
}

void hn_micro_free(hn_micro *m)
{
    if (!m->heap)
        return;
    hn_pack_free(&m->pack);
    hn_free(m->heap, m->rows);
    hn_free(m->heap, m->labels);
    hn_free(m->heap, m->pair_of);
    hn_free(m->heap, m->weights);
    hn_free(m->heap, m->sign);
    hn_free(m->heap, m->no_pairs);
    hn_free(m->heap, m->share[0]);
    hn_free(m->heap, m->share[1]);
    hn_free(m->heap, m->pair_weights);
    hn_free(m->heap, m->example_labels);
    hn_free(m->heap, m->places);
    *m = (hn_micro){ 0 };
}

/* Of a sequence whose supervised rows of pack are [from, n): where its example's sums go. */
static void group_rows(hn_micro *m, size_t from, int64_t row, size_t number, size_t first, size_t parts)
{
    const size_t which = number % parts;
    double whole = 0, n = 0;
    for (size_t t = from; t < m->pack.n; t++)
        if (m->pack.labels[t] != HN_NO_LABEL) {
            whole += (double)m->pack.weights[t];
            n += m->pack.weights[t] > 0;
        }
    const double even = parts == 1 && whole > 0 ? n / whole : 1; /* an example's weight is pair_weights' */
    for (size_t t = from; t < m->pack.n; t++) {
        const float weight = m->pack.weights[t];
        if (m->pack.labels[t] == HN_NO_LABEL)
            continue;
        m->pair_of[row] = (int32_t)((number - first) / parts);
        m->share[which][row] = whole > 0 ? (float)((double)weight / whole) : 0;
        m->share[!which][row] = 0;
        m->sign[row++] = which ? -weight : (float)((double)weight * even);
    }
}

/* Rows of pack [from, n): those of sequence `number` of the step. */
static hn_status take_rows(hn_micro *m, size_t from, size_t number, size_t first, size_t parts)
{
    const int64_t row = m->n_rows;
    for (size_t t = from; t < m->pack.n; t++) {
        m->places[2 * t] = (int32_t)number;
        m->places[2 * t + 1] = m->pack.positions[t];
        if (m->pack.labels[t] == HN_NO_LABEL)
            continue;
        HN_REQUIRE(m->n_rows < m->max_rows, HN_ERR_ARGUMENT,
                   "a micro-batch of more than %lld supervised tokens", (long long)m->max_rows);
        m->rows[m->n_rows] = (int32_t)t;
        m->labels[m->n_rows] = m->pack.labels[t];
        m->weights[m->n_rows++] = m->pack.weights[t];
    }
    if (m->max_pairs)
        group_rows(m, from, row, number, first, parts);
    return HN_OK;
}

hn_status hn_micro_fill(hn_micro *m, const hn_hparams *hp, const hn_batch *batch, size_t from,
                        size_t to)
{
    const size_t first = from * batch->parts;
    hn_pack_clear(&m->pack);
    m->n_rows = 0;
    m->n_pairs = (int64_t)(to - from);
    for (size_t i = from; i < to && i - from < (size_t)m->max_pairs; i++) {
        m->pair_weights[i - from] = batch->example_weights[i];
        m->example_labels[i - from] = batch->labels[i] < 0 ? -1 : 1;
    }
    for (size_t i = first; i < to * batch->parts; i++) {
        const hn_sample s = hn_batch_sequence(batch, i);
        const size_t at = m->pack.n;
        HN_TRY(hn_hparams_check_length(hp, (int64_t)s.n));
        HN_REQUIRE(at + s.n <= (size_t)m->max_tokens, HN_ERR_ARGUMENT,
                   "a micro-batch of more than %lld tokens", (long long)m->max_tokens);
        HN_TRY(hn_pack_add(&m->pack, &s));
        HN_TRY(take_rows(m, at, i, first, batch->parts));
    }
    if (!m->n_rows) { /* a graph has one row at least: this one counts for nothing */
        m->rows[0] = m->labels[0] = 0;
        m->weights[0] = 0;
        if (m->max_pairs) {
            m->pair_of[0] = 0;
            m->sign[0] = m->share[0][0] = m->share[1][0] = 0;
        }
        m->n_rows = 1;
    }
    return HN_OK;
}
