/* A model file looked into: what is in its header, counted, and its weights left alone. */
#include "engine/files.h"
#include "models/format.h"
#include "models/models.h"

#include <string.h>

struct hn_lm_file {
    hn_heap *heap;
    hn_model_look look; /* what its format finds in it */
    char *path;
    hn_lm_shape shape;
    hn_lm_about about;
    const hn_meta_value *read_of; /* whose texts were read, */
    uint64_t read;                /* how many, */
    size_t cursor;                /* and where the next begins */
};

/* ---- what weights are for ---- */

const char *hn_lm_use_name(hn_lm_use use)
{
    HN_ENTER();
    static const char *const names[] = { "embedding", "attention", "feed-forward", "experts", "norms", "head", "other" };
    return (unsigned)use < sizeof names / sizeof *names ? names[use] : "";
}

/* As GGUF calls it, whose names say it: a directory's are another in each architecture. */
static const char *own_name(const hn_lm_file *f, const char *name)
{
    const hn_weight_spec *spec = f->look.arch && !f->look.meta ? hn_arch_spec_of(f->look.arch, name) : NULL;
    return spec ? spec->gguf : name;
}

static hn_lm_use use_of(const char *name)
{
    static const struct {
        const char *part;
        hn_lm_use use;
    } parts[] = { { "_exps.", HN_LM_USE_EXPERTS },       { "experts", HN_LM_USE_EXPERTS },
                  { "ffn_gate_inp", HN_LM_USE_EXPERTS }, { "exp_probs", HN_LM_USE_EXPERTS },
                  { "norm", HN_LM_USE_NORMS },
                  { "token_embd", HN_LM_USE_EMBEDDING }, { "embed", HN_LM_USE_EMBEDDING },
                  { "position_embd", HN_LM_USE_EMBEDDING }, { "attn", HN_LM_USE_ATTENTION },
                  { "attention", HN_LM_USE_ATTENTION },  { "ffn", HN_LM_USE_FEED_FORWARD },
                  { "mlp", HN_LM_USE_FEED_FORWARD },     { "lm_head", HN_LM_USE_HEAD } };
    if (!strncmp(name, "output.", 7))
        return HN_LM_USE_HEAD;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i].part))
            return parts[i].use;
    return HN_LM_USE_OTHER;
}

static uint64_t count_of(const hn_weight_entry *e)
{
    uint64_t count = 1;
    for (int d = 0; d < e->type.rank; d++)
        count *= (uint64_t)e->type.dim[d];
    return count;
}

static void count_weights(hn_lm_file *f)
{
    hn_lm_about *about = &f->about;
    for (size_t i = 0; i < f->look.weights->n; i++) {
        const hn_weight_entry *e = &f->look.weights->entries[i];
        const uint64_t count = count_of(e);
        const char *name = own_name(f, e->name);
        const bool is_routed = use_of(name) == HN_LM_USE_EXPERTS && !strstr(name, "ffn_gate_inp") &&
                               !strstr(name, "exp_probs") && f->look.hp && f->look.hp->n_expert > 0;
        about->parameters += count;
        about->bytes += e->bytes;
        about->active += is_routed ? count / (uint64_t)f->look.hp->n_expert * (uint64_t)f->look.hp->n_used : count;
    }
}

static void take_shape(hn_lm_file *f)
{
    const hn_hparams *hp = f->look.hp;
    const int64_t own = hp->n_layer - hp->n_shared_kv;
    for (int i = 0; i < own; i++)
        f->about.kv_bytes += 2 * (uint64_t)hp->n_kv_head[i] *
                             (uint64_t)(hn_layer_head_dim(hp, i) + hn_layer_value_dim(hp, i));
    f->shape = (hn_lm_shape){ .layers = hp->n_layer, .width = hp->width, .heads = hp->n_head[0],
                              .kv_heads = hp->n_kv_head[0], .head_dim = hp->head_dim, .ffn = hp->ffn[0],
                              .experts = hp->n_expert, .experts_used = hp->n_used, .expert_ffn = hp->expert_ffn,
                              .context = hp->n_ctx, .window = hp->window, .vocabulary = hp->n_vocab,
                              .is_tied = hp->is_tied };
    f->about.shape = &f->shape;
}

/* ---- opening ---- */

static void tell_template(hn_lm_file *f)
{
    const hn_model_look *look = &f->look;
    if (look->has_template) {
        f->about.template_text = look->template.text;
        f->about.template_bytes = look->template.length;
    }
    f->about.template_key = look->template_key;
    f->about.template_unused = look->template_unused;
    f->about.templates = look->others.length ? look->others.text : "";
}

static hn_status open_file(hn_lm_file *f, const hn_ignored *ignored)
{
    hn_model_look *look = &f->look;
    HN_TRY(hn_model_look_open(look, f->heap, f->path, ignored));
    /* Of what hone cannot run no key is read, and none passed over. */
    HN_REQUIRE(look->hp || !ignored->n, HN_ERR_ARGUMENT, "--ignore %s: %s is no model whose keys are read",
               ignored->at[0], f->path);
    count_weights(f);
    if (look->hp)
        take_shape(f);
    f->about.path = f->path;
    f->about.format = look->format;
    f->about.is_gguf = look->meta != NULL;
    f->about.parts = look->parts;
    f->about.architecture = look->arch_name;
    f->about.is_supported = look->arch != NULL;
    f->about.n_tensors = look->weights->n;
    f->about.n_keys = look->meta ? look->meta->n : 0;
    f->about.tokenizer_class = look->tokenizer_class;
    tell_template(f);
    return HN_OK;
}

hn_status hn_lm_file_open(hn_lm_file **out, hn_engine *engine, const char *path, const char *const *ignored_keys,
                          int32_t n_ignored_keys)
{
    HN_ENTER();
    hn_ignored ignored;
    HN_REQUIRE(out && engine && path, HN_ERR_ARGUMENT, "hn_lm_file_open: expected out, engine and path, found NULL");
    *out = NULL;
    HN_TRY(hn_take_ignored("hn_lm_file_open", ignored_keys, n_ignored_keys, &ignored));
    HN_TRY(hn_engine_check(engine));
    hn_heap *heap = &engine->heap;
    hn_lm_file *f = hn_alloc(heap, HN_TAG_FILE, sizeof *f);
    if (!f)
        return HN_ERR_MEMORY;
    *f = (hn_lm_file){ .heap = heap, .path = hn_strdup(heap, HN_TAG_FILE, path) };
    const hn_status status = f->path ? open_file(f, &ignored) : HN_ERR_MEMORY;
    if (status != HN_OK) {
        hn_lm_file_close(f);
        return status;
    }
    *out = f;
    return HN_OK;
}

void hn_lm_file_close(hn_lm_file *f)
{
    HN_ENTER();
    if (!f)
        return;
    hn_model_look_close(&f->look, f->heap, f->path);
    hn_free(f->heap, f->path);
    hn_free(f->heap, f);
}

/* ---- what is in it ---- */

const hn_lm_about *hn_lm_file_about(const hn_lm_file *f)
{
    HN_ENTER();
    return f ? &f->about : NULL;
}

hn_status hn_lm_file_tensor(const hn_lm_file *f, size_t i, hn_lm_tensor *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_tensor, out, to, size);
    HN_REQUIRE(f && to, HN_ERR_ARGUMENT, "hn_lm_file_tensor: expected a file and out, found NULL");
    HN_REQUIRE(i < f->look.weights->n, HN_ERR_ARGUMENT, "%s: tensor %zu of %zu", f->path, i, f->look.weights->n);
    const hn_weight_entry *e = &f->look.weights->entries[i];
    *out = (hn_lm_tensor){ .name = e->name, .type = e->encoding, .use = use_of(own_name(f, e->name)), .rank = e->type.rank, .dim = e->type.dim,
                           .parameters = count_of(e), .bytes = e->bytes };
    return HN_OK;
}

static hn_lm_kind kind_of(hn_meta_type type)
{
    return type == HN_META_STRING                        ? HN_LM_TEXT
           : type == HN_META_BOOL                        ? HN_LM_BOOL
           : type == HN_META_F32 || type == HN_META_F64  ? HN_LM_REAL
                                                         : HN_LM_INT;
}

static hn_status want_key(const hn_lm_file *f, size_t i, const hn_meta_value **out)
{
    *out = NULL;
    HN_REQUIRE(i < f->about.n_keys, HN_ERR_ARGUMENT, "%s: key %zu of %zu", f->path, i, f->about.n_keys);
    *out = &f->look.meta->values[i];
    return HN_OK;
}

hn_status hn_lm_file_key(const hn_lm_file *f, size_t i, hn_lm_key *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_key, out, to, size);
    const hn_meta_value *v;
    HN_REQUIRE(f && to, HN_ERR_ARGUMENT, "hn_lm_file_key: expected a file and out, found NULL");
    HN_TRY(want_key(f, i, &v));
    *out = (hn_lm_key){ .name = v->key, .type = hn_meta_type_name(v->type), .kind = kind_of(v->type),
                        .is_array = v->is_array, .n = v->n };
    return HN_OK;
}

size_t hn_lm_file_find(const hn_lm_file *f, const char *key)
{
    HN_ENTER();
    const hn_meta_value *v = f && f->look.meta && key ? hn_meta_find(f->look.meta, key) : NULL;
    return v ? (size_t)(v - f->look.meta->values) : f ? f->about.n_keys : 0;
}

/* Texts lie one after another: from the last that was asked for, or from the first. */
static hn_span text_at(hn_lm_file *f, const hn_meta_value *v, uint64_t i)
{
    if (f->read_of != v || f->read > i) {
        f->read_of = v;
        f->read = f->cursor = 0;
    }
    for (; f->read < i; f->read++)
        hn_meta_next_string(v, &f->cursor);
    f->read++;
    return hn_meta_next_string(v, &f->cursor);
}

hn_status hn_lm_file_item(hn_lm_file *f, size_t key, uint64_t i, hn_lm_item *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_item, out, to, size);
    const hn_meta_value *v;
    HN_REQUIRE(f && to, HN_ERR_ARGUMENT, "hn_lm_file_item: expected a file and out, found NULL");
    HN_TRY(want_key(f, key, &v));
    HN_REQUIRE(i < v->n, HN_ERR_ARGUMENT, "%s: %s: item %llu of %llu", f->path, v->key, (unsigned long long)i,
               (unsigned long long)v->n);
    const hn_lm_kind kind = kind_of(v->type);
    const hn_span text = kind == HN_LM_TEXT ? text_at(f, v, i) : (hn_span){ NULL, 0 };
    *out = (hn_lm_item){ .text = text.data, .bytes = text.bytes };
    if (kind == HN_LM_REAL)
        out->real = hn_meta_item_double(v, i);
    if (kind == HN_LM_BOOL)
        out->integer = v->data[i] != 0;
    if (kind == HN_LM_INT)
        out->integer = hn_meta_item_int(v, i);
    return HN_OK;
}
