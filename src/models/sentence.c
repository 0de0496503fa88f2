/* Directories say it in several files and GGUF in a few keys; both are read into the same few words, and pooling
 * is one loop over them. Pooling adds in double, in the order of tokens. */
#include "models/sentence.h"

#include "io/gguf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20, PATH = 160 };

static const char *const names[HN_N_POOL_KINDS] = {
    [HN_POOL_CLS] = "cls",
    [HN_POOL_MAX] = "max",
    [HN_POOL_MEAN] = "mean",
    [HN_POOL_MEAN_SQRT] = "mean_sqrt_len_tokens",
    [HN_POOL_WEIGHTED_MEAN] = "weightedmean",
    [HN_POOL_LAST] = "lasttoken",
};
/* What older files have instead, in this order; and GGUF's numbers (0: it has none). */
static const char *const flags[HN_N_POOL_KINDS] = {
    [HN_POOL_CLS] = "pooling_mode_cls_token",
    [HN_POOL_MAX] = "pooling_mode_max_tokens",
    [HN_POOL_MEAN] = "pooling_mode_mean_tokens",
    [HN_POOL_MEAN_SQRT] = "pooling_mode_mean_sqrt_len_tokens",
    [HN_POOL_WEIGHTED_MEAN] = "pooling_mode_weightedmean_tokens",
    [HN_POOL_LAST] = "pooling_mode_lasttoken",
};
static const int64_t gguf_numbers[HN_N_POOL_KINDS] = { [HN_POOL_MEAN] = 1, [HN_POOL_CLS] = 2, [HN_POOL_LAST] = 3 };

static hn_pool_kind kind_of(const char *name, size_t bytes)
{
    for (int i = 1; i < HN_N_POOL_KINDS; i++)
        if (strlen(names[i]) == bytes && !memcmp(names[i], name, bytes))
            return (hn_pool_kind)i;
    return HN_POOL_NONE;
}

const char *hn_pool_kind_name(hn_pool_kind kind) { return names[kind]; }

const char *hn_pool_kinds_or(hn_word_text *text) /* but HN_POOL_NONE, the first */
{
    return hn_words_or(HN_N_POOL_KINDS - 1, names + 1, text);
}

hn_status hn_pool_kind_named(const char *name, hn_pool_kind *out)
{
    *out = kind_of(name, strlen(name));
    hn_word_text all;
    HN_REQUIRE(*out, HN_ERR_ARGUMENT, "pooling %.40s: expected %s", name, hn_pool_kinds_or(&all));
    return HN_OK;
}

static hn_status add_part(hn_sentence *s, hn_pool_kind kind)
{
    HN_REQUIRE(s->n < HN_N_POOL_KINDS, HN_ERR_UNSUPPORTED, "pooling: more than %d parts", HN_N_POOL_KINDS);
    s->parts[s->n++] = kind;
    return HN_OK;
}

/* Directories. */

/* *out is NULL if the file is not there. */
static hn_status read_json(const hn_hf_dir *dir, const char *name, hn_json_text **out)
{
    char title[PATH + 8];
    void *text;
    size_t bytes;
    *out = NULL;
    HN_TRY(hn_hf_dir_read(dir, name, MOST_BYTES, &text, &bytes));
    if (!text)
        return HN_OK;
    snprintf(title, sizeof title, "%.*s", PATH, name);
    const hn_status status = hn_json_read(dir->heap, title, text, bytes, out);
    hn_free(dir->heap, text);
    return status;
}

static bool is_among(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = words; *at;) {
        const size_t k = strcspn(at, "|");
        if (k == n && !memcmp(at, word, n))
            return true;
        at += k + (at[k] == '|');
    }
    return false;
}

/* These files are closed worlds too. */
static hn_status check_keys(const char *file, const hn_json *object, const char *known)
{
    HN_REQUIRE(object->kind == HN_JSON_OBJECT, HN_ERR_FORMAT, "%s: expected an object", file);
    for (const hn_json *v = hn_json_first(object); v; v = v->next)
        HN_REQUIRE(is_among(known, v->key), HN_ERR_UNSUPPORTED, "%s: %.60s: no key that is known there", file,
                   v->key);
    return HN_OK;
}

static bool is_given(const hn_json *value) { return value && value->kind != HN_JSON_NULL; }

static hn_status expect_word(const char *file, const hn_json *object, const char *key, const char *word)
{
    const hn_json *value = hn_json_get(object, key);
    HN_REQUIRE(!is_given(value) || (value->kind == HN_JSON_STRING && !strcmp(hn_json_string(value), word)),
               HN_ERR_UNSUPPORTED, "%s: %s: expected \"%s\"", file, key, word);
    return HN_OK;
}

static hn_status read_modes(const char *file, const hn_json *modes, hn_sentence *out)
{
    const hn_json *first = modes->kind == HN_JSON_ARRAY ? hn_json_first(modes) : modes;
    for (const hn_json *m = first; m; m = modes->kind == HN_JSON_ARRAY ? m->next : NULL) {
        const char *word;
        hn_pool_kind kind;
        HN_TRY(hn_json_want_string(m, "pooling_mode", &word));
        if (hn_pool_kind_named(word, &kind) != HN_OK)
            return hn_fail_within(HN_ERR_UNSUPPORTED, "%s: ", file);
        HN_TRY(add_part(out, kind));
    }
    return HN_OK;
}

static hn_status read_pooling(const char *file, const hn_json *root, const hn_hparams *hp, hn_sentence *out)
{
    static const char *const widths[] = { "word_embedding_dimension", "embedding_dimension" };
    const hn_json *modes = hn_json_get(root, "pooling_mode");
    HN_TRY(check_keys(file, root,
                      "word_embedding_dimension|embedding_dimension|pooling_mode|include_prompt|"
                      "pooling_mode_cls_token|pooling_mode_max_tokens|pooling_mode_mean_tokens|"
                      "pooling_mode_mean_sqrt_len_tokens|pooling_mode_weightedmean_tokens|pooling_mode_lasttoken"));
    for (int i = 0; i < 2; i++) {
        int64_t width = hp->width;
        if (hn_json_get(root, widths[i]))
            HN_TRY(hn_json_want_int(hn_json_get(root, widths[i]), widths[i], &width));
        HN_REQUIRE(width == hp->width, HN_ERR_FORMAT, "%s: %s is %lld: the model's width is %lld", file, widths[i],
                   (long long)width, (long long)hp->width);
    }
    if (modes)
        HN_TRY(read_modes(file, modes, out));
    for (int i = 1; i < HN_N_POOL_KINDS && !modes; i++) {
        bool is_on = false;
        if (hn_json_get(root, flags[i]))
            HN_TRY(hn_json_want_bool(hn_json_get(root, flags[i]), flags[i], &is_on));
        if (is_on)
            HN_TRY(add_part(out, (hn_pool_kind)i));
    }
    return out->n ? HN_OK : add_part(out, HN_POOL_MEAN);
}

static bool lowers(const hn_json *normalizer)
{
    const hn_json *type = hn_json_get(normalizer, "type"), *lower = hn_json_get(normalizer, "lowercase");
    if (!type || type->kind != HN_JSON_STRING)
        return false;
    if (!strcmp(hn_json_string(type), "Lowercase"))
        return true;
    if (!strcmp(hn_json_string(type), "BertNormalizer"))
        return hn_json_is_true(lower);
    const hn_json *steps = hn_json_get(normalizer, "normalizers");
    for (size_t i = 0; hn_json_at(steps, i); i++) /* a handful */
        if (lowers(hn_json_at(steps, i)))
            return true;
    return false;
}

static hn_status read_transformer(const hn_hf_dir *dir, const char *file, const hn_json *root, int64_t *longest)
{
    const hn_json *length = hn_json_get(root, "max_seq_length"), *lower = hn_json_get(root, "do_lower_case");
    bool is_lower = false;
    HN_TRY(check_keys(file, root, "max_seq_length|do_lower_case|transformer_task|modality_config|module_output_name|"
                                  "unpad_inputs"));
    HN_TRY(expect_word(file, root, "transformer_task", "feature-extraction"));
    HN_TRY(expect_word(file, root, "module_output_name", "token_embeddings"));
    if (is_given(lower))
        HN_TRY(hn_json_want_bool(lower, "do_lower_case", &is_lower));
    HN_REQUIRE(!is_lower || lowers(hn_json_get(dir->tokenizer ? hn_json_root(dir->tokenizer) : NULL, "normalizer")),
               HN_ERR_UNSUPPORTED, "%s: do_lower_case is true, and the tokenizer keeps capitals", file);
    if (!is_given(length))
        return HN_OK;
    HN_TRY(hn_json_want_int(length, "max_seq_length", longest));
    HN_REQUIRE(*longest >= 1, HN_ERR_FORMAT, "%s: max_seq_length is %lld", file, (long long)*longest);
    return HN_OK;
}

/* What sentence-transformers takes where nothing is said: the tokenizer's word. */
static hn_status tokenizer_length(const hn_hf_dir *dir, int64_t *longest)
{
    const hn_json *value =
        hn_json_get(dir->tokenizer_config ? hn_json_root(dir->tokenizer_config) : NULL, "model_max_length");
    double length;
    if (!is_given(value))
        return HN_OK;
    HN_TRY(hn_json_want_double(value, "tokenizer_config.json: model_max_length", &length));
    HN_REQUIRE(length >= 1, HN_ERR_FORMAT, "tokenizer_config.json: model_max_length is %g", length);
    if (length < 0x1p31) /* files have 1e30 for none */
        *longest = (int64_t)length;
    return HN_OK;
}

typedef struct module {
    const char *kind; /* the last word of its type */
    char file[PATH];  /* of its configuration */
} module;

static hn_status read_module(const hn_json *entry, module *out)
{
    const char *type, *path = "";
    HN_TRY(check_keys("modules.json", entry, "idx|name|path|type|kwargs"));
    const hn_json *given = hn_json_get(entry, "path"), *more = hn_json_get(entry, "kwargs");
    HN_TRY(hn_json_want_string(hn_json_get(entry, "type"), "modules.json: type", &type));
    if (given)
        HN_TRY(hn_json_want_string(given, "modules.json: path", &path));
    HN_REQUIRE(!is_given(more) || (more->kind == HN_JSON_ARRAY && !hn_json_count(more)), HN_ERR_UNSUPPORTED,
               "modules.json: kwargs of a module are not supported");
    HN_REQUIRE(strlen(path) + 16 < PATH && !strstr(path, "..") && path[0] != '/', HN_ERR_FORMAT,
               "modules.json: path %.40s", path);
    HN_REQUIRE(!strncmp(type, "sentence_transformers.", 22), HN_ERR_UNSUPPORTED,
               "modules.json: module %.80s is not supported", type);
    out->kind = strrchr(type, '.') + 1;
    snprintf(out->file, sizeof out->file, "%s%sconfig.json", path, *path ? "/" : "");
    return HN_OK;
}

static hn_status read_normalize(const char *file, const hn_json *root)
{
    HN_TRY(check_keys(file, root, "module_input_name|module_output_name"));
    HN_TRY(expect_word(file, root, "module_input_name", "sentence_embedding"));
    return expect_word(file, root, "module_output_name", "sentence_embedding");
}

/* In their order: the model itself, pooling, and maybe scaling. */
static hn_status take_module(const hn_hf_dir *dir, const hn_json *entry, size_t place, const hn_hparams *hp,
                             hn_sentence *out)
{
    module m;
    hn_json_text *text = NULL;
    HN_TRY(read_module(entry, &m));
    if (place == 0) {
        HN_REQUIRE(!strcmp(m.kind, "Transformer") && !strcmp(m.file, "config.json"), HN_ERR_UNSUPPORTED,
                   "modules.json: module 0 is %.60s, %.60s: expected a Transformer in the directory itself", m.kind,
                   m.file);
        return HN_OK;
    }
    HN_REQUIRE(!strcmp(m.kind, place == 1 ? "Pooling" : "Normalize") && place <= 2, HN_ERR_UNSUPPORTED,
               "modules.json: module %zu is %.60s: supported are Transformer, Pooling and Normalize, in this order",
               place, m.kind);
    HN_TRY(read_json(dir, m.file, &text));
    HN_REQUIRE(text || place == 2, HN_ERR_FORMAT, "modules.json: %s is missing", m.file);
    hn_status status = HN_OK;
    if (place == 1)
        status = read_pooling(m.file, hn_json_root(text), hp, out);
    else if (text)
        status = read_normalize(m.file, hn_json_root(text));
    out->normalizes = out->normalizes || place == 2;
    hn_json_free(text);
    return status;
}

/* A prompt that is put before every text would change them all. */
static hn_status check_prompts(const hn_json *root)
{
    static const char file[] = "config_sentence_transformers.json";
    HN_TRY(check_keys(file, root, "__version__|prompts|default_prompt_name|similarity_fn_name|model_type|truncate_dim"));
    HN_TRY(expect_word(file, root, "model_type", "SentenceTransformer"));
    HN_REQUIRE(!is_given(hn_json_get(root, "default_prompt_name")), HN_ERR_UNSUPPORTED,
               "%s: default_prompt_name: a prompt before every text is not supported", file);
    HN_REQUIRE(!is_given(hn_json_get(root, "truncate_dim")), HN_ERR_UNSUPPORTED,
               "%s: truncate_dim: shorter vectors are not supported", file);
    return HN_OK;
}

static hn_status read_files(const hn_hf_dir *dir, const hn_hparams *hp, hn_json_text **texts, hn_sentence *out)
{
    HN_TRY(read_json(dir, "modules.json", &texts[0]));
    HN_TRY(read_json(dir, "sentence_bert_config.json", &texts[1]));
    HN_TRY(read_json(dir, "config_sentence_transformers.json", &texts[2]));
    const hn_json *list = texts[0] ? hn_json_root(texts[0]) : NULL;
    HN_REQUIRE(!list || list->kind == HN_JSON_ARRAY, HN_ERR_FORMAT, "modules.json: expected an array");
    size_t place = 0;
    for (const hn_json *m = hn_json_first(list); m; m = m->next)
        HN_TRY(take_module(dir, m, place++, hp, out));
    HN_REQUIRE(!list || place > 1, HN_ERR_UNSUPPORTED, "modules.json: expected a Transformer and Pooling");
    if (texts[1])
        HN_TRY(read_transformer(dir, "sentence_bert_config.json", hn_json_root(texts[1]), &out->longest));
    if (texts[2])
        HN_TRY(check_prompts(hn_json_root(texts[2])));
    if (!out->longest)
        HN_TRY(tokenizer_length(dir, &out->longest));
    return HN_OK;
}

/* Of files that say nothing sentence-transformers takes the mean, which suits encoders alone. */
static void settle(const hn_arch *arch, const hn_hparams *hp, hn_sentence *out)
{
    if (!out->n && arch->embeds_only)
        out->parts[out->n++] = HN_POOL_MEAN;
    if (out->longest <= 0 || (hp->n_ctx > 0 && out->longest > hp->n_ctx))
        out->longest = hp->n_ctx;
}

hn_status hn_sentence_of_dir(const hn_hf_dir *dir, const hn_arch *arch, const hn_hparams *hp, hn_sentence *out)
{
    hn_json_text *texts[3] = { 0 };
    *out = (hn_sentence){ 0 };
    const hn_status status = read_files(dir, hp, texts, out);
    for (int i = 0; i < 3; i++)
        hn_json_free(texts[i]);
    settle(arch, hp, out);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", dir->path);
}

/* GGUF. */

static hn_status read_parts(hn_span text, hn_sentence *out)
{
    const char *at = text.data, *end = at + text.bytes;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const size_t n = (size_t)((comma ? comma : end) - at);
        const hn_pool_kind kind = kind_of(at, n);
        HN_REQUIRE(kind, HN_ERR_UNSUPPORTED, "key hone.pooling: %.*s", n < 40 ? (int)n : 40, at);
        HN_TRY(add_part(out, kind));
        at += n + 1;
    }
    return HN_OK;
}

/* GGUF's own key, 0 of which is none. */
static hn_status read_number(const char *name, const hn_hparams *hp, hn_sentence *out)
{
    if (!hp->has[HN_HP_pooling] || !hp->pooling)
        return HN_OK;
    for (int i = 1; i < HN_N_POOL_KINDS; i++)
        if (gguf_numbers[i] == hp->pooling)
            return add_part(out, (hn_pool_kind)i);
    return hn_fail(HN_ERR_UNSUPPORTED, "%s: pooling_type %lld is not supported", name, (long long)hp->pooling);
}

hn_status hn_sentence_of_meta(const hn_meta *meta, const hn_arch *arch, const hn_hparams *hp, hn_sentence *out)
{
    hn_span parts;
    *out = (hn_sentence){ 0 };
    HN_TRY(hn_meta_string(meta, "hone.pooling", &parts));
    HN_TRY(hn_meta_bool(meta, "hone.normalize", false, &out->normalizes));
    HN_TRY(hn_meta_int(meta, "hone.longest_text", 0, &out->longest));
    HN_TRY(parts.data ? read_parts(parts, out) : read_number(meta->name, hp, out));
    HN_REQUIRE(!parts.data || out->n, HN_ERR_FORMAT, "%s: key hone.pooling is empty", meta->name);
    settle(arch, hp, out);
    return HN_OK;
}

hn_status hn_sentence_of_model(const hn_model *model, hn_sentence *out)
{
    const hn_arch *arch = hn_model_arch(model);
    const hn_hparams *hp = hn_model_hparams(model);
    if (hn_model_hf_dir(model))
        return hn_sentence_of_dir(hn_model_hf_dir(model), arch, hp, out);
    if (hn_model_gguf(model))
        return hn_sentence_of_meta(hn_gguf_meta(hn_model_gguf(model)), arch, hp, out);
    *out = (hn_sentence){ 0 };
    HN_TRY(read_number(hn_model_path(model), hp, out));
    settle(arch, hp, out);
    return HN_OK;
}

hn_status hn_sentence_write(const hn_sentence *s, const hn_arch *arch, const hn_hparams *hp, hn_meta *meta)
{
    char text[160] = "", key[64];
    const int64_t number = s->n == 1 ? gguf_numbers[s->parts[0]] : 0;
    for (int i = 0; i < s->n; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "", names[s->parts[i]]);
    }
    snprintf(key, sizeof key, "%s.pooling_type", arch->name);
    HN_TRY(number ? hn_meta_set_int(meta, key, HN_META_U32, number) : hn_meta_set_text(meta, "hone.pooling", text));
    if (s->normalizes)
        HN_TRY(hn_meta_set_bool(meta, "hone.normalize", true));
    return s->longest && s->longest != hp->n_ctx
               ? hn_meta_set_int(meta, "hone.longest_text", HN_META_U32, s->longest)
               : HN_OK;
}

/* One part of one element. */
static float pool_one(hn_pool_kind kind, const float *x, int64_t n, int64_t width)
{
    double sum = 0, weights = 0, most = -HUGE_VAL;
    for (int64_t t = 0; t < n; t++) {
        const double weight = kind == HN_POOL_WEIGHTED_MEAN ? (double)(t + 1) : 1.0, v = (double)x[t * width];
        sum += weight * v;
        weights += weight;
        most = v > most ? v : most;
    }
    switch (kind) {
    case HN_POOL_CLS: return x[0];
    case HN_POOL_LAST: return x[(n - 1) * width];
    case HN_POOL_MAX: return (float)most;
    case HN_POOL_MEAN_SQRT: return (float)(sum / sqrt(weights));
    default: return (float)(sum / weights);
    }
}

void hn_sentence_pool(const hn_sentence *s, const float *hidden, int64_t n, int64_t width, float *out)
{
    double sum = 0;
    for (int64_t i = 0; i < s->n * width; i++) {
        out[i] = pool_one(s->parts[i / width], hidden + i % width, n, width);
        sum += (double)out[i] * (double)out[i];
    }
    const double length = fmax(sqrt(sum), 1e-12);
    for (int64_t i = 0; s->normalizes && i < s->n * width; i++)
        out[i] = (float)((double)out[i] / length);
}
