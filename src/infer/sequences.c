/* A step is all or nothing, and the order makes it so:
 *
 *     check     pieces, tokens, rows: nothing is touched yet
 *     grow      blocks for every piece; one that others hold too is copied first, keys that no window sees any more go
 *     run       keys are written from each sequence's length on, into blocks that it alone holds
 *     length    moves last, when the program has come to its end
 *
 * Keys behind a sequence's length are nobody's: a step that fails leaves them there, their blocks go back, and
 * whoever comes next writes over them. What grow has dropped does not come back, and need not: layers with a
 * window keep a window and a whole step (keys_kept), so all that the old length sees is there still, and the step
 * may be tried again.
 *
 * A sequence is a place and a name. Name % n_sequences is the place, and the next opening of a place has another
 * name, so who was closed is not mistaken for who came after. Logits are the program's memory, of the last step that
 * ended well. */
#include "infer/sequences_state.h"

#include "base/os/maps.h"

#include <string.h>

enum { DEFAULT_RANK = 16 };

/* ---- making one ---- */

static hn_status bind(const hn_sequences *b, const hn_node *node, const int32_t *data, int64_t n)
{
    return node ? hn_storage_bind(b->c.storage, node->leaf, data, (size_t)n * sizeof *data) : HN_OK;
}

static hn_status bind_inputs(hn_sequences *b)
{
    const nn_build *built = &b->c.build;
    const int64_t n = b->max_tokens, blocks = b->n_sequences * b->each;
    HN_TRY(bind(b, built->tokens, b->tokens, n));
    HN_TRY(bind(b, built->positions, b->positions, n));
    HN_TRY(bind(b, built->slots, b->slots, n));
    HN_TRY(bind(b, built->window_slots, b->window_slots, n));
    HN_TRY(bind(b, built->segments, b->spans, 3 * n));
    HN_TRY(bind(b, built->table, b->rooms[HN_ROOM_ALL].table, blocks));
    HN_TRY(bind(b, built->window_table, b->rooms[HN_ROOM_WINDOW].table, blocks));
    HN_TRY(bind(b, built->adapter_ids, b->adapter_ids, n));
    HN_TRY(bind(b, built->row_adapters, b->row_adapters, b->max_rows));
    HN_TRY(hn_bank_bind(b));
    return bind(b, built->rows, b->rows, b->max_rows);
}

static hn_status plan(hn_sequences *b, const nn_bank_room *bank)
{
    nn_build_options o = { .max_tokens = b->max_tokens, .max_rows = b->max_rows,
                           .capacity = (int64_t)b->rooms[HN_ROOM_ALL].blocks.n * HN_KEY_BLOCK,
                           .window_capacity = (int64_t)b->rooms[HN_ROOM_WINDOW].blocks.n * HN_KEY_BLOCK,
                           .n_sequences = b->n_sequences, .each = b->each, .cache = b->cache,
                           .numerics = b->run.numerics, .packs = b->packs, .bank = *bank };
    hn_adapters_apply(b->adapters, &o);
    if (b->changed) {
        o.instead = b->changed->instead;
        o.adapters = b->changed->adapters;
        o.n_adapters = b->changed->n_adapters;
    }
    HN_TRY(hn_compiled_build(&b->c, b->heap, b->model, b->run, &o));
    if (!b->c.build.has_window) /* every layer sees everything */
        hn_sequences_keys_join(b);
    HN_TRY(hn_bank_new(b, o.bank.n));
    hn_node *const wanted[] = { b->c.result, b->c.build.state };
    HN_TRY(hn_compiled_plan(&b->c, b->keeps_states ? 2 : 1, wanted, NULL));
    return bind_inputs(b);
}

const hn_dtype hn_cache_types[HN_CACHE_TYPES] = { HN_F32, HN_F16, HN_BF16, HN_TYPE_q8_0, HN_TYPE_q4_0 };

const char *hn_cache_words(hn_word_text *text)
{
    const char *names[HN_CACHE_TYPES];
    for (int i = 0; i < HN_CACHE_TYPES; i++)
        names[i] = hn_dtype_name(hn_cache_types[i]);
    return hn_words_or(HN_CACHE_TYPES, names, text);
}

static hn_status check_cache(hn_dtype dtype)
{
    for (int i = 0; i < HN_CACHE_TYPES; i++)
        if (dtype == hn_cache_types[i])
            return HN_OK;
    hn_word_text all;
    return hn_fail(HN_ERR_UNSUPPORTED, "a cache of %s: expected %s", hn_dtype_name(dtype), hn_cache_words(&all));
}

/* Keys of a window and of one step: what a step writes is read by its own first token too. */
static int64_t keys_kept(const hn_sequences *b, bool keeps_all)
{
    const int64_t window = hn_model_hparams(b->model)->window;
    if (window <= 0 || keeps_all)
        return 0;
    const int64_t keys = hn_blocks_of(window + b->max_tokens) * HN_KEY_BLOCK;
    return keys < b->n_ctx ? keys : 0;
}

static hn_status take_options(hn_sequences *b, const hn_sequences_options *o)
{
    const bool is_bf16 = b->run.numerics == HN_NUMERICS_BF16;
    HN_REQUIRE(!hn_model_embeds_only(b->model), HN_ERR_UNSUPPORTED,
               "%s only embeds texts: there is nothing to generate from",
               hn_model_arch(b->model)->name);
    HN_TRY(check_cache(o->cache));
    const int64_t most = hn_hparams_longest(hn_model_hparams(b->model));
    b->n_sequences = o->n_sequences;
    b->n_open = o->n_open ? o->n_open : o->n_sequences;
    b->n_ctx = o->n_ctx ? o->n_ctx : hn_hparams_usual_context(hn_model_hparams(b->model));
    b->max_tokens = o->max_tokens ? o->max_tokens : 512;
    HN_REQUIRE(b->n_ctx > 0 && b->n_ctx <= INT32_MAX && (most <= 0 || b->n_ctx <= most),
               HN_ERR_ARGUMENT, "a context of %lld tokens: the model was made for %lld",
               (long long)b->n_ctx, (long long)most);
    HN_REQUIRE(b->n_sequences > 0 && b->n_sequences <= INT32_MAX / HN_KEY_BLOCK / hn_blocks_of(b->n_ctx),
               HN_ERR_ARGUMENT, "%lld sequences of %lld tokens: expected 1 or more, and fewer than 2^31 tokens",
               (long long)b->n_sequences, (long long)b->n_ctx);
    HN_REQUIRE(b->n_open > 0 && b->n_open <= b->n_sequences, HN_ERR_ARGUMENT,
               "%lld of %lld sequences open: expected 1 or more, and not more than all", (long long)b->n_open,
               (long long)b->n_sequences);
    if (b->max_tokens > b->n_open * b->n_ctx)
        b->max_tokens = b->n_open * b->n_ctx;
    b->max_rows = o->max_rows ? o->max_rows : b->n_sequences;
    HN_REQUIRE(b->max_tokens > 0 && b->max_rows > 0 && o->n_blocks >= 0,
               HN_ERR_ARGUMENT, "%lld tokens and %lld rows of logits a step, %lld blocks of keys: expected 1 or more",
               (long long)b->max_tokens, (long long)b->max_rows, (long long)o->n_blocks);
    if (b->max_rows > b->max_tokens)
        b->max_rows = b->max_tokens;
    b->cache = is_bf16 && o->cache == HN_F32 ? HN_BF16 : o->cache;
    b->adapters = o->adapters;
    b->changed = o->changed;
    b->packs = o->packs;
    b->keeps_states = o->keeps_states;
    b->each = hn_blocks_of(b->n_ctx);
    b->keeps = keys_kept(b, o->keeps_all);
    return HN_OK;
}

static hn_status make_sequences(hn_sequences *b)
{
    b->sequences = hn_alloc_array(b->heap, HN_TAG_STATE, (size_t)b->n_sequences, sizeof *b->sequences);
    for (int64_t i = 0; b->sequences && i < b->n_sequences; i++) {
        b->sequences[i] = (hn_sequence){ .name = -1, .next = (int32_t)i };
        b->sequences[i].tokens =
            hn_alloc_array(b->heap, HN_TAG_STATE, (size_t)b->n_ctx, sizeof *b->sequences[i].tokens);
        if (!b->sequences[i].tokens)
            return HN_ERR_MEMORY;
    }
    return b->sequences ? HN_OK : HN_ERR_MEMORY;
}

/* Everything but the memory of cache and workspace. */
static hn_status prepare(hn_sequences *b, const hn_sequences_options *o)
{
    HN_TRY(take_options(b, o));
    HN_TRY(make_sequences(b));
    HN_TRY(hn_sequences_keys_new(b, o->n_blocks ? o->n_blocks : b->n_open * b->each));
    const size_t n = (size_t)b->max_tokens;
    b->tokens = hn_alloc_array(b->heap, HN_TAG_STATE, n, sizeof *b->tokens);
    b->positions = hn_alloc_array(b->heap, HN_TAG_STATE, n, sizeof *b->positions);
    b->slots = hn_alloc_array(b->heap, HN_TAG_STATE, n, sizeof *b->slots);
    b->window_slots = hn_alloc_array(b->heap, HN_TAG_STATE, n, sizeof *b->window_slots);
    b->spans = hn_alloc_array(b->heap, HN_TAG_STATE, 3 * n, sizeof *b->spans);
    b->rows = hn_alloc_array(b->heap, HN_TAG_STATE, (size_t)b->max_rows, sizeof *b->rows);
    b->adapter_ids = hn_alloc_array(b->heap, HN_TAG_STATE, n, sizeof *b->adapter_ids);
    b->row_adapters = hn_alloc_array(b->heap, HN_TAG_STATE, (size_t)b->max_rows, sizeof *b->row_adapters);
    if (!b->adapter_ids || !b->row_adapters || !b->tokens || !b->positions || !b->slots || !b->window_slots || !b->spans || !b->rows)
        return HN_ERR_MEMORY;
    const nn_bank_room bank = { o->n_adapters, o->max_rank ? o->max_rank : DEFAULT_RANK, o->adapts_experts, o->adapts_head };
    HN_REQUIRE(bank.n >= 0 && bank.n <= INT16_MAX && bank.rank > 0, HN_ERR_ARGUMENT,
               "%lld adapters of rank %lld: expected 0 to %d, of rank 1 or more", (long long)bank.n, (long long)bank.rank,
               INT16_MAX);
    return plan(b, &bank);
}

hn_status hn_sequences_plan(hn_sequences **out, hn_heap *heap, const hn_model *model, hn_run_spec run,
                        const hn_sequences_options *options)
{
    *out = NULL;
    hn_sequences *b = hn_alloc(heap, HN_TAG_STATE, sizeof *b);
    if (!b)
        return HN_ERR_MEMORY;
    b->heap = heap;
    b->model = model;
    b->run = run;
    const hn_status status = prepare(b, options);
    if (status != HN_OK) {
        hn_sequences_free(b);
        return hn_fail_within(status, "%s: ", hn_model_path(model));
    }
    *out = b;
    return HN_OK;
}

/* Keys come row by row, and a page is cleared, or had from the machine beneath this one, when its first row is written. Were they huge,
 * a block's first row would be two megabytes of every leaf, a hundred of all, for which one token waits; and whoever reads keys reads
 * so much of a row's block together that small ones cost nothing (docs/performance.md). */
static void want_small_pages(const hn_sequences *b)
{
    for (int i = 0; i < b->c.g->n_leaves; i++) {
        const hn_leaf *leaf = b->c.g->leaves[i];
        hn_device *device = hn_storage_measure(b->c.storage, leaf).device;
        size_t bytes = 0;
        void *at = hn_sequences_caches(leaf) && hn_device_is_host(device) ? hn_storage_address(b->c.storage, leaf, device, &bytes) : NULL;
        if (at)
            hn_os_want_small_pages(at, bytes);
    }
}

hn_status hn_sequences_new(hn_sequences **out, hn_heap *heap, const hn_model *model, hn_run_spec run,
                       const hn_sequences_options *options)
{
    HN_TRY(hn_sequences_plan(out, heap, model, run, options));
    const hn_status status = hn_compiled_finish(&(*out)->c); /* the cache among what it makes */
    if (status == HN_OK) {
        want_small_pages(*out);
        return HN_OK;
    }
    hn_sequences_free(*out);
    *out = NULL;
    return hn_fail_within(status, "%s: ", hn_model_path(model));
}

void hn_sequences_free(hn_sequences *b)
{
    if (!b)
        return;
    hn_compiled_free(&b->c);
    hn_sequences_keys_free(b);
    for (int64_t i = 0; b->sequences && i < b->n_sequences; i++)
        hn_free(b->heap, b->sequences[i].tokens);
    hn_free(b->heap, b->sequences);
    hn_free(b->heap, b->tokens);
    hn_free(b->heap, b->positions);
    hn_free(b->heap, b->slots);
    hn_free(b->heap, b->window_slots);
    hn_free(b->heap, b->spans);
    hn_free(b->heap, b->rows);
    hn_free(b->heap, b->adapter_ids);
    hn_free(b->heap, b->row_adapters);
    hn_bank_free(b);
    hn_free(b->heap, b);
}

/* ---- sequences ---- */

hn_sequence *hn_sequences_find(const hn_sequences *b, int32_t sequence)
{
    if (sequence < 0)
        return NULL;
    hn_sequence *s = &b->sequences[sequence % b->n_sequences];
    return s->name == sequence ? s : NULL;
}

static hn_status find(const hn_sequences *b, int32_t sequence, hn_sequence **out)
{
    *out = hn_sequences_find(b, sequence);
    HN_REQUIRE(*out, HN_ERR_ARGUMENT, "sequence %d is not open", sequence);
    return HN_OK;
}

hn_status hn_sequences_check_slot(const hn_sequences *b, int32_t slot)
{
    HN_REQUIRE(slot == -1 || hn_bank_has(b, slot), HN_ERR_ARGUMENT, "adapter %d: there is none", slot);
    return HN_OK;
}

hn_status hn_sequences_open_as(hn_sequences *b, int32_t slot, int32_t name)
{
    int64_t n_open = 0;
    HN_TRY(hn_sequences_check_slot(b, slot));
    for (int64_t i = 0; i < b->n_sequences; i++)
        n_open += b->sequences[i].name >= 0;
    HN_REQUIRE(n_open < b->n_open, HN_ERR_BUSY, "all of %lld sequences are open", (long long)b->n_open);
    hn_sequence *s = &b->sequences[name % b->n_sequences];
    HN_REQUIRE(s->name < 0, HN_ERR_BUSY, "sequence %d: sequence %d is open in its place", name, s->name);
    s->name = name;
    s->length = s->first = 0;
    s->slot = slot;
    return HN_OK;
}

/* The name of one that can be opened. */
static hn_status next_name(hn_sequences *b, int32_t *name)
{
    int64_t i = 0;
    while (i < b->n_sequences && b->sequences[i].name >= 0)
        i++;
    HN_REQUIRE(i < b->n_sequences, HN_ERR_BUSY, "all of %lld sequences are open", (long long)b->n_sequences);
    *name = b->sequences[i].next;
    return HN_OK;
}

static void pass_name(hn_sequences *b, int32_t name)
{
    const int32_t n = (int32_t)b->n_sequences;
    b->sequences[name % n].next = hn_name_after(name, n);
}

hn_status hn_sequences_open(hn_sequences *b, int32_t slot, int32_t *sequence)
{
    HN_TRY(hn_sequences_check_slot(b, slot));
    int32_t name;
    HN_TRY(next_name(b, &name));
    HN_TRY(hn_sequences_open_as(b, slot, name));
    pass_name(b, name);
    *sequence = name;
    return HN_OK;
}

void hn_sequences_close(hn_sequences *b, int32_t sequence)
{
    hn_sequence *s = hn_sequences_find(b, sequence);
    if (!s)
        return;
    hn_sequences_keys_cut(b, s, 0);
    s->name = -1;
}

int64_t hn_sequences_usable(const hn_sequences *b, int32_t sequence, int64_t length)
{
    const hn_sequence *s = hn_sequences_find(b, sequence);
    const int64_t window = hn_model_hparams(b->model)->window;
    if (!s || length < 0 || length > s->length)
        return 0;
    const int64_t from = length - window + 1 > 0 ? length - window + 1 : 0;
    return s->first <= from ? length : 0;
}

static hn_status check_usable(const hn_sequences *b, int32_t sequence, int64_t length, hn_sequence **s)
{
    HN_TRY(find(b, sequence, s));
    HN_REQUIRE(length >= 0 && length <= (*s)->length, HN_ERR_ARGUMENT,
               "the first %lld tokens of sequence %d: it has %lld", (long long)length, sequence,
               (long long)(*s)->length);
    HN_REQUIRE(hn_sequences_usable(b, sequence, length) == length, HN_ERR_ARGUMENT,
               "the first %lld of %lld tokens of sequence %d: layers with a window of %lld keep the keys from %lld on",
               (long long)length, (long long)(*s)->length, sequence,
               (long long)hn_model_hparams(b->model)->window, (long long)(*s)->first);
    return HN_OK;
}

hn_status hn_sequences_fork(hn_sequences *b, int32_t sequence, int64_t length, int32_t *out)
{
    hn_sequence *s;
    int32_t name;
    HN_TRY(check_usable(b, sequence, length, &s));
    HN_TRY(next_name(b, &name));
    HN_TRY(hn_sequences_fork_as(b, sequence, length, name));
    pass_name(b, name);
    *out = name;
    return HN_OK;
}

hn_status hn_sequences_fork_as(hn_sequences *b, int32_t sequence, int64_t length, int32_t name)
{
    hn_sequence *s;
    HN_TRY(check_usable(b, sequence, length, &s));
    HN_TRY(hn_sequences_open_as(b, s->slot, name));
    hn_sequence *t = hn_sequences_find(b, name);
    memcpy(t->tokens, s->tokens, (size_t)length * sizeof *t->tokens);
    hn_sequences_keys_share(b, s, t, length);
    t->length = length;
    return HN_OK;
}

hn_status hn_sequences_trim(hn_sequences *b, int32_t sequence, int64_t length)
{
    hn_sequence *s;
    HN_TRY(check_usable(b, sequence, length, &s));
    hn_sequences_keys_cut(b, s, length);
    s->length = length;
    return HN_OK;
}

/* ---- steps ---- */

hn_status hn_sequences_check(const hn_sequences *b, const hn_piece *p)
{
    const int64_t vocab = hn_model_hparams(b->model)->n_vocab;
    hn_sequence *s;
    HN_TRY(find(b, p->sequence, &s));
    HN_REQUIRE(p->n >= 1 && p->n <= b->n_ctx - s->length, HN_ERR_ARGUMENT,
               "%lld tokens after %lld: the context takes %lld in all, and a piece has 1 or more", (long long)p->n,
               (long long)s->length, (long long)b->n_ctx);
    HN_REQUIRE(p->n_wanted >= 0 && p->n_wanted <= p->n, HN_ERR_ARGUMENT, "logits of %lld tokens of a piece of %lld",
               (long long)p->n_wanted, (long long)p->n);
    for (int64_t j = 0; p->wanted && j < p->n_wanted; j++)
        HN_REQUIRE(p->wanted[j] >= (j ? p->wanted[j - 1] + (int64_t)1 : 0) && p->wanted[j] < p->n, HN_ERR_ARGUMENT,
                   "logits of token %d of a piece of %lld, as number %lld of %lld: expected them to ascend within it",
                   p->wanted[j], (long long)p->n, (long long)j, (long long)p->n_wanted);
    for (int64_t j = 0; j < p->n; j++)
        HN_REQUIRE(p->tokens[j] >= 0 && p->tokens[j] < vocab, HN_ERR_ARGUMENT,
                   "token %lld is %d: the vocabulary has %lld", (long long)(s->length + j), p->tokens[j],
                   (long long)vocab);
    return HN_OK;
}

static hn_status check_step(const hn_sequences *b, const hn_piece *pieces, int64_t n)
{
    int64_t tokens = 0, wanted = 0;
    HN_REQUIRE(n >= 1, HN_ERR_ARGUMENT, "a step of %lld pieces", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        HN_TRY(hn_sequences_check(b, &pieces[i]));
        for (int64_t j = 0; j < i; j++)
            HN_REQUIRE(pieces[j].sequence != pieces[i].sequence, HN_ERR_ARGUMENT,
                       "pieces %lld and %lld are both of sequence %d", (long long)j, (long long)i, pieces[i].sequence);
        tokens += pieces[i].n;
        wanted += pieces[i].n_wanted;
    }
    HN_REQUIRE(tokens <= b->max_tokens && wanted <= b->max_rows, HN_ERR_ARGUMENT,
               "a step of %lld tokens and %lld rows of logits: it takes %lld and %lld", (long long)tokens,
               (long long)wanted, (long long)b->max_tokens, (long long)b->max_rows);
    return HN_OK;
}

int64_t hn_sequences_needs(const hn_sequences *b, const hn_piece *pieces, int64_t n)
{
    int64_t blocks = 0;
    for (int64_t i = 0; i < n; i++) {
        const hn_sequence *s = hn_sequences_find(b, pieces[i].sequence);
        blocks += s ? hn_sequences_keys_need(b, s, HN_ROOM_ALL, pieces[i].n) : 0;
    }
    return blocks;
}

/* All sequences are as long as before: what was taken for a step goes back. */
static void give_back(hn_sequences *b, const hn_piece *pieces, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        hn_sequence *s = hn_sequences_find(b, pieces[i].sequence);
        hn_sequences_keys_cut(b, s, s->length);
    }
}

static hn_status grow(hn_sequences *b, const hn_piece *pieces, int64_t n)
{
    for (int room = 0; room < b->n_rooms; room++)
        for (int64_t i = 0; i < n; i++)
            HN_TRY(hn_sequences_keys_grow(b, hn_sequences_find(b, pieces[i].sequence), room, pieces[i].n));
    return HN_OK;
}

static int32_t row_of(const int32_t *blocks, int64_t key)
{
    return blocks[key / HN_KEY_BLOCK] * HN_KEY_BLOCK + (int32_t)(key % HN_KEY_BLOCK);
}

/* Rows of a piece whose tokens begin at `at` of the step. */
static void fill_rows(hn_sequences *b, const hn_piece *p, int32_t slot, int64_t at)
{
    for (int64_t j = 0; j < p->n_wanted; j++) {
        b->row_adapters[b->n_wanted] = slot;
        b->rows[b->n_wanted++] = (int32_t)(at + (p->wanted ? p->wanted[j] : p->n - p->n_wanted + j));
    }
}

static void fill_inputs(hn_sequences *b, const hn_piece *pieces, int64_t n)
{
    int64_t at = 0;
    b->n_wanted = 0;
    for (int64_t i = 0; i < n; i++) {
        const hn_sequence *s = hn_sequences_find(b, pieces[i].sequence);
        const int64_t begin = hn_sequences_slot(b, s) * b->each * HN_KEY_BLOCK;
        fill_rows(b, &pieces[i], s->slot, at);
        for (int64_t j = 0; j < pieces[i].n; j++, at++) {
            const int64_t key = s->length + j;
            b->tokens[at] = pieces[i].tokens[j];
            b->positions[at] = (int32_t)key;
            b->adapter_ids[at] = s->slot;
            b->slots[at] = row_of(hn_sequences_row(b, s, HN_ROOM_ALL), key);
            if (b->n_rooms > HN_ROOM_WINDOW)
                b->window_slots[at] = row_of(hn_sequences_row(b, s, HN_ROOM_WINDOW), key);
            b->spans[3 * at] = (int32_t)begin;
            b->spans[3 * at + 1] = (int32_t)(begin + key);
            b->spans[3 * at + 2] = (int32_t)(begin + key + 1);
        }
    }
}

static hn_status run(hn_sequences *b, const hn_piece *pieces, int64_t n, const hn_run_options *options)
{
    const nn_build *built = &b->c.build;
    int64_t tokens = 0;
    HN_TRY(grow(b, pieces, n));
    fill_inputs(b, pieces, n);
    for (int64_t i = 0; i < n; i++)
        tokens += pieces[i].n;
    if (!b->n_wanted)
        b->rows[0] = 0, b->row_adapters[0] = -1; /* a program has one row at least */
    HN_TRY(hn_program_set_extent(b->c.program, built->tokens_extent, tokens));
    HN_TRY(hn_program_set_extent(b->c.program, built->rows_extent, b->n_wanted ? b->n_wanted : 1));
    HN_TRY(hn_program_run(b->c.program, options));
    hn_tensor logits, states = { 0 };
    HN_TRY(hn_program_result(b->c.program, 0, &logits));
    if (b->keeps_states)
        HN_TRY(hn_program_result(b->c.program, 1, &states));
    b->logits = logits.data;
    b->states = states.data;
    return HN_OK;
}

hn_status hn_sequences_step(hn_sequences *b, const hn_piece *pieces, int64_t n, const hn_run_options *options)
{
    HN_TRY(check_step(b, pieces, n));
    b->logits = b->states = NULL;
    const hn_status status = run(b, pieces, n, options);
    if (status != HN_OK) {
        b->n_wanted = 0;
        give_back(b, pieces, n);
        return status;
    }
    for (int64_t i = 0; i < n; i++) {
        hn_sequence *s = hn_sequences_find(b, pieces[i].sequence);
        memcpy(s->tokens + s->length, pieces[i].tokens, (size_t)pieces[i].n * sizeof *s->tokens);
        s->length += pieces[i].n;
    }
    return HN_OK;
}

const float *hn_sequences_logits(const hn_sequences *b, int64_t row)
{
    const bool has = b->logits && row >= 0 && row < b->n_wanted;
    return has ? b->logits + row * hn_model_hparams(b->model)->n_vocab : NULL;
}

const float *hn_sequences_state(const hn_sequences *b, int64_t row)
{
    const bool has = b->states && row >= 0 && row < b->n_wanted;
    return has ? b->states + row * hn_model_hparams(b->model)->width : NULL;
}

/* ---- looking ---- */

int64_t hn_sequences_length(const hn_sequences *b, int32_t sequence)
{
    const hn_sequence *s = hn_sequences_find(b, sequence);
    return s ? s->length : -1;
}

const int32_t *hn_sequences_tokens(const hn_sequences *b, int32_t sequence)
{
    const hn_sequence *s = hn_sequences_find(b, sequence);
    return s ? s->tokens : NULL;
}

int64_t hn_sequences_context(const hn_sequences *b) { return b->n_ctx; }

int64_t hn_sequences_max_tokens(const hn_sequences *b) { return b->max_tokens; }

int64_t hn_sequences_max_rows(const hn_sequences *b) { return b->max_rows; }

int64_t hn_sequences_free_blocks(const hn_sequences *b, int64_t *of)
{
    const hn_key_blocks *blocks = &b->rooms[HN_ROOM_ALL].blocks;
    if (of)
        *of = blocks->n;
    return blocks->n_free;
}

size_t hn_sequences_cache_bytes(const hn_sequences *b)
{
    size_t bytes = 0;
    for (int i = 0; i < b->c.g->n_leaves; i++)
        if (hn_sequences_caches(b->c.g->leaves[i]))
            bytes += hn_type_bytes(&b->c.g->leaves[i]->type);
    return bytes;
}

size_t hn_sequences_workspace(const hn_sequences *b)
{
    return hn_executable_measure(b->c.x).workspace;
}

size_t hn_sequences_packed_bytes(const hn_sequences *b)
{
    return hn_executable_measure(b->c.x).weights;
}

size_t hn_sequences_program_bytes(const hn_sequences *b)
{
    return hn_executable_measure(b->c.x).programs;
}

const hn_compiled *hn_sequences_compiled(const hn_sequences *b)
{
    return &b->c;
}

const hn_plan *hn_sequences_look(const hn_sequences *b)
{
    return hn_executable_look(b->c.x, 0);
}
