/* A scheduler's beginnings on disk: what leaves memory is written, and what a request begins with is read back. */
#include "engine/beginnings_disk.h"
#include "engine/scheduler.h"

#include "base/str.h"

#include <string.h>

enum { BLOCK_BYTES = HN_BEGINNING_IDS * (int)sizeof(int32_t) };

/* Of a way: the lines of its key and, to its end, its ids. */
static hn_status begin_key(const hn_lm_scheduler *s, hn_whose whose, hn_str *key, hn_sha256 *sha)
{
    const int32_t slot = hn_lm_batch_slot(s->batch, whose.adapter);
    HN_TRY(hn_sequences_describe(hn_lm_batch_inner(s->batch, whose.adapter), slot, key));
    hn_str_print(key, "owner %016llx\n", (unsigned long long)whose.owner);
    hn_str_add_char(key, '\0');
    hn_sha256_begin(sha);
    hn_sha256_add(sha, key->text, key->length);
    return hn_str_status(key);
}

static hn_status add_block(hn_str *key, hn_sha256 *sha, const int32_t *ids)
{
    hn_str_add_bytes(key, (const char *)ids, BLOCK_BYTES);
    hn_sha256_add(sha, ids, BLOCK_BYTES);
    return hn_str_status(key);
}

static hn_disk_name name_of(const hn_sha256 *sha)
{
    hn_sha256 so_far = *sha;
    hn_disk_name name;
    hn_sha256_end(&so_far, name.digest);
    return name;
}

/* ---- writing ---- */

/* The blocks from the top to `leaving`. */
static hn_status key_of(hn_lm_scheduler *s, const hn_beginning *leaving, hn_str *key, hn_disk_name *name)
{
    hn_sha256 sha;
    HN_TRY(begin_key(s, leaving->whose, key, &sha));
    const hn_beginning *at = leaving;
    for (int32_t i = leaving->depth; i > 0; i--) {
        s->nodes[i - 1] = at;
        at = at->parent == HN_NO_BEGINNING ? NULL : &s->beginnings.at[at->parent];
    }
    for (int32_t i = 0; i < leaving->depth; i++)
        HN_TRY(add_block(key, &sha, s->nodes[i]->ids));
    *name = name_of(&sha);
    return HN_OK;
}

static hn_status write_block(hn_lm_scheduler *s, const hn_beginning *leaving, hn_str *key)
{
    hn_sequences *inner = hn_lm_batch_inner(s->batch, leaving->whose.adapter);
    const size_t bytes = hn_sequences_lent_bytes(inner, leaving->keys.window >= 0);
    hn_disk_name name;
    HN_TRY(key_of(s, leaving, key, &name));
    if (hn_disk_has(s->o.disk, &name, bytes))
        return HN_OK;
    void *data = hn_alloc(&s->lm->engine->heap, HN_TAG_FILE, bytes);
    if (!data)
        return HN_ERR_MEMORY;
    const hn_status status = hn_sequences_read_lent(inner, &leaving->keys, data);
    if (status == HN_OK)
        return hn_disk_give(s->o.disk, &name, key->text, key->length, data, bytes, s->is_ending);
    hn_free(&s->lm->engine->heap, data);
    return status;
}

void hn_scheduler_write(hn_lm_scheduler *s, const hn_beginning *leaving)
{
    if (!s->o.disk || hn_engine_check(s->lm->engine) != HN_OK) /* a child of fork has no thread that writes */
        return;
    HN_WORK_INSISTS(); /* that it is not written is told as a disk's failure */
    hn_str key = hn_str_on(&s->lm->engine->heap);
    if (write_block(s, leaving, &key) != HN_OK)
        hn_disk_tell(s->o.disk);
    hn_str_free(&key);
}

/* ---- reading ---- */

static bool makes_place(hn_lm_scheduler *s, const hn_sequences *inner)
{
    while (hn_scheduler_spare(s, inner) < 1)
        if (!hn_scheduler_gives_block(s, inner, false))
            return false;
    return s->beginnings.n < s->beginnings.most || hn_beginnings_evict(&s->beginnings, NULL, NULL);
}

/* The block after *node, which is held; then it is *node. false: there is none, or no room. */
static bool read_block(hn_lm_scheduler *s, const hn_request *r, const hn_str *key, const hn_sha256 *sha, int32_t *node)
{
    const hn_whose whose = { r->r.owner, r->adapter };
    hn_sequences *inner = hn_lm_batch_inner(s->batch, r->adapter);
    const hn_disk_name name = name_of(sha);
    hn_lent_keys keys = HN_NO_KEYS;
    void *data;
    size_t bytes = 0;
    hn_status status = hn_disk_read(s->o.disk, &name, key->text, key->length, &data, &bytes);
    const bool has_room = status == HN_OK && data && makes_place(s, inner);
    if (has_room)
        status = hn_sequences_take_lent(inner, hn_lm_batch_slot(s->batch, r->adapter), data, bytes, &keys);
    if (status != HN_OK)
        hn_disk_tell(s->o.disk);
    hn_free(&s->lm->engine->heap, data);
    if (!has_room || status != HN_OK)
        return false;
    int32_t ids[HN_BEGINNING_IDS];
    memcpy(ids, key->text + key->length - BLOCK_BYTES, sizeof ids);
    const int32_t added = hn_beginnings_add(&s->beginnings, whose, *node, ids, &keys);
    hn_beginnings_hold(&s->beginnings, added);
    hn_beginnings_let_go(&s->beginnings, *node);
    *node = added;
    return true;
}

static hn_status read_blocks(hn_lm_scheduler *s, const hn_request *r, int64_t n, hn_str *key, int32_t *node)
{
    const hn_whose whose = { r->r.owner, r->adapter };
    hn_sha256 sha;
    HN_TRY(begin_key(s, whose, key, &sha));
    const int64_t known = *node == HN_NO_BEGINNING ? 0 : s->beginnings.at[*node].depth;
    for (int64_t i = 0; i < n; i++) {
        HN_TRY(add_block(key, &sha, r->ids + i * HN_BEGINNING_IDS));
        if (i >= known && !read_block(s, r, key, &sha, node))
            return HN_OK;
    }
    return HN_OK;
}

void hn_scheduler_read(hn_lm_scheduler *s, hn_request *r)
{
    const int64_t n = hn_scheduler_most_shared(r) / HN_BEGINNING_IDS;
    const hn_whose whose = { r->r.owner, r->adapter };
    if (!s->o.disk || !s->o.kept || r->has_looked)
        return;
    HN_WORK_INSISTS();
    r->has_looked = true;
    int32_t node = hn_beginnings_find(&s->beginnings, whose, r->ids, n * HN_BEGINNING_IDS);
    hn_str key = hn_str_on(&s->lm->engine->heap);
    hn_beginnings_hold(&s->beginnings, node);
    if (read_blocks(s, r, n, &key, &node) != HN_OK)
        hn_disk_tell(s->o.disk);
    hn_beginnings_let_go(&s->beginnings, node);
    hn_str_free(&key);
}
