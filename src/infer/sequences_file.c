/* A sequence's file, a session: GGUF, with the tokens and what each layer holds of their keys and values in
 * ascending order, wherever their blocks lay. What it was made with is told by digests. */
#include "infer/sequences_state.h"

#include "base/sha256.h"
#include "base/work.h"
#include "io/gguf.h"
#include "io/weights_writer.h"
#include "models/fingerprint.h"
#include "models/identity.h"

#include <string.h>

#define KEY_VERSION  "hone.session.version" /* 2; of those without it, 1 */
#define KEY_MODEL    "hone.session.model.sha256"
#define KEY_SEAL     "hone.session.file.sha256"
#define KEY_ADAPTERS "hone.session.adapters.sha256"
#define KEY_NUMERICS "hone.session.numerics"
#define KEY_CACHE    "hone.session.cache"
#define KEY_FIRST    "hone.session.first"
#define KEY_TOKENS   "hone.session.tokens"
#define KEY_BYTES    "hone.session.sha256"

hn_status hn_sequences_identify(const hn_sequences *s, int32_t slot, int64_t version, hn_sequences_identity *out)
{
    hn_sequences_identity own = { .numerics = hn_numerics_definition(s->run.numerics), .cache = hn_dtype_name(s->cache) };
    uint8_t digest[32];
    hn_sha256 sha;
    HN_REQUIRE(!s->changed, HN_ERR_UNSUPPORTED, "keys of weights that are being trained are of nothing that has a name");
    if (version == 1) {
        HN_TRY(hn_model_fingerprint(s->model, digest));
        hn_sha256_text(digest, own.model);
    } else {
        HN_TRY(hn_model_identity(s->model, own.model));
    }
    hn_sha256_begin(&sha);
    for (int i = 0; s->adapters && i < s->adapters->n; i++)
        hn_adapter_digest(s->adapters->at[i], &sha);
    if (slot >= 0)
        hn_adapter_digest(s->bank.at[slot], &sha);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, own.adapters);
    *out = own;
    return HN_OK;
}

/* One leaf of the cache: keys [from, to) of a sequence, by its row of the table. They are read and written by
 * a piece of the host's memory at a time. */
typedef struct part {
    hn_storage *storage;
    const hn_leaf *leaf;
    const int32_t *blocks;
    size_t row_bytes;
    int64_t from, to;
} part;

enum { PIECE = 64 * 1024 };

/* Of keys [first, length) where the layer has a window. */
static part part_of(const hn_sequences *b, const hn_sequence *s, const hn_leaf *leaf, int64_t first, int64_t length)
{
    return (part){ .storage = b->c.storage, .leaf = leaf, .to = length,
                   .blocks = hn_sequences_row(b, s, hn_sequences_room(b, leaf)),
                   .row_bytes = hn_type_bytes(&leaf->type) / (size_t)leaf->type.dim[0],
                   .from = strstr(leaf->name, ".window_") ? first : 0 };
}

/* Bytes [at, at + *bytes) of the part lie together, at what is returned. */
static size_t together(const part *p, size_t at, size_t *bytes)
{
    const int64_t key = p->from + (int64_t)(at / p->row_bytes), in = key % HN_KEY_BLOCK;
    const int64_t block_end = key - in + HN_KEY_BLOCK, end = block_end < p->to ? block_end : p->to;
    const size_t left = (size_t)(end - p->from) * p->row_bytes - at;
    *bytes = left < PIECE ? left : PIECE;
    return (size_t)(p->blocks[key / HN_KEY_BLOCK] * (int64_t)HN_KEY_BLOCK + in) * p->row_bytes + at % p->row_bytes;
}

static size_t part_bytes(const part *p)
{
    return (size_t)(p->to - p->from) * p->row_bytes;
}

static hn_status entry_of(const part *p, hn_weight_entry *out)
{
    int64_t dim[HN_MAX_RANK];
    memcpy(dim, p->leaf->type.dim, sizeof dim);
    dim[0] = p->to - p->from;
    *out = (hn_weight_entry){ .name = p->leaf->name };
    return hn_type_make(&out->type, p->leaf->type.dtype, p->leaf->type.rank, dim);
}

static void digest_tokens(hn_sha256 *sha, const int32_t *tokens, int64_t n)
{
    hn_sha256_begin(sha);
    hn_sha256_add(sha, tokens, (size_t)n * sizeof *tokens);
}

static hn_status digest_part(hn_sha256 *sha, const part *p)
{
    uint8_t piece[PIECE];
    for (size_t at = 0, n; at < part_bytes(p); at += n) {
        const size_t from = together(p, at, &n);
        HN_TRY(hn_work_look(p->leaf->name));
        HN_TRY(hn_storage_read(p->storage, p->leaf, from, piece, n));
        hn_sha256_add(sha, piece, n);
    }
    return HN_OK;
}

/* ---- writing ---- */

static hn_status list_parts(const hn_sequences *b, const hn_sequence *s, part *parts, hn_weight_entry *entries, size_t *n)
{
    *n = 0;
    for (int i = 0; i < b->c.g->n_leaves; i++) {
        const hn_leaf *leaf = b->c.g->leaves[i];
        if (!hn_sequences_caches(leaf))
            continue;
        parts[*n] = part_of(b, s, leaf, s->first, s->length);
        HN_TRY(entry_of(&parts[*n], &entries[*n]));
        ++*n;
    }
    return HN_OK;
}

static hn_status describe(const hn_sequences *b, const hn_sequence *s, const part *parts, size_t n, hn_meta *meta)
{
    hn_sequences_identity own;
    uint8_t digest[32];
    char text[65];
    hn_sha256 sha;
    HN_TRY(hn_sequences_identify(b, s->slot, 2, &own));
    digest_tokens(&sha, s->tokens, s->length);
    for (size_t i = 0; i < n; i++) {
        HN_TRY(hn_work_tell(i, n, parts[i].leaf->name));
        HN_TRY(digest_part(&sha, &parts[i]));
    }
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    HN_TRY(hn_meta_set_text(meta, "general.type", "session"));
    HN_TRY(hn_meta_set_int(meta, KEY_VERSION, HN_META_U32, 2));
    HN_TRY(hn_meta_set_text(meta, KEY_SEAL, HN_SEAL_BLANK));
    HN_TRY(hn_meta_set_text(meta, KEY_MODEL, own.model));
    HN_TRY(hn_meta_set_text(meta, KEY_ADAPTERS, own.adapters));
    HN_TRY(hn_meta_set_text(meta, KEY_NUMERICS, own.numerics));
    HN_TRY(hn_meta_set_text(meta, KEY_CACHE, own.cache));
    HN_TRY(hn_meta_set_int(meta, KEY_FIRST, HN_META_I64, s->first));
    HN_TRY(hn_meta_set_text(meta, KEY_BYTES, text));
    const hn_meta_value tokens = { .key = KEY_TOKENS, .type = HN_META_I32, .is_array = true,
                                   .n = (uint64_t)s->length, .data = (const uint8_t *)s->tokens,
                                   .bytes = (size_t)s->length * sizeof *s->tokens };
    return hn_meta_set_copy(meta, &tokens);
}

static hn_status put(hn_weights_writer *writer, size_t i, const part *p)
{
    uint8_t piece[PIECE];
    for (size_t at = 0, n; at < part_bytes(p); at += n) {
        const size_t from = together(p, at, &n);
        HN_TRY(hn_work_look(p->leaf->name));
        HN_TRY(hn_storage_read(p->storage, p->leaf, from, piece, n));
        HN_TRY(hn_weights_writer_put(writer, i, at, piece, n));
    }
    return HN_OK;
}

static hn_status write_file(const hn_sequences *b, const hn_sequence *s, const char *path, part *parts,
                            hn_weight_entry *entries, hn_meta *meta)
{
    size_t n;
    hn_weights_writer *writer;
    HN_TRY(list_parts(b, s, parts, entries, &n));
    const hn_work_part first = hn_work_part_begin(0, 0.3);
    HN_TRY(hn_work_part_end(&first, describe(b, s, parts, n, meta)));
    HN_TRY(hn_gguf_create(b->heap, hn_sink_own(path), meta, entries, n, &writer));
    hn_status status = HN_OK;
    const hn_work_part second = hn_work_part_begin(0.3, 0.7);
    for (size_t i = 0; i < n && status == HN_OK; i++) {
        status = hn_work_tell(i, n, parts[i].leaf->name);
        if (status == HN_OK)
            status = put(writer, i, &parts[i]);
    }
    hn_work_part_end(&second, status);
    if (status != HN_OK) {
        hn_weights_writer_abandon(writer);
        return status;
    }
    const hn_work_part third = hn_work_part_begin(0.7, 1);
    return hn_work_part_end(&third, hn_weights_writer_finish(writer));
}

hn_status hn_sequences_save(const hn_sequences *b, int32_t sequence, const char *path)
{
    const hn_sequence *s = hn_sequences_find(b, sequence);
    HN_REQUIRE(s, HN_ERR_ARGUMENT, "%s: sequence %d is not open", path, sequence);
    HN_REQUIRE(s->length > 0, HN_ERR_ARGUMENT, "%s: the session has no tokens to save", path);
    const size_t room = (size_t)b->c.g->n_leaves + 1;
    part *parts = hn_alloc_array(b->heap, HN_TAG_FILE, room, sizeof *parts);
    hn_weight_entry *entries = hn_alloc_array(b->heap, HN_TAG_FILE, room, sizeof *entries);
    hn_meta meta = hn_meta_on(b->heap, path);
    const hn_status status = parts && entries ? write_file(b, s, path, parts, entries, &meta)
                                              : HN_ERR_MEMORY;
    hn_meta_free(&meta);
    hn_free(b->heap, entries);
    hn_free(b->heap, parts);
    return status;
}

/* ---- reading ---- */

static hn_status check_key(const hn_meta *meta, const char *key, const char *want, const char *what)
{
    hn_span found;
    HN_TRY(hn_meta_want_string(meta, key, &found));
    HN_REQUIRE(found.bytes == strlen(want) && !memcmp(found.data, want, found.bytes),
               HN_ERR_FORMAT, "%s: saved with %s %.*s: expected %s", meta->name, what,
               (int)(found.bytes < 64 ? found.bytes : 64), (const char *)found.data, want);
    return HN_OK;
}

static hn_status check_seal(const hn_gguf *file)
{
    const hn_meta *meta = hn_gguf_meta(file);
    const hn_map_file *map = hn_gguf_map(file, 0);
    hn_span seal;
    HN_TRY(hn_meta_want_string(meta, KEY_SEAL, &seal));
    HN_REQUIRE(seal.bytes == 64, HN_ERR_FORMAT, "%s: %s: expected 64 digits", meta->name, KEY_SEAL);
    const hn_status status = hn_seal_check(map->data, map->bytes, seal.data);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", meta->name);
}

static hn_status check_identity(const hn_sequences *s, int32_t slot, const hn_gguf *file)
{
    const hn_meta *meta = hn_gguf_meta(file);
    hn_span type;
    HN_TRY(hn_meta_string(meta, "general.type", &type));
    HN_REQUIRE(type.bytes == 7 && !memcmp(type.data, "session", 7), HN_ERR_FORMAT,
               "%s: not a session's file", meta->name);
    hn_sequences_identity own;
    int64_t version;
    HN_TRY(hn_meta_int(meta, KEY_VERSION, 1, &version));
    HN_REQUIRE(version == 1 || version == 2, HN_ERR_UNSUPPORTED, "%s: %s is %lld: this hone knows 1 and 2",
               meta->name, KEY_VERSION, (long long)version);
    HN_TRY(hn_sequences_identify(s, slot, version, &own));
    HN_TRY(check_key(meta, KEY_NUMERICS, own.numerics, "numerics"));
    HN_TRY(check_key(meta, KEY_CACHE, own.cache, "a cache of"));
    HN_TRY(check_key(meta, KEY_MODEL, own.model, "another model, SHA-256"));
    return check_key(meta, KEY_ADAPTERS, own.adapters, "other adapters, SHA-256");
}

static hn_status read_tokens(const hn_sequences *s, const hn_meta *meta, const hn_meta_value **tokens,
                             int64_t *first)
{
    const int64_t vocab = hn_model_hparams(s->model)->n_vocab;
    HN_TRY(hn_meta_array(meta, KEY_TOKENS, HN_META_I32, tokens));
    HN_REQUIRE(*tokens && (*tokens)->n > 0, HN_ERR_FORMAT, "%s: no %s", meta->name, KEY_TOKENS);
    const int64_t n = (int64_t)(*tokens)->n;
    HN_REQUIRE(n <= s->n_ctx, HN_ERR_ARGUMENT, "%s: %lld tokens: the session takes %lld",
               meta->name, (long long)n, (long long)s->n_ctx);
    for (int64_t i = 0; i < n; i++) {
        const int64_t id = hn_meta_item_int(*tokens, (uint64_t)i);
        HN_REQUIRE(id >= 0 && id < vocab, HN_ERR_FORMAT, "%s: token %lld is %lld: the vocabulary has %lld",
                   meta->name, (long long)i, (long long)id, (long long)vocab);
    }
    HN_TRY(hn_meta_want_int(meta, KEY_FIRST, first));
    HN_REQUIRE(*first >= 0 && *first < n, HN_ERR_FORMAT, "%s: %s is %lld, of %lld tokens", meta->name,
               KEY_FIRST, (long long)*first, (long long)n);
    return HN_OK;
}

/* A tensor that no part has: a session of a model that was kept otherwise, or a file that was added to. */
static hn_status check_surplus(const hn_sequences *b, const hn_gguf *file)
{
    const hn_weights *all = hn_gguf_weights(file);
    for (size_t k = 0; k < all->n; k++) {
        const char *name = all->entries[k].name;
        bool is_known = false;
        for (int i = 0; i < b->c.g->n_leaves && !is_known; i++)
            is_known = hn_sequences_caches(b->c.g->leaves[i]) && !strcmp(b->c.g->leaves[i]->name, name);
        HN_REQUIRE(is_known, HN_ERR_FORMAT, "%s: tensor %s: a session of this model has none", hn_gguf_meta(file)->name, name);
    }
    return HN_OK;
}

/* The tensor of every part, in the file's order, and that the bytes are those that were written. */
static hn_status check_parts(const hn_sequences *b, const hn_sequence *s, const hn_gguf *file, int64_t first,
                             const hn_meta_value *tokens)
{
    const hn_meta *meta = hn_gguf_meta(file);
    const hn_weights *all = hn_gguf_weights(file);
    uint8_t digest[32];
    char text[65];
    hn_sha256 sha;
    HN_TRY(check_surplus(b, file));
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, tokens->data, (size_t)tokens->n * sizeof(int32_t));
    for (int i = 0; i < b->c.g->n_leaves; i++) {
        hn_weight_entry want;
        char expected[HN_TYPE_TEXT], found[HN_TYPE_TEXT];
        if (!hn_sequences_caches(b->c.g->leaves[i]))
            continue;
        const part p = part_of(b, s, b->c.g->leaves[i], first, (int64_t)tokens->n);
        HN_TRY(entry_of(&p, &want));
        const hn_weight_entry *e = hn_weights_find(all, want.name);
        HN_REQUIRE(e, HN_ERR_FORMAT, "%s: no tensor %s", meta->name, want.name);
        HN_REQUIRE(e->type.dtype == want.type.dtype && hn_same_shape(&e->type, &want.type),
                   HN_ERR_FORMAT, "%s: tensor %s is %s: expected %s", meta->name, want.name,
                   hn_type_text(&e->type, found), hn_type_text(&want.type, expected));
        HN_TRY(hn_work_tell((uint64_t)i, (uint64_t)b->c.g->n_leaves, e->name));
        hn_sha256_add(&sha, e->data, hn_type_bytes(&e->type));
    }
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    return check_key(meta, KEY_BYTES, text, "bytes of SHA-256");
}

/* Into rows of this sequence's own, which may keep less of a window than the file has. */
static hn_status take_part(const hn_sequences *b, const hn_sequence *s, const hn_weights *all, const hn_leaf *leaf,
                           int64_t first)
{
    const part told = part_of(b, s, leaf, first, s->length), p = part_of(b, s, leaf, s->first, s->length);
    const uint8_t *data = hn_weights_find(all, leaf->name)->data;
    data += (size_t)(p.from - told.from) * p.row_bytes;
    for (size_t at = 0, n; at < part_bytes(&p); at += n) {
        const size_t to = together(&p, at, &n);
        HN_TRY(hn_storage_write(p.storage, leaf, to, data + at, n));
    }
    return HN_OK;
}

/* Blocks of a room that `tokens` take from key `first` on; some may be its own today. */
static hn_status check_room_of(const hn_sequences *b, const hn_sequence *s, int i, int64_t tokens, int64_t first, const char *file)
{
    const hn_key_blocks *blocks = &b->rooms[i].blocks;
    const int32_t *row = hn_sequences_row(b, s, i);
    const int64_t need = hn_sequences_keys_need_anew(b, i, tokens, first);
    int64_t room = blocks->n_free;
    for (int64_t k = 0; k < hn_blocks_of(s->length); k++)
        room += row[k] >= 0 && !hn_key_block_is_shared(blocks, row[k]);
    HN_REQUIRE(need <= room, HN_ERR_MEMORY, "%s: %lld tokens take %lld blocks of %d keys%s: %lld of %d are free", file, (long long)tokens,
               (long long)need, HN_KEY_BLOCK, b->rooms[i].is_window ? " of layers with a window" : "", (long long)room, blocks->n);
    return HN_OK;
}

/* Of windows too: blocks of them may be lent. */
static hn_status check_room(const hn_sequences *b, const hn_sequence *s, int64_t tokens, int64_t first, const char *file)
{
    for (int i = 0; i < b->n_rooms; i++)
        HN_TRY(check_room_of(b, s, i, tokens, first, file));
    return HN_OK;
}

static hn_status fill(hn_sequences *b, hn_sequence *s, const hn_weights *all, int64_t first, const hn_meta_value *tokens)
{
    const int64_t n = (int64_t)tokens->n;
    s->first = first;
    for (int room = 0; room < b->n_rooms; room++)
        HN_TRY(hn_sequences_keys_grow(b, s, room, n));
    s->length = n;
    memcpy(s->tokens, tokens->data, (size_t)n * sizeof *s->tokens);
    for (int i = 0; i < b->c.g->n_leaves; i++)
        if (hn_sequences_caches(b->c.g->leaves[i]))
            HN_TRY(take_part(b, s, all, b->c.g->leaves[i], first));
    return HN_OK;
}

static void empty(hn_sequences *b, hn_sequence *s)
{
    hn_sequences_keys_cut(b, s, 0);
    s->length = 0;
}

static hn_status take(hn_sequences *b, hn_sequence *s, const hn_gguf *file)
{
    const hn_meta_value *tokens;
    int64_t first;
    HN_TRY(check_identity(b, s->slot, file));
    HN_TRY(read_tokens(b, hn_gguf_meta(file), &tokens, &first));
    const hn_work_part half = hn_work_part_begin(0, 0.5);
    const bool is_sealed = hn_meta_find(hn_gguf_meta(file), KEY_VERSION) != NULL; /* of version 1 only the parts are */
    HN_TRY(hn_work_part_end(&half, is_sealed ? check_seal(file) : HN_OK));
    const hn_work_part other = hn_work_part_begin(0.5, 1);
    HN_TRY(hn_work_part_end(&other, check_parts(b, s, file, first, tokens)));
    HN_TRY(check_room(b, s, (int64_t)tokens->n, first, hn_gguf_meta(file)->name));
    b->logits = b->states = NULL;
    empty(b, s);
    const hn_status status = fill(b, s, hn_gguf_weights(file), first, tokens);
    if (status != HN_OK) /* a device failed: what it holds is not known */
        empty(b, s);
    return status;
}

hn_status hn_sequences_restore(hn_sequences *b, int32_t sequence, const char *path)
{
    hn_sequence *s = hn_sequences_find(b, sequence);
    hn_gguf *file;
    HN_REQUIRE(s, HN_ERR_ARGUMENT, "%s: sequence %d is not open", path, sequence);
    HN_TRY(hn_gguf_open(b->heap, path, &file));
    const hn_status status = take(b, s, file);
    hn_gguf_close(file);
    return status;
}
