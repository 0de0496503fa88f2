/* hone inspect: what a model file holds, without reading its weights. */
#include "base/str.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "cli/memory.h"
#include "cli/session_options.h"
#include "cli/template_note.h"
#include "cli/terminal.h"
#include "io/gguf.h"
#include "models/models.h"

#include <string.h>

typedef struct inspect_args {
    bool json, tensors, keys, keeps_all;
    int64_t context;
    hn_machine_args machine;
    const char *cache;
    hn_list ignore;
} inspect_args;

static const hn_option options[] = {
    HN_FLAG(inspect_args, json, "json", "for programs"),
    HN_FLAG(inspect_args, tensors, "tensors", "list every tensor"),
    HN_FLAG(inspect_args, keys, "keys", "list every key of the metadata"),
    HN_INT(inspect_args, context, "context", "N", 1, INT32_MAX,
           "also what running takes, with a context of N tokens"),
    HN_TEXT(inspect_args, cache, "cache", "TYPE", HN_CACHE_HELP),
    HN_FLAG(inspect_args, keeps_all, "keep-all", "as for run"),
    HN_THREADS_OPTION(inspect_args),
    HN_IGNORE_OPTION(inspect_args),
    HN_OPTION_END,
};

/* What weights are for, in the order in which they are told. */
enum { EMBEDDING, ATTENTION, FEED_FORWARD, EXPERTS, NORMS, HEAD, REST, N_USES };
static const char *const use_names[N_USES] = { "embedding", "attention", "feed-forward",
                                               "experts",   "norms",     "head", "other" };

typedef struct usage {
    const char *encoding;
    uint64_t tensors, parameters, bytes;
} usage;

enum { MAX_ENCODINGS = 64 };

typedef struct model {
    const char *path, *kind;
    const hn_arch *arch; /* NULL: not known to hone, or none stated */
    char arch_name[64];
    hn_hparams *hp; /* NULL where arch is */
    const hn_meta *meta; /* NULL of a directory */
    const hn_hf_dir *dir; /* NULL of a file */
    hn_template_note chat;
    const hn_weights *weights;
    int parts;
    uint64_t parameters, active, bytes;
    usage by_use[N_USES], by_type[MAX_ENCODINGS];
    int n_types;
    uint64_t kv_per_token; /* bytes of f16 keys and values a token, beyond any window */
    hn_memory memory; /* of a session; n_ctx 0: not asked for */
} model;

static int use_of(const char *name)
{
    static const struct {
        const char *part;
        int use;
    } parts[] = { { "_exps.", EXPERTS },     { "experts", EXPERTS },   { "ffn_gate_inp", EXPERTS },
                  { "norm", NORMS },         { "token_embd", EMBEDDING }, { "embed", EMBEDDING },
                  { "position_embd", EMBEDDING }, { "attn", ATTENTION }, { "attention", ATTENTION },
                  { "ffn", FEED_FORWARD },   { "mlp", FEED_FORWARD },  { "lm_head", HEAD } };
    if (!strncmp(name, "output.", 7))
        return HEAD;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i].part))
            return parts[i].use;
    return REST;
}

static void add_usage(usage *to, uint64_t parameters, uint64_t bytes)
{
    to->tensors++;
    to->parameters += parameters;
    to->bytes += bytes;
}

static hn_status count_weights(model *m)
{
    for (size_t i = 0; i < m->weights->n; i++) {
        const hn_weight_entry *e = &m->weights->entries[i];
        uint64_t count = 1;
        for (int d = 0; d < e->type.rank; d++)
            count *= (uint64_t)e->type.dim[d];
        const int use = use_of(e->name);
        int t = 0;
        while (t < m->n_types && strcmp(m->by_type[t].encoding, e->encoding) != 0)
            t++;
        HN_REQUIRE(t < MAX_ENCODINGS, HN_ERR_FORMAT, "%s: more than %d types", m->path,
                   MAX_ENCODINGS);
        if (t == m->n_types)
            m->by_type[m->n_types++].encoding = e->encoding;
        add_usage(&m->by_type[t], count, e->bytes);
        add_usage(&m->by_use[use], count, e->bytes);
        m->parameters += count;
        m->bytes += e->bytes;
        const bool is_routed = use == EXPERTS && !strstr(e->name, "ffn_gate_inp") &&
                               !strstr(e->name, "gate.weight") && m->hp && m->hp->n_expert > 0;
        m->active += is_routed ? count / (uint64_t)m->hp->n_expert * (uint64_t)m->hp->n_used
                               : count;
    }
    return HN_OK;
}

static void measure_kv(model *m)
{
    const int64_t own = m->hp->n_layer - m->hp->n_shared_kv;
    for (int i = 0; i < own; i++)
        m->kv_per_token += 2 * (uint64_t)m->hp->n_kv_head[i] *
                           (uint64_t)(hn_layer_head_dim(m->hp, i) + hn_layer_value_dim(m->hp, i));
}

static void print_bytes(FILE *out, uint64_t bytes)
{
    const char *units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes;
    int i = 0;
    while (value >= 1024 && i < 4) {
        value /= 1024;
        i++;
    }
    fprintf(out, i ? "%.2f %s" : "%.0f %s", value, units[i]);
}

static void print_count(FILE *out, uint64_t n)
{
    if (n >= 1000000000)
        fprintf(out, "%.2f B", (double)n / 1e9);
    else if (n >= 1000000)
        fprintf(out, "%.2f M", (double)n / 1e6);
    else
        fprintf(out, "%llu", (unsigned long long)n);
}

static void print_usages(FILE *out, const char *title, const usage *u, int n,
                         const char *const *names)
{
    fprintf(out, "%-13s %8s %15s %12s %8s\n", title, "tensors", "parameters", "bytes", "bits");
    for (int i = 0; i < n; i++) {
        if (!u[i].tensors)
            continue;
        fprintf(out, "  %-11s %8llu %15llu ", names ? names[i] : u[i].encoding,
                (unsigned long long)u[i].tensors, (unsigned long long)u[i].parameters);
        fprintf(out, "%12llu %8.3f\n", (unsigned long long)u[i].bytes,
                8 * (double)u[i].bytes / (double)u[i].parameters);
    }
}

static void print_shape(FILE *out, const hn_hparams *hp)
{
    fprintf(out, "shape         %lld layers, width %lld, %lld heads over %lld key heads of %lld, "
                 "feed-forward %lld\n",
            (long long)hp->n_layer, (long long)hp->width, (long long)hp->n_head[0],
            (long long)hp->n_kv_head[0], (long long)hp->head_dim, (long long)hp->ffn[0]);
    if (hp->n_expert)
        fprintf(out, "experts       %lld, of which %lld serve a token, feed-forward %lld\n",
                (long long)hp->n_expert, (long long)hp->n_used, (long long)hp->expert_ffn);
    fprintf(out, "context       %lld tokens", (long long)hp->n_ctx);
    if (hp->window)
        fprintf(out, ", window %lld", (long long)hp->window);
    fprintf(out, "\nvocabulary    %lld%s\n", (long long)hp->n_vocab,
            hp->is_tied ? ", the head is the embedding" : "");
}

static void print_span(FILE *out, const char *label, const hn_meta *meta, const char *key)
{
    hn_span text;
    if (hn_meta_string(meta, key, &text) != HN_OK || !text.data)
        return;
    fprintf(out, "%-13s ", label);
    hn_terminal_show(out, text.data, text.bytes);
    fputc('\n', out);
}

/* "Qwen2Tokenizer"; NULL if a directory does not say. */
static const char *tokenizer_class(const hn_hf_dir *dir)
{
    const hn_json *class =
        dir->tokenizer_config
            ? hn_json_get(hn_json_root(dir->tokenizer_config), "tokenizer_class")
            : NULL;
    return class && class->kind == HN_JSON_STRING ? class->as.string.text : NULL;
}

static void print_memory(const hn_memory *memory, FILE *out)
{
    const struct {
        const char *what;
        uint64_t bytes;
    } parts[] = { { " = weights ", memory->file }, { " + cache ", memory->cache },
                  { " + workspace ", memory->workspace }, { " + other ", memory->other } };
    fputs("running       ", out);
    print_bytes(out, hn_memory_total(memory));
    for (int i = 0; i < 4; i++) {
        fputs(parts[i].what, out);
        print_bytes(out, parts[i].bytes);
    }
    fprintf(out, ", for %lld tokens\n", (long long)memory->n_ctx);
}

static void print_text(const model *m, FILE *out)
{
    fprintf(out, "%-13s %s", "file", m->path);
    if (m->parts > 1)
        fprintf(out, " and its %d parts", m->parts);
    fprintf(out, "\n%-13s %s\n%-13s ", "format", m->kind, "architecture");
    hn_terminal_show(out, m->arch_name, strlen(m->arch_name));
    fputs(m->arch ? "\n" : " (not supported)\n", out);
    if (m->meta)
        print_span(out, "name", m->meta, "general.name");
    if (m->hp)
        print_shape(out, m->hp);
    fprintf(out, "%-13s ", "parameters");
    print_count(out, m->parameters);
    if (m->active != m->parameters) {
        fputs(", of which a token uses ", out);
        print_count(out, m->active);
    }
    fprintf(out, "\n%-13s ", "weights");
    print_bytes(out, m->bytes);
    if (m->kv_per_token) {
        fputs("\ncache         ", out);
        print_bytes(out, m->kv_per_token);
        fputs(" a token in f16", out);
    }
    fputs("\n", out);
    if (m->memory.n_ctx)
        print_memory(&m->memory, out);
    if (m->meta) {
        print_span(out, "tokenizer", m->meta, "tokenizer.ggml.model");
        print_span(out, "splitter", m->meta, "tokenizer.ggml.pre");
    } else {
        const char *class = tokenizer_class(m->dir);
        fprintf(out, "%-13s ", "tokenizer");
        hn_terminal_show(out, class ? class : "of no class", strlen(class ? class : "of no class"));
        fputc('\n', out);
    }
    hn_template_note_print(&m->chat, out);
    fputs("\n", out);
    print_usages(out, "use", m->by_use, N_USES, use_names);
    fputs("\n", out);
    print_usages(out, "type", m->by_type, m->n_types, NULL);
}

static void print_tensors(const model *m, FILE *out)
{
    fputs("\n", out);
    for (size_t i = 0; i < m->weights->n; i++) {
        const hn_weight_entry *e = &m->weights->entries[i];
        const size_t length = strlen(e->name);
        hn_terminal_show(out, e->name, length);
        fprintf(out, "%*s %-8s [", length < 48 ? 48 - (int)length : 0, "", e->encoding);
        for (int d = 0; d < e->type.rank; d++)
            fprintf(out, "%s%lld", d ? "," : "", (long long)e->type.dim[d]);
        fprintf(out, "] %llu\n", (unsigned long long)e->bytes);
    }
}

static void print_value(const hn_meta_value *v, FILE *out)
{
    enum { SHOWN = 8, WIDTH = 60 };
    size_t cursor = 0;
    for (uint64_t i = 0; i < v->n && i < SHOWN; i++) {
        fputs(i ? ", " : "", out);
        if (v->type == HN_META_STRING) {
            const hn_span s = hn_meta_next_string(v, &cursor);
            fputc('"', out);
            for (size_t k = 0; k < s.bytes && k < WIDTH; k++) {
                const unsigned char c = ((const unsigned char *)s.data)[k];
                if (c < 32 || c == 127)
                    fprintf(out, "\\x%02x", c);
                else
                    fputc(c, out);
            }
            fputs(s.bytes > WIDTH ? "...\"" : "\"", out);
        } else if (v->type == HN_META_F32 || v->type == HN_META_F64) {
            fprintf(out, "%.9g", hn_meta_item_double(v, i));
        } else if (v->type == HN_META_BOOL) {
            fputs(v->data[i] ? "true" : "false", out);
        } else {
            fprintf(out, "%lld", (long long)hn_meta_item_int(v, i));
        }
    }
    if (v->n > SHOWN)
        fputs(", ...", out);
}

static void print_keys(const hn_meta *meta, FILE *out)
{
    fputs("\n", out);
    for (size_t i = 0; i < meta->n; i++) {
        const hn_meta_value *v = &meta->values[i];
        const size_t length = strlen(v->key);
        hn_terminal_show(out, v->key, length);
        fprintf(out, "%*s %s", length < 44 ? 44 - (int)length : 0, "", hn_meta_type_name(v->type));
        if (v->is_array)
            fprintf(out, "[%llu]", (unsigned long long)v->n);
        fputs(" ", out);
        print_value(v, out);
        fputs("\n", out);
    }
}

static void json_usages(hn_json_writer *json, const char *key, const usage *u, int n,
                        const char *const *names)
{
    hn_json_key(json, key);
    hn_json_begin_object(json);
    for (int i = 0; i < n; i++) {
        if (!u[i].tensors)
            continue;
        hn_json_key(json, names ? names[i] : u[i].encoding);
        hn_json_begin_object(json);
        hn_json_key(json, "tensors");
        hn_json_add_int(json, (int64_t)u[i].tensors);
        hn_json_key(json, "parameters");
        hn_json_add_int(json, (int64_t)u[i].parameters);
        hn_json_key(json, "bytes");
        hn_json_add_int(json, (int64_t)u[i].bytes);
        hn_json_end_object(json);
    }
    hn_json_end_object(json);
}

static void json_int(hn_json_writer *json, const char *key, int64_t value)
{
    hn_json_key(json, key);
    hn_json_add_int(json, value);
}

static void json_text(hn_json_writer *json, const char *name, const hn_meta *meta,
                      const char *key)
{
    char *text = NULL;
    hn_json_key(json, name);
    if (meta && hn_meta_text(meta, key, &text) == HN_OK && text)
        hn_json_add_string(json, text);
    else
        hn_json_add_null(json);
    if (text)
        hn_free(meta->heap, text);
}

static void json_texts(hn_json_writer *json, const model *m)
{
    if (m->meta) {
        json_text(json, "tokenizer", m->meta, "tokenizer.ggml.model");
    } else {
        const char *class = tokenizer_class(m->dir);
        hn_json_key(json, "tokenizer");
        class ? hn_json_add_string(json, class) : hn_json_add_null(json);
    }
    json_text(json, "splitter", m->meta, "tokenizer.ggml.pre");
    hn_template_note_json(&m->chat, json);
}

static void json_shape(hn_json_writer *json, const hn_hparams *hp)
{
    hn_json_key(json, "shape");
    hn_json_begin_object(json);
    json_int(json, "layers", hp->n_layer);
    json_int(json, "width", hp->width);
    json_int(json, "heads", hp->n_head[0]);
    json_int(json, "kv_heads", hp->n_kv_head[0]);
    json_int(json, "head_dim", hp->head_dim);
    json_int(json, "ffn", hp->ffn[0]);
    json_int(json, "experts", hp->n_expert);
    json_int(json, "experts_used", hp->n_used);
    json_int(json, "context", hp->n_ctx);
    json_int(json, "vocabulary", hp->n_vocab);
    hn_json_key(json, "tied");
    hn_json_add_bool(json, hp->is_tied);
    hn_json_end_object(json);
}

static void json_memory(hn_json_writer *json, const hn_memory *memory)
{
    hn_json_key(json, "running");
    hn_json_begin_object(json);
    json_int(json, "context", memory->n_ctx);
    json_int(json, "weights", (int64_t)memory->file);
    json_int(json, "cache", (int64_t)memory->cache);
    json_int(json, "workspace", (int64_t)memory->workspace);
    json_int(json, "other", (int64_t)memory->other);
    json_int(json, "total", (int64_t)hn_memory_total(memory));
    hn_json_end_object(json);
}

static void json_tensors(hn_json_writer *json, const hn_weights *weights)
{
    hn_json_key(json, "tensors");
    hn_json_begin_array(json);
    for (size_t i = 0; i < weights->n; i++) {
        const hn_weight_entry *e = &weights->entries[i];
        hn_json_begin_object(json);
        hn_json_key(json, "name");
        hn_json_add_string(json, e->name);
        hn_json_key(json, "type");
        hn_json_add_string(json, e->encoding);
        hn_json_key(json, "shape");
        hn_json_begin_array(json);
        for (int d = 0; d < e->type.rank; d++)
            hn_json_add_int(json, e->type.dim[d]);
        hn_json_end_array(json);
        json_int(json, "bytes", (int64_t)e->bytes);
        hn_json_end_object(json);
    }
    hn_json_end_array(json);
}

static hn_status print_json(const model *m, bool tensors, hn_heap *heap, FILE *out)
{
    hn_str text = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    hn_json_key(&json, "file");
    hn_json_add_string(&json, m->path);
    hn_json_key(&json, "format");
    hn_json_add_string(&json, m->kind);
    hn_json_key(&json, "architecture");
    hn_json_add_string(&json, m->arch_name);
    hn_json_key(&json, "supported");
    hn_json_add_bool(&json, m->arch != NULL);
    json_text(&json, "name", m->meta, "general.name");
    json_int(&json, "parts", m->parts);
    json_int(&json, "parameters", (int64_t)m->parameters);
    json_int(&json, "active_parameters", (int64_t)m->active);
    json_int(&json, "weight_bytes", (int64_t)m->bytes);
    json_int(&json, "kv_bytes_per_token", (int64_t)m->kv_per_token);
    if (m->memory.n_ctx)
        json_memory(&json, &m->memory);
    if (m->hp)
        json_shape(&json, m->hp);
    json_texts(&json, m);
    json_usages(&json, "by_use", m->by_use, N_USES, use_names);
    json_usages(&json, "by_type", m->by_type, m->n_types, NULL);
    if (tensors)
        json_tensors(&json, m->weights);
    hn_json_end_object(&json);
    const hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        fprintf(out, "%s\n", text.text);
    hn_str_free(&text);
    return status;
}

static hn_status print(model *m, const inspect_args *args, hn_heap *heap, FILE *out)
{
    HN_TRY(count_weights(m));
    if (m->hp)
        measure_kv(m);
    HN_TRY(hn_template_note_read(heap, m->meta, m->dir, &m->chat));
    if (args->json) {
        const hn_status status = print_json(m, args->tensors, heap, out);
        hn_template_note_free(&m->chat);
        return status;
    }
    print_text(m, out);
    hn_template_note_free(&m->chat);
    if (args->keys && m->meta)
        print_keys(m->meta, out);
    if (args->tensors)
        print_tensors(m, out);
    return HN_OK;
}

/* A vocabulary alone, or an adapter. */
static bool has_no_shape(const model *m)
{
    hn_span type;
    return !m->weights->n || (hn_meta_string(m->meta, "general.type", &type) == HN_OK &&
                              type.bytes == 7 && !memcmp(type.data, "adapter", 7));
}

/* Of what hone cannot run no key is read, and none passed over. */
static hn_status check_ignored(const model *m, const hn_ignored *ignored)
{
    HN_REQUIRE(m->hp || !ignored->n, HN_ERR_ARGUMENT,
               "--ignore %s: %s is no model whose keys are read", ignored->at[0], m->path);
    return HN_OK;
}

static hn_status inspect_gguf(model *m, const inspect_args *args, hn_heap *heap, FILE *out)
{
    hn_gguf *file;
    hn_span name;
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    HN_TRY(hn_gguf_open(heap, m->path, &file));
    m->meta = hn_gguf_meta(file);
    m->weights = hn_gguf_weights(file);
    m->parts = hn_gguf_parts(file);
    m->kind = hn_gguf_version(file) == 2 ? "GGUF 2" : "GGUF 3";
    hn_status status = hn_meta_string(m->meta, "general.architecture", &name);
    if (status == HN_OK && name.data)
        memcpy(m->arch_name, name.data,
               name.bytes < sizeof m->arch_name ? name.bytes : sizeof m->arch_name - 1);
    /* What hone cannot run can still be looked at. */
    if (status == HN_OK && hn_arch_named(m->arch_name, &m->arch) == HN_OK) {
        m->hp = hn_alloc(heap, HN_TAG_FILE, sizeof *m->hp);
        status = m->hp ? hn_arch_read_meta(m->arch, m->meta, m->weights, &ignored, m->hp) : HN_ERR_MEMORY;
        if (status == HN_ERR_FORMAT && has_no_shape(m)) {
            hn_free(heap, m->hp);
            m->hp = NULL;
            status = HN_OK;
        }
    }
    if (status == HN_OK)
        status = check_ignored(m, &ignored);
    if (status == HN_OK)
        status = print(m, args, heap, out);
    hn_gguf_close(file);
    return status;
}

static hn_status inspect_dir(model *m, const inspect_args *args, hn_heap *heap, FILE *out)
{
    hn_hf_dir *dir;
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    HN_TRY(hn_hf_dir_open(heap, m->path, HN_HF_WEIGHTS, &dir));
    const hn_json *config = hn_json_root(dir->config);
    m->kind = "safetensors";
    m->dir = dir;
    m->weights = &dir->weights;
    m->parts = dir->n_parts;
    const hn_json *class = hn_json_at(hn_json_get(config, "architectures"), 0);
    const char *text = "";
    hn_status status = HN_OK;
    if (class)
        status = hn_json_want_string(class, "architectures", &text);
    snprintf(m->arch_name, sizeof m->arch_name, "%s", text);
    if (status == HN_OK && hn_arch_of_config(config, &m->arch) == HN_OK) {
        m->hp = hn_alloc(heap, HN_TAG_FILE, sizeof *m->hp);
        status = m->hp ? hn_arch_read_config(m->arch, config, &ignored, m->hp) : HN_ERR_MEMORY;
        snprintf(m->arch_name, sizeof m->arch_name, "%s", m->arch->name);
    }
    if (status == HN_OK)
        status = check_ignored(m, &ignored);
    if (status == HN_OK)
        status = print(m, args, heap, out);
    hn_hf_dir_close(dir);
    return status;
}

static hn_status foretell(const inspect_args *args, const char *path, hn_memory *out)
{
    hn_session_options o = { .n_ctx = args->context, .keeps_all = args->keeps_all };
    if (!args->context)
        return HN_OK;
    HN_TRY(hn_session_cache_parse(args->cache, &o.cache));
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    return hn_memory_foretell(path, &ignored, &o, &args->machine, out);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const inspect_args *args = parsed;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    model *m = hn_alloc(&heap, HN_TAG_FILE, sizeof *m);
    if (!m)
        return HN_ERR_MEMORY;
    m->path = operands[0];
    hn_status status = foretell(args, operands[0], &m->memory);
    if (status == HN_OK)
        status = hn_is_dir(operands[0]) ? inspect_dir(m, args, &heap, out)
                                        : inspect_gguf(m, args, &heap, out);
    hn_free(&heap, m->hp);
    hn_free(&heap, m);
    return status;
}

const hn_command hn_cmd_inspect = {
    .name = "inspect",
    .operands = "MODEL",
    .summary = "what a model file or directory holds",
    .example = "inspect m.gguf",
    .options = options,
    .args_size = sizeof(inspect_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
