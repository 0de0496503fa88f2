/* Adapters of single sequences: matrices with room in the graph are filled with an adapter's, one slot each.
 *
 *     slot            0        1        2          of every matrix with room
 *     at              A        -        B
 *     a, b leaves     A's      old      B's        of rank r the first r rows, or columns, count
 *     ranks, scales   8, 2     0, 0     4, 1       0: it changes other matrices only
 */
#include "infer/sequences_state.h"

#include "base/half.h"

#include <string.h>

hn_status hn_bank_new(hn_sequences *all, int64_t n)
{
    hn_bank *bank = &all->bank;
    if (!n)
        return HN_OK;
    const size_t room = (size_t)all->c.build.n_banked * (size_t)n + 1;
    bank->n = (int32_t)n;
    bank->at = hn_alloc_array(all->heap, HN_TAG_STATE, (size_t)n, sizeof *bank->at);
    bank->ranks = hn_alloc_array(all->heap, HN_TAG_STATE, room, sizeof *bank->ranks);
    bank->scales = hn_alloc_array(all->heap, HN_TAG_STATE, room, sizeof *bank->scales);
    bank->n_lent = hn_alloc_array(all->heap, HN_TAG_STATE, (size_t)n, sizeof *bank->n_lent);
    bank->identities = hn_alloc_array(all->heap, HN_TAG_STATE, (size_t)n, sizeof *bank->identities);
    return bank->at && bank->ranks && bank->scales && bank->n_lent && bank->identities ? HN_OK : HN_ERR_MEMORY;
}

hn_status hn_bank_bind(hn_sequences *all)
{
    const hn_bank *bank = &all->bank;
    for (int i = 0; i < all->c.build.n_banked; i++) {
        const nn_banked *of = &all->c.build.banked[i];
        const size_t n = (size_t)bank->n;
        HN_TRY(hn_storage_bind(all->c.storage, of->ranks->leaf, bank->ranks + (size_t)i * n, n * sizeof *bank->ranks));
        HN_TRY(hn_storage_bind(all->c.storage, of->scales->leaf, bank->scales + (size_t)i * n, n * sizeof *bank->scales));
    }
    return HN_OK;
}

void hn_bank_free(hn_sequences *all)
{
    hn_free(all->heap, all->bank.at);
    hn_free(all->heap, all->bank.ranks);
    hn_free(all->heap, all->bank.scales);
    hn_free(all->heap, all->bank.n_lent);
    hn_free(all->heap, all->bank.identities);
}

bool hn_bank_has(const hn_sequences *all, int32_t slot)
{
    return slot >= 0 && slot < all->bank.n && all->bank.at[slot];
}

static int find_banked(const hn_sequences *all, const nn_weight *weight)
{
    for (int i = 0; i < all->c.build.n_banked; i++)
        if (all->c.build.banked[i].weight == weight)
            return i;
    return -1;
}

static int64_t most_rank(const nn_banked *of)
{
    return hn_last_dim(&of->b->type);
}

static hn_status check_pair(const hn_sequences *all, const hn_adapter_pair *pair)
{
    const int at = find_banked(all, pair->base);
    const int64_t rank = hn_last_dim(&pair->lora.b->type);
    HN_REQUIRE(!pair->lora.magnitude, HN_ERR_UNSUPPORTED,
               "%s has magnitudes (DoRA): sequences of their own can have it, single ones cannot", pair->base->name);
    HN_REQUIRE(at >= 0, HN_ERR_UNSUPPORTED,
               "%s is changed: there is room for matrices of layers, for experts and a head if asked",
               pair->base->name);
    HN_REQUIRE(rank <= most_rank(&all->c.build.banked[at]), HN_ERR_UNSUPPORTED,
               "%s is changed with rank %lld: there is room for %lld", pair->base->name, (long long)rank,
               (long long)most_rank(&all->c.build.banked[at]));
    return HN_OK;
}

static hn_status check(const hn_sequences *all, const hn_adapter *adapter)
{
    const hn_adapter_pair *pair;
    const nn_weight *whole = hn_adapter_whole_at(adapter, 0);
    HN_REQUIRE(!whole, HN_ERR_UNSUPPORTED, "%s is replaced as a whole: sequences of their own can have it, single "
               "ones cannot", whole ? whole->name : "");
    for (int i = 0; (pair = hn_adapter_pair_at(adapter, i)); i++)
        HN_TRY(check_pair(all, pair));
    return HN_OK;
}

/* As the graph of an adapter of its own has it: bf16's rounding comes first. */
static float element(const hn_sequences *all, const nn_weight *w, int64_t i)
{
    const hn_tensor t = hn_tensor_at(&w->type, (void *)(uintptr_t)w->data);
    const float value = (float)hn_get(&t, i);
    const bool rounds = all->run.numerics == HN_NUMERICS_BF16 && w->is_rounded;
    return rounds ? hn_bf16_to_f32(hn_f32_to_bf16(value)) : value;
}

/* Rows of `width` elements into rows of `room`, as many of each matrix as `rows` of `rows_room`. */
static hn_status put(hn_sequences *all, const hn_leaf *leaf, int32_t slot, const nn_weight *w)
{
    const hn_type *to = &leaf->type, *from = &w->type;
    const int64_t rows = from->dim[from->rank - 2], width = hn_last_dim(from);
    const int64_t rows_room = to->dim[to->rank - 2], room = hn_last_dim(to);
    const int64_t matrices = from->rank == 3 ? from->dim[0] : 1, n = matrices * rows_room * room;
    float *x = hn_alloc_array(all->heap, HN_TAG_STATE, (size_t)n, sizeof *x);
    if (!x)
        return HN_ERR_MEMORY;
    for (int64_t i = 0; i < matrices * rows; i++)
        for (int64_t j = 0; j < width; j++)
            x[(i / rows * rows_room + i % rows) * room + j] = element(all, w, i * width + j);
    const size_t bytes = (size_t)n * sizeof *x;
    const hn_status status = hn_storage_write(all->c.storage, leaf, (size_t)slot * bytes, x, bytes);
    hn_free(all->heap, x);
    return status;
}

static void clear(hn_sequences *all, int32_t slot)
{
    for (int i = 0; i < all->c.build.n_banked; i++)
        all->bank.ranks[i * all->bank.n + slot] = 0;
    all->bank.at[slot] = NULL;
    all->bank.identities[slot] = (hn_sequences_identity){ 0 };
}

static hn_status fill(hn_sequences *all, const hn_adapter *adapter, int32_t slot)
{
    const hn_adapter_pair *pair;
    for (int i = 0; (pair = hn_adapter_pair_at(adapter, i)); i++) {
        const int at = find_banked(all, pair->base);
        const nn_banked *of = &all->c.build.banked[at];
        HN_TRY(put(all, of->a->leaf, slot, pair->lora.a));
        HN_TRY(put(all, of->b->leaf, slot, pair->lora.b));
        all->bank.ranks[at * all->bank.n + slot] = (int32_t)hn_last_dim(&pair->lora.b->type);
        all->bank.scales[at * all->bank.n + slot] = pair->lora.scale;
    }
    return HN_OK;
}

hn_status hn_sequences_add_adapter(hn_sequences *all, const hn_adapter *adapter, int32_t *slot)
{
    HN_TRY(check(all, adapter));
    for (int32_t i = 0; i < all->bank.n; i++) {
        if (all->bank.at[i])
            continue;
        const hn_status status = fill(all, adapter, i);
        if (status != HN_OK) {
            clear(all, i);
            return status;
        }
        all->bank.at[i] = adapter;
        *slot = i;
        return HN_OK;
    }
    return hn_fail(HN_ERR_BUSY, "there is room for %d adapters, and as many are there", all->bank.n);
}

hn_status hn_sequences_remove_adapter(hn_sequences *all, int32_t slot)
{
    HN_REQUIRE(hn_bank_has(all, slot), HN_ERR_ARGUMENT, "adapter %d: there is none", slot);
    for (int64_t i = 0; i < all->n_sequences; i++)
        HN_REQUIRE(all->sequences[i].name < 0 || all->sequences[i].slot != slot, HN_ERR_BUSY,
                   "adapter %d: sequence %d has it", slot, all->sequences[i].name);
    HN_REQUIRE(!all->bank.n_lent[slot], HN_ERR_BUSY, "adapter %d: %lld blocks of keys were computed with it, and are kept", slot,
               (long long)all->bank.n_lent[slot]);
    clear(all, slot);
    return HN_OK;
}
