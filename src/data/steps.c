/* No state but the seed: which example stands at a place of an epoch is computed, file by file in whole rounds and
 * a rest that every epoch chooses anew. Only steps that are filled by tokens depend on the ones before; the place
 * where the last one ended is kept, to be counted from. */
#include "data/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Streams of the seed. */
enum { STREAM_EPOCH = 1, STREAM_FILE, STREAM_WINDOW };

static hn_rng_key key_of(const hn_steps *s, int stream, uint64_t a, uint64_t b)
{
    const hn_rng_key key = hn_rng_fold(hn_rng_seed(s->options.seed), hn_hash_text("data"));
    return hn_rng_fold(hn_rng_fold(hn_rng_fold(key, (uint64_t)stream), a), b);
}

static hn_status count_files(hn_steps *s)
{
    for (int k = 0; k < s->dataset->n_files; k++) {
        const hn_dataset_file *file = &s->dataset->files[k];
        const double wanted = (double)file->n_trained * file->weight;
        uint64_t n = file->n_trained ? (uint64_t)floor(wanted + 0.5) : 0;
        n = file->n_trained && !n ? 1 : n;
        HN_REQUIRE(wanted < 0x1p52, HN_ERR_ARGUMENT, "%s: weight %g: an epoch is too long",
                   file->source.path, file->weight);
        s->per_file[k] = n;
        s->epoch_size += n;
    }
    HN_REQUIRE(s->epoch_size, HN_ERR_ARGUMENT, "expected examples to train, found none");
    return HN_OK;
}

hn_status hn_steps_init(hn_steps *s, hn_heap *heap, const hn_dataset *dataset,
                        const hn_steps_options *options)
{
    *s = (hn_steps){ .dataset = dataset, .heap = heap, .options = *options };
    const hn_steps_options *o = options;
    HN_REQUIRE(dataset->is_scanned, HN_ERR_ARGUMENT,
               "steps: expected a dataset that was looked through, found none");
    HN_REQUIRE(!o->batch != !o->step_tokens, HN_ERR_ARGUMENT,
               "a step: expected a number of examples or of tokens, found %s",
               o->batch ? "both" : "neither");
    HN_REQUIRE(o->window < 2 || o->batch, HN_ERR_ARGUMENT,
               "a window of %u steps: expected steps of a number of examples, found steps of "
               "tokens",
               o->window);
    HN_REQUIRE((uint64_t)o->window * o->batch < 1 << 24, HN_ERR_ARGUMENT,
               "a window of %u steps: expected at most %d examples", o->window, 1 << 24);
    HN_REQUIRE(o->epochs >= 0 && o->epochs < 1e9, HN_ERR_ARGUMENT,
               "epochs: expected 0 to a billion, found %g", o->epochs);
    HN_TRY(count_files(s));
    const double all = ceil((double)s->epoch_size * o->epochs);
    s->n_examples = o->epochs > 0 ? (uint64_t)all : UINT64_MAX;
    return HN_OK;
}

void hn_data_step_free(hn_heap *heap, hn_data_step *step)
{
    hn_free(heap, step->examples);
    *step = (hn_data_step){ 0 };
}

/* The j-th that an epoch takes from a file: whole rounds, then a choice that each epoch makes
 * anew. */
static uint64_t pick(const hn_steps *s, int k, uint64_t epoch, uint64_t j)
{
    const hn_dataset_file *file = &s->dataset->files[k];
    const uint64_t n = file->n_trained, rounds = s->per_file[k] / n;
    uint64_t i = j % n;
    if (j / n == rounds) {
        const hn_order order = hn_order_of(key_of(s, STREAM_FILE, epoch, (uint64_t)k), n);
        i = hn_order_at(&order, i);
    }
    return file->trained ? file->trained[i] : file->first + i;
}

uint64_t hn_steps_example(const hn_steps *s, uint64_t place)
{
    const uint64_t epoch = place / s->epoch_size;
    uint64_t j = place % s->epoch_size;
    if (!s->options.in_order) {
        const hn_order order = hn_order_of(key_of(s, STREAM_EPOCH, epoch, 0), s->epoch_size);
        j = hn_order_at(&order, j);
    }
    int k = 0;
    for (; j >= s->per_file[k]; k++)
        j -= s->per_file[k];
    return pick(s, k, epoch, j);
}

static hn_status add(hn_steps *s, hn_data_step *to, uint64_t example)
{
    if (to->n == to->room) {
        const size_t room = to->room ? 2 * to->room : 32;
        uint64_t *more =
            hn_realloc_array(s->heap, HN_TAG_FILE, to->examples, room, sizeof *more);
        if (!more)
            return HN_ERR_MEMORY;
        to->examples = more;
        to->room = room;
    }
    to->examples[to->n++] = example;
    return HN_OK;
}

typedef struct sized {
    uint64_t example, tokens, at;
} sized;

static int by_tokens(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->tokens != y->tokens)
        return x->tokens < y->tokens ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The window's examples, sorted; its steps come in an order of their own, or lengths would rise
 * in waves. */
static hn_status step_of_window(hn_steps *s, uint64_t k, hn_data_step *out)
{
    const uint64_t batch = s->options.batch, w = k / s->options.window;
    const uint64_t from = w * s->options.window * batch;
    if (from >= s->n_examples)
        return HN_OK;
    uint64_t n = s->options.window * batch;
    n = n < s->n_examples - from ? n : s->n_examples - from;
    const uint64_t n_steps = (n + batch - 1) / batch;
    if (k % s->options.window >= n_steps)
        return HN_OK;
    sized *all = hn_alloc_array(s->heap, HN_TAG_FILE, (size_t)n, sizeof *all);
    if (!all)
        return HN_ERR_MEMORY;
    for (uint64_t i = 0; i < n; i++) {
        all[i].example = hn_steps_example(s, from + i);
        all[i].tokens = s->dataset->tokens[all[i].example];
        all[i].at = i;
    }
    qsort(all, (size_t)n, sizeof *all, by_tokens);
    const hn_order order = hn_order_of(key_of(s, STREAM_WINDOW, w, 0), n_steps);
    const uint64_t begin = hn_order_at(&order, k % s->options.window) * batch;
    hn_status status = HN_OK;
    for (uint64_t i = begin; i < begin + batch && i < n && status == HN_OK; i++)
        status = add(s, out, all[i].example);
    hn_free(s->heap, all);
    return status;
}

/* Examples from `first` on that fill a step of tokens: one at least. */
static uint64_t count_fitting(const hn_steps *s, uint64_t first)
{
    uint64_t n = 0, tokens = 0;
    for (; first + n < s->n_examples; n++) {
        tokens += s->dataset->tokens[hn_steps_example(s, first + n)];
        if (n && tokens > s->options.step_tokens)
            break;
    }
    return n;
}

/* Steps of tokens begin where the one before ends, so they are counted from one that is known.
 */
static hn_status step_of_tokens(hn_steps *s, uint64_t k, hn_data_step *out)
{
    if (k < s->known_step)
        s->known_step = s->known_first = 0;
    while (s->known_step < k && s->known_first < s->n_examples) {
        s->known_first += count_fitting(s, s->known_first);
        s->known_step++;
    }
    out->first = s->known_first;
    if (s->known_step < k)
        return HN_OK;
    const uint64_t n = count_fitting(s, s->known_first);
    for (uint64_t i = 0; i < n; i++)
        HN_TRY(add(s, out, hn_steps_example(s, s->known_first + i)));
    return HN_OK;
}

hn_status hn_steps_at(hn_steps *s, uint64_t k, hn_data_step *out)
{
    const uint64_t batch = s->options.batch;
    out->n = 0;
    out->first = k * batch;
    HN_REQUIRE(k < 1ull << 40, HN_ERR_ARGUMENT, "step %llu: expected less than 2^40",
               (unsigned long long)k);
    if (s->options.step_tokens)
        HN_TRY(step_of_tokens(s, k, out));
    else if (s->options.window > 1)
        HN_TRY(step_of_window(s, k, out));
    else
        for (uint64_t i = 0; i < batch && out->first + i < s->n_examples; i++)
            HN_TRY(add(s, out, hn_steps_example(s, out->first + i)));
    out->epoch = (double)(out->first + out->n) / (double)s->epoch_size;
    return HN_OK;
}

hn_status hn_steps_count(hn_steps *s, uint64_t *out)
{
    *out = 0;
    if (s->n_examples == UINT64_MAX)
        return HN_OK;
    if (s->options.batch) {
        *out = (s->n_examples + s->options.batch - 1) / s->options.batch;
        return HN_OK;
    }
    for (uint64_t first = 0; first < s->n_examples; (*out)++)
        first += count_fitting(s, first);
    return HN_OK;
}
