/* A tree of two levels: leaves of about a megabyte, each hashed by whichever thread comes, and a root over their
 * digests in order. So the result is the same for any number of threads, and for a directory and a file, since
 * rows are taken in canonical order.
 *
 * It may be computed in a thread of its own from the opening on. Whoever needs it waits there; an error of that
 * thread is carried over with its words. */
#include "models/identity.h"

#include "base/os/threads.h"
#include "base/pool.h"
#include "base/sha256.h"
#include "base/work.h"
#include "kernels/gemm/rows.h"
#include "models/identity_cache.h"
#include "models/model_parts.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LEAF_BYTES = 1 << 20, MESSAGE = 512 };

struct hn_identity {
    hn_heap *heap;
    const char *folder;
    const hn_model *model;
    hn_os_thread thread;
    int n_threads;
    bool is_running, is_known;
    atomic_bool is_unwanted;
    hn_status status;
    char message[MESSAGE];
    uint8_t numbers[32]; /* of the tensors */
};

hn_status hn_identity_new(hn_identity **out, hn_heap *heap)
{
    *out = hn_alloc(heap, HN_TAG_FILE, sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    (*out)->heap = heap;
    return HN_OK;
}

/* ---- the tree ---- */

typedef struct branch {
    const nn_weight *weight;
    int64_t pairs;     /* of rows that lie in pairs: the head's size */
    int64_t rows, rows_a_leaf, first; /* its first leaf */
    size_t row_bytes;
    bool is_owned;
    bool is_widened; /* a vector or bias, which a file made of a directory has in f32 */
} branch;

typedef struct tree {
    const hn_model *model;
    const atomic_bool *is_unwanted; /* or NULL */
    branch *branches;
    size_t n;
    int64_t n_leaves, at; /* that are hashed */
    uint8_t (*leaves)[32];
} tree;

static hn_status plant(tree *t)
{
    const hn_model *m = t->model;
    t->branches = hn_alloc_array(m->heap, HN_TAG_FILE, m->n_tensors + 1, sizeof *t->branches);
    if (!t->branches)
        return HN_ERR_MEMORY;
    const nn_weight *last = NULL;
    for (size_t i = 0; i < m->n_tensors; i++) {
        const nn_weight *w = hn_model_find(m, m->tensors[i].gguf);
        if (!w || w == last || m->tensors[i].spec->how & HN_W_CONSTANT)
            continue;
        last = w;
        branch *b = &t->branches[t->n++];
        const int64_t k = w->type.rank > 1 ? hn_last_dim(&w->type) : hn_count(&w->type);
        *b = (branch){ .weight = w, .rows = k ? hn_count(&w->type) / k : 0, .first = t->n_leaves };
        b->pairs = w->is_permuted ? hn_layer_head_dim(m->hp, m->tensors[i].layer) : 0;
        if (w->type.rank < 2 && b->pairs) { /* a bias: its elements are the rows */
            b->rows = k;
            b->row_bytes = hn_type_bytes(&w->type) / (size_t)k;
        } else {
            b->row_bytes = b->rows ? hn_type_bytes(&w->type) / (size_t)b->rows : 0;
        }
        const hn_dtype dtype = w->type.dtype;
        const size_t length = strlen(w->name);
        b->is_widened = (dtype == HN_BF16 || dtype == HN_F16) &&
                        (w->type.rank == 1 || (length > 5 && !strcmp(w->name + length - 5, ".bias")));
        const size_t of_row = b->is_widened ? b->row_bytes / hn_dtype_bytes(dtype) * sizeof(float) : b->row_bytes;
        b->rows_a_leaf = of_row && of_row < LEAF_BYTES ? LEAF_BYTES / (int64_t)of_row : 1;
        b->is_owned = m->owned && m->owned[w - m->weights];
        t->n_leaves += (b->rows + b->rows_a_leaf - 1) / b->rows_a_leaf;
    }
    t->leaves = hn_alloc_array(m->heap, HN_TAG_FILE, (size_t)t->n_leaves + 1, sizeof *t->leaves);
    return t->leaves ? HN_OK : HN_ERR_MEMORY;
}

static const branch *branch_of(const tree *t, int64_t leaf)
{
    size_t low = 0, high = t->n;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (t->branches[middle].first <= leaf)
            low = middle;
        else
            high = middle;
    }
    return &t->branches[low];
}

static void add_widened(hn_sha256 *sha, const branch *b, int64_t from, int64_t to)
{
    const hn_tensor t = hn_tensor_at(&b->weight->type, (void *)(uintptr_t)b->weight->data);
    const int64_t k = b->rows ? hn_count(&b->weight->type) / b->rows : 0;
    for (int64_t i = from; i < to; i++)
        for (int64_t j = 0; j < k; j++) {
            const float x = (float)hn_get(&t, (b->pairs ? hn_gemm_row(b->pairs, i) : i) * k + j);
            hn_sha256_add(sha, &x, sizeof x);
        }
}

static void hash_leaf(const tree *t, int64_t leaf)
{
    hn_sha256 sha;
    const branch *b = branch_of(t, leaf);
    const uint8_t *data = b->weight->data;
    const int64_t from = (leaf - b->first) * b->rows_a_leaf;
    const int64_t to = from + b->rows_a_leaf < b->rows ? from + b->rows_a_leaf : b->rows;
    const size_t at = (size_t)from * b->row_bytes, bytes = (size_t)(to - from) * b->row_bytes;
    hn_sha256_begin(&sha);
    if (b->is_widened)
        add_widened(&sha, b, from, to);
    else if (!b->pairs)
        hn_sha256_add(&sha, data + at, bytes);
    for (int64_t i = from; b->pairs && !b->is_widened && i < to; i++)
        hn_sha256_add(&sha, data + (size_t)hn_gemm_row(b->pairs, i) * b->row_bytes, b->row_bytes);
    hn_sha256_end(&sha, t->leaves[leaf]);
    if (!b->is_owned) /* it was read for this alone, as far as we know */
        hn_map_release(data + at, bytes);
}

/* So many at a time, each of about a megabyte: between them whoever waits may be told, and may give up. */
enum { LEAVES_A_LOOK = 128 };

static void hash_leaves(void *context, int64_t begin, int64_t end, int thread)
{
    const tree *t = context;
    (void)thread;
    for (int64_t i = t->at + begin; i < t->at + end && !(t->is_unwanted && atomic_load(t->is_unwanted)); i++)
        hash_leaf(t, i);
}

static hn_status run_leaves(tree *t, hn_pool *pool)
{
    for (t->at = 0; t->at < t->n_leaves; t->at += LEAVES_A_LOOK) {
        const int64_t left = t->n_leaves - t->at;
        HN_TRY(hn_work_tell((uint64_t)t->at, (uint64_t)t->n_leaves, "SHA-256 of the weights"));
        hn_pool_run(pool, left < LEAVES_A_LOOK ? left : LEAVES_A_LOOK, 1, hash_leaves, t);
    }
    return HN_OK;
}

static void hash_root(const tree *t, uint8_t digest[32])
{
    hn_sha256 sha;
    char text[HN_TENSOR_NAME + 160];
    hn_sha256_begin(&sha);
    for (size_t i = 0; i < t->n; i++) {
        const branch *b = &t->branches[i];
        const nn_weight *w = b->weight;
        const int64_t end = i + 1 < t->n ? t->branches[i + 1].first : t->n_leaves;
        int used = snprintf(text, sizeof text, "%s %s", w->name,
                            hn_dtype_name(b->is_widened ? HN_F32 : w->type.dtype));
        for (int d = 0; d < w->type.rank; d++)
            used += snprintf(text + used, sizeof text - (size_t)used, " %lld", (long long)w->type.dim[d]);
        hn_sha256_add(&sha, text, (size_t)used + 1);
        hn_sha256_add(&sha, t->leaves + b->first, (size_t)(end - b->first) * 32);
    }
    hn_sha256_end(&sha, digest);
}

static hn_status hash_numbers(const hn_model *m, int n_threads, const atomic_bool *is_unwanted,
                              uint8_t digest[32])
{
    tree t = { .model = m, .is_unwanted = is_unwanted };
    hn_pool *pool = NULL;
    hn_status status = plant(&t);
    if (status == HN_OK)
        status = hn_pool_new(m->heap, n_threads, &pool);
    if (status == HN_OK) {
        status = run_leaves(&t, pool);
        hash_root(&t, digest);
    }
    hn_pool_free(pool);
    hn_free(m->heap, t.branches);
    hn_free(m->heap, t.leaves);
    HN_TRY(status);
    return hn_map_check(m->heap);
}

/* ---- now, or in the background ---- */

static int list_files(const hn_model *m, hn_file_stamp *out, int room, bool is_now)
{
    int n = 0;
    const int n_parts = m->file ? m->format->parts(m->file) : 0;
    for (int i = 0; i < n_parts && n < room; i++) {
        const hn_map_file *map = m->format->map(m->file, i);
        out[n++] = is_now ? hn_map_file_restamp(map) : hn_map_file_stamp(map);
    }
    return n_parts <= room ? n : 0;
}

static hn_status compute(hn_identity *id, const hn_model *m, int n_threads)
{
    hn_file_stamp files[HN_IDENTITY_FILES];
    int n = list_files(m, files, HN_IDENTITY_FILES, false);
    if (n && !files[0].inode) /* embedded: the next library's stamp would be the same */
        n = 0;
    if (id->folder && n && hn_identity_recall(m->heap, id->folder, files, n, id->numbers))
        return HN_OK;
    HN_TRY(hash_numbers(m, n_threads, &id->is_unwanted, id->numbers));
    if (id->folder && n && !atomic_load(&id->is_unwanted))
        hn_identity_record(id->folder, files, n, id->numbers);
    return HN_OK;
}

static void compute_aside(void *context)
{
    hn_identity *id = context;
    id->status = compute(id, id->model, id->n_threads);
    snprintf(id->message, sizeof id->message, "%s", id->status == HN_OK ? "" : hn_error_message());
}

void hn_model_keep_identity(const hn_model *m, const char *folder)
{
    if (m->identity && !m->identity->is_running && !m->identity->is_known)
        m->identity->folder = folder;
}

hn_status hn_model_begin_identity(const hn_model *m, int n_threads)
{
    hn_identity *id = m->identity;
    if (!id || id->is_known || id->is_running)
        return HN_OK;
    id->model = m;
    id->n_threads = n_threads;
    id->is_running = hn_os_thread_start(&id->thread, compute_aside, id) == 0;
    return HN_OK; /* without a thread it is computed when it is asked for */
}

static hn_status wait_for(const hn_model *m)
{
    hn_identity *id = m->identity;
    if (id->is_known)
        return HN_OK;
    if (id->is_running) {
        hn_os_thread_join(&id->thread);
        id->is_running = false;
        HN_REQUIRE(id->status == HN_OK, id->status, "%s", id->message);
    } else {
        HN_TRY(compute(id, m, 0));
    }
    id->is_known = true;
    return HN_OK;
}

void hn_identity_free(hn_identity *id)
{
    if (!id)
        return;
    atomic_store(&id->is_unwanted, true);
    if (id->is_running)
        hn_os_thread_join(&id->thread);
    hn_free(id->heap, id);
}

/* The numbers as convert would write them: of a directory and a file the same. */
static hn_status add_numbers(hn_sha256 *sha, const hn_model *m)
{
    hn_meta meta = hn_meta_on(m->heap, m->path);
    const hn_status status = hn_arch_write_meta(m->arch, m->hp, &meta);
    for (size_t i = 0; i < meta.n && status == HN_OK; i++) {
        const hn_meta_value *v = &meta.values[i];
        hn_sha256_add(sha, v->key, strlen(v->key) + 1);
        /* a list of equal items is the same as one */
        const size_t item = v->is_array && v->n && v->type != HN_META_STRING ? v->bytes / (size_t)v->n : v->bytes;
        const bool is_one = item < v->bytes && !memcmp(v->data, v->data + item, v->bytes - item);
        hn_sha256_add(sha, v->data, is_one ? item : v->bytes);
    }
    hn_meta_free(&meta);
    return status;
}

hn_status hn_model_identity(const hn_model *m, char text[65])
{
    static const char kind[] = "hone identity 2";
    hn_sha256 sha;
    uint8_t digest[32];
    HN_REQUIRE(m->identity, HN_ERR_ARGUMENT, "%s: a part of a model has no identity", m->path);
    HN_TRY(wait_for(m));
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, kind, sizeof kind);
    HN_TRY(add_numbers(&sha, m));
    hn_sha256_add(&sha, m->identity->numbers, 32);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    return HN_OK;
}

hn_status hn_model_unchanged(const hn_model *m)
{
    hn_file_stamp then[HN_IDENTITY_FILES], now[HN_IDENTITY_FILES];
    uint8_t numbers[32];
    const int n = list_files(m, then, HN_IDENTITY_FILES, false);
    bool is_same = n > 0 && list_files(m, now, HN_IDENTITY_FILES, true) == n;
    for (int i = 0; i < n && is_same; i++)
        is_same = hn_same_stamp(&then[i], &now[i]);
    HN_TRY(hn_map_check(m->heap));
    if (is_same)
        return HN_OK;
    HN_TRY(wait_for(m));
    HN_TRY(hash_numbers(m, 0, NULL, numbers));
    HN_REQUIRE(!memcmp(numbers, m->identity->numbers, 32), HN_ERR_IO,
               "%s: was written to while it was used: what was made of it is of neither model", m->path);
    return HN_OK;
}
