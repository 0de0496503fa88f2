/* A session's file: GGUF, with the tokens and what each layer holds of their keys and values in
 * ascending order, however it lay in memory. What it was made with is told by digests. */
#include "infer/session_state.h"

#include "base/sha256.h"
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

/* What must be the same of whoever takes the file. */
typedef struct identity {
    char model[65], adapters[65];
    const char *numerics, *cache;
} identity;

static void add_weight(hn_sha256 *sha, const nn_weight *w)
{
    if (w)
        hn_sha256_add(sha, w->data, hn_type_bytes(&w->type));
}

static void add_adapter(hn_sha256 *sha, const hn_adapter *adapter)
{
    const hn_adapter_pair *pair;
    const nn_weight *whole;
    for (int i = 0; (pair = hn_adapter_pair_at(adapter, i)); i++) {
        hn_sha256_add(sha, pair->base->name, strlen(pair->base->name) + 1);
        hn_sha256_add(sha, &pair->lora.scale, sizeof pair->lora.scale);
        add_weight(sha, pair->lora.a);
        add_weight(sha, pair->lora.b);
        add_weight(sha, pair->lora.magnitude);
    }
    for (int i = 0; (whole = hn_adapter_whole_at(adapter, i)); i++) {
        hn_sha256_add(sha, whole->name, strlen(whole->name) + 1);
        add_weight(sha, whole);
    }
}

static hn_status identify(const hn_session *s, int64_t version, identity *out)
{
    identity own = { .numerics = hn_numerics_name(s->run.numerics), .cache = hn_dtype_name(s->cache) };
    uint8_t digest[32];
    hn_sha256 sha;
    if (version == 1) {
        hn_model_fingerprint(s->model, digest);
        hn_sha256_text(digest, own.model);
    } else {
        HN_TRY(hn_model_identity(s->model, own.model));
    }
    hn_sha256_begin(&sha);
    for (int i = 0; s->adapters && i < s->adapters->n; i++)
        add_adapter(&sha, s->adapters->at[i]);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, own.adapters);
    *out = own;
    return HN_OK;
}

/* One leaf of the cache: keys [from, to) of it, key j in row j % rows. They are read and written by a piece
 * of the host's memory at a time. */
typedef struct part {
    hn_storage *storage;
    const hn_leaf *leaf;
    size_t row_bytes;
    int64_t from, to, rows;
} part;

enum { PIECE = 64 * 1024 };

static part part_of(const hn_session *s, const hn_leaf *leaf, int64_t first, int64_t length)
{
    const int64_t rows = leaf->type.dim[0];
    part p = { .storage = s->c.storage, .leaf = leaf, .to = length, .rows = rows,
               .row_bytes = hn_type_bytes(&leaf->type) / (size_t)rows };
    p.from = strstr(leaf->name, ".window_") ? first : 0;
    return p;
}

/* Bytes [at, at + *bytes) of the part lie together, at what is returned. */
static size_t together(const part *p, size_t at, size_t *bytes)
{
    const int64_t key = p->from + (int64_t)(at / p->row_bytes);
    const int64_t wrap = key - key % p->rows + p->rows, end = wrap < p->to ? wrap : p->to;
    const size_t left = (size_t)(end - p->from) * p->row_bytes - at;
    *bytes = left < PIECE ? left : PIECE;
    return (size_t)(key % p->rows) * p->row_bytes + at % p->row_bytes;
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
        HN_TRY(hn_storage_read(p->storage, p->leaf, from, piece, n));
        hn_sha256_add(sha, piece, n);
    }
    return HN_OK;
}

/* ---- writing ---- */

static hn_status list_parts(const hn_session *s, part *parts, hn_weight_entry *entries, size_t *n)
{
    *n = 0;
    for (int i = 0; i < s->c.g->n_leaves; i++) {
        const hn_leaf *leaf = s->c.g->leaves[i];
        if (!hn_session_caches(leaf))
            continue;
        parts[*n] = part_of(s, leaf, s->first, s->length);
        HN_TRY(entry_of(&parts[*n], &entries[*n]));
        ++*n;
    }
    return HN_OK;
}

static hn_status describe(const hn_session *s, const part *parts, size_t n, hn_meta *meta)
{
    identity own;
    uint8_t digest[32];
    char text[65];
    hn_sha256 sha;
    HN_TRY(identify(s, 2, &own));
    digest_tokens(&sha, s->held, s->length);
    for (size_t i = 0; i < n; i++)
        HN_TRY(digest_part(&sha, &parts[i]));
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
                                   .n = (uint64_t)s->length, .data = (const uint8_t *)s->held,
                                   .bytes = (size_t)s->length * sizeof *s->held };
    return hn_meta_set_copy(meta, &tokens);
}

static hn_status put(hn_weights_writer *writer, size_t i, const part *p)
{
    uint8_t piece[PIECE];
    for (size_t at = 0, n; at < part_bytes(p); at += n) {
        const size_t from = together(p, at, &n);
        HN_TRY(hn_storage_read(p->storage, p->leaf, from, piece, n));
        HN_TRY(hn_weights_writer_put(writer, i, at, piece, n));
    }
    return HN_OK;
}

static hn_status write_file(const hn_session *s, const char *path, part *parts,
                            hn_weight_entry *entries, hn_meta *meta)
{
    size_t n;
    hn_weights_writer *writer;
    HN_TRY(list_parts(s, parts, entries, &n));
    HN_TRY(describe(s, parts, n, meta));
    HN_TRY(hn_gguf_create(s->heap, hn_sink_own(path), meta, entries, n, &writer));
    hn_status status = HN_OK;
    for (size_t i = 0; i < n && status == HN_OK; i++)
        status = put(writer, i, &parts[i]);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

hn_status hn_session_save(const hn_session *s, const char *path)
{
    HN_REQUIRE(s->length > 0, HN_ERR_ARGUMENT, "%s: the session has no tokens to save", path);
    const size_t room = (size_t)s->c.g->n_leaves + 1;
    part *parts = hn_alloc_array(s->heap, HN_TAG_FILE, room, sizeof *parts);
    hn_weight_entry *entries = hn_alloc_array(s->heap, HN_TAG_FILE, room, sizeof *entries);
    hn_meta meta = hn_meta_on(s->heap, path);
    const hn_status status = parts && entries ? write_file(s, path, parts, entries, &meta)
                                              : HN_ERR_MEMORY;
    hn_meta_free(&meta);
    hn_free(s->heap, entries);
    hn_free(s->heap, parts);
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

static hn_status check_identity(const hn_session *s, const hn_gguf *file)
{
    const hn_meta *meta = hn_gguf_meta(file);
    hn_span type;
    HN_TRY(hn_meta_string(meta, "general.type", &type));
    HN_REQUIRE(type.bytes == 7 && !memcmp(type.data, "session", 7), HN_ERR_FORMAT,
               "%s: not a session's file", meta->name);
    identity own;
    int64_t version;
    HN_TRY(hn_meta_int(meta, KEY_VERSION, 1, &version));
    HN_REQUIRE(version == 1 || version == 2, HN_ERR_UNSUPPORTED, "%s: %s is %lld: this hone knows 1 and 2",
               meta->name, KEY_VERSION, (long long)version);
    HN_TRY(identify(s, version, &own));
    HN_TRY(check_key(meta, KEY_NUMERICS, own.numerics, "numerics"));
    HN_TRY(check_key(meta, KEY_CACHE, own.cache, "a cache of"));
    HN_TRY(check_key(meta, KEY_MODEL, own.model, "another model, SHA-256"));
    return check_key(meta, KEY_ADAPTERS, own.adapters, "other adapters, SHA-256");
}

static hn_status read_tokens(const hn_session *s, const hn_meta *meta, const hn_meta_value **tokens,
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

/* The tensor of every part, in the file's order, and that the bytes are those that were written. */
static hn_status check_parts(const hn_session *s, const hn_gguf *file, int64_t first,
                             const hn_meta_value *tokens)
{
    const hn_meta *meta = hn_gguf_meta(file);
    const hn_weights *all = hn_gguf_weights(file);
    uint8_t digest[32];
    char text[65];
    hn_sha256 sha;
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, tokens->data, (size_t)tokens->n * sizeof(int32_t));
    for (int i = 0; i < s->c.g->n_leaves; i++) {
        hn_weight_entry want;
        char expected[HN_TYPE_TEXT], found[HN_TYPE_TEXT];
        if (!hn_session_caches(s->c.g->leaves[i]))
            continue;
        const part p = part_of(s, s->c.g->leaves[i], first, (int64_t)tokens->n);
        HN_TRY(entry_of(&p, &want));
        const hn_weight_entry *e = hn_weights_find(all, want.name);
        HN_REQUIRE(e, HN_ERR_FORMAT, "%s: no tensor %s", meta->name, want.name);
        HN_REQUIRE(e->type.dtype == want.type.dtype && hn_same_shape(&e->type, &want.type),
                   HN_ERR_FORMAT, "%s: tensor %s is %s: expected %s", meta->name, want.name,
                   hn_type_text(&e->type, found), hn_type_text(&want.type, expected));
        hn_sha256_add(&sha, e->data, hn_type_bytes(&e->type));
    }
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    return check_key(meta, KEY_BYTES, text, "bytes of SHA-256");
}

/* Into rows of this session's own; a ring that is smaller keeps the last. */
static hn_status take_part(const hn_session *s, const hn_weights *all, const hn_leaf *leaf,
                           int64_t first, int64_t *from)
{
    part p = part_of(s, leaf, first, s->length);
    const uint8_t *data = hn_weights_find(all, leaf->name)->data;
    if (p.from < s->length - p.rows) {
        data += (size_t)(s->length - p.rows - p.from) * p.row_bytes;
        p.from = s->length - p.rows;
    }
    for (size_t at = 0, n; at < part_bytes(&p); at += n) {
        const size_t to = together(&p, at, &n);
        HN_TRY(hn_storage_write(p.storage, leaf, to, data + at, n));
    }
    *from = p.from;
    return HN_OK;
}

static hn_status take(hn_session *s, const hn_gguf *file)
{
    const hn_meta_value *tokens;
    int64_t first;
    HN_TRY(check_identity(s, file));
    HN_TRY(read_tokens(s, hn_gguf_meta(file), &tokens, &first));
    if (hn_meta_find(hn_gguf_meta(file), KEY_VERSION)) /* of version 1 only the parts are sealed */
        HN_TRY(check_seal(file));
    HN_TRY(check_parts(s, file, first, tokens));
    s->length = (int64_t)tokens->n;
    s->first = first;
    s->logits = NULL;
    memcpy(s->held, tokens->data, (size_t)s->length * sizeof *s->held);
    for (int i = 0; i < s->c.g->n_leaves; i++) {
        const hn_leaf *leaf = s->c.g->leaves[i];
        if (!hn_session_caches(leaf))
            continue;
        int64_t from;
        HN_TRY(take_part(s, hn_gguf_weights(file), leaf, first, &from));
        s->first = from > s->first ? from : s->first;
    }
    return HN_OK;
}

hn_status hn_session_restore(hn_session *s, const char *path)
{
    hn_gguf *file;
    HN_TRY(hn_gguf_open(s->heap, path, &file));
    const hn_status status = take(s, file);
    hn_gguf_close(file);
    return status;
}
