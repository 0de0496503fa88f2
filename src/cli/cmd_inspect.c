/* hone inspect: what a model file holds, without reading its weights. */
#include "base/json.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "cli/memory.h"
#include "cli/session_options.h"
#include "cli/template_note.h"
#include "cli/terminal.h"
#include "hone/files.h"

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
    HN_CACHE_OPTION(inspect_args, cache),
    HN_FLAG(inspect_args, keeps_all, "keep-all", "as for run"),
    HN_THREADS_OPTION(inspect_args),
    HN_IGNORE_OPTION(inspect_args),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    { "cache|keep-all", HN_ONLY_WITH, "context", NULL },
    { NULL, 0, NULL, NULL },
};

enum { N_USES = HN_LM_USE_OTHER + 1, MAX_ENCODINGS = 64 };

typedef struct usage {
    const char *name; /* of the type, or the use */
    uint64_t tensors, parameters, bytes;
} usage;

typedef struct model {
    hn_lm_file *file;
    const hn_lm_about *about;
    usage by_use[N_USES], by_type[MAX_ENCODINGS];
    int n_types;
    hn_lm_sizes memory; /* of a session; context 0: not asked for */
} model;

static void add_usage(usage *to, const hn_lm_tensor *t)
{
    to->tensors++;
    to->parameters += t->parameters;
    to->bytes += t->bytes;
}

static hn_status count_weights(model *m)
{
    for (int i = 0; i < N_USES; i++)
        m->by_use[i].name = hn_lm_use_name((hn_lm_use)i);
    for (size_t i = 0; i < m->about->n_tensors; i++) {
        hn_lm_tensor t;
        int k = 0;
        HN_TRY(hn_lm_file_tensor(m->file, i, &t, sizeof t));
        while (k < m->n_types && strcmp(m->by_type[k].name, t.type) != 0)
            k++;
        HN_REQUIRE(k < MAX_ENCODINGS, HN_ERR_FORMAT, "%s: more than %d types", m->about->path,
                   MAX_ENCODINGS);
        if (k == m->n_types)
            m->by_type[m->n_types++].name = t.type;
        add_usage(&m->by_type[k], &t);
        add_usage(&m->by_use[t.use], &t);
    }
    return HN_OK;
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

static void print_usages(FILE *out, const char *title, const usage *u, int n)
{
    fprintf(out, "%-13s %8s %15s %12s %8s\n", title, "tensors", "parameters", "bytes", "bits");
    for (int i = 0; i < n; i++) {
        if (!u[i].tensors)
            continue;
        fprintf(out, "  %-11s %8llu %15llu ", u[i].name,
                (unsigned long long)u[i].tensors, (unsigned long long)u[i].parameters);
        fprintf(out, "%12llu %8.3f\n", (unsigned long long)u[i].bytes,
                8 * (double)u[i].bytes / (double)u[i].parameters);
    }
}

static void print_shape(FILE *out, const hn_lm_shape *shape)
{
    fprintf(out, "shape         %lld layers, width %lld, %lld heads over %lld key heads of %lld, "
                 "feed-forward %lld\n",
            (long long)shape->layers, (long long)shape->width, (long long)shape->heads,
            (long long)shape->kv_heads, (long long)shape->head_dim, (long long)shape->ffn);
    if (shape->experts)
        fprintf(out, "experts       %lld, of which %lld serve a token, feed-forward %lld\n",
                (long long)shape->experts, (long long)shape->experts_used, (long long)shape->expert_ffn);
    fprintf(out, "context       %lld tokens", (long long)shape->context);
    if (shape->window)
        fprintf(out, ", window %lld", (long long)shape->window);
    fprintf(out, "\nvocabulary    %lld%s\n", (long long)shape->vocabulary,
            shape->is_tied ? ", the head is the embedding" : "");
}

/* A text of the metadata; false if there is none of that name. */
static bool find_text(const model *m, const char *name, hn_lm_item *out)
{
    hn_lm_key key;
    const size_t at = hn_lm_file_find(m->file, name);
    return hn_lm_file_key(m->file, at, &key, sizeof key) == HN_OK && key.kind == HN_LM_TEXT && !key.is_array &&
           hn_lm_file_item(m->file, at, 0, out, sizeof *out) == HN_OK;
}

static void print_span(FILE *out, const char *label, const model *m, const char *key)
{
    hn_lm_item text;
    if (!find_text(m, key, &text))
        return;
    fprintf(out, "%-13s ", label);
    hn_terminal_show(out, text.text, text.bytes);
    fputc('\n', out);
}

static void print_memory(const hn_lm_sizes *memory, FILE *out)
{
    const struct {
        const char *what;
        uint64_t bytes;
    } parts[] = { { " = weights ", memory->weights }, { " + cache ", memory->cache },
                  { " + workspace ", memory->workspace }, { " + other ", memory->other } };
    fputs("running       ", out);
    print_bytes(out, hn_memory_total(memory));
    for (int i = 0; i < 4; i++) {
        fputs(parts[i].what, out);
        print_bytes(out, parts[i].bytes);
    }
    fprintf(out, ", for %lld tokens\n", (long long)memory->context);
}

static void print_text(const model *m, FILE *out)
{
    const hn_lm_about *about = m->about;
    fprintf(out, "%-13s %s", "file", about->path);
    if (about->parts > 1)
        fprintf(out, " and its %d parts", about->parts);
    fprintf(out, "\n%-13s %s\n%-13s ", "format", about->format, "architecture");
    hn_terminal_show(out, about->architecture, strlen(about->architecture));
    fputs(about->is_supported ? "\n" : " (not supported)\n", out);
    print_span(out, "name", m, "general.name");
    if (about->shape)
        print_shape(out, about->shape);
    fprintf(out, "%-13s ", "parameters");
    print_count(out, about->parameters);
    if (about->active != about->parameters) {
        fputs(", of which a token uses ", out);
        print_count(out, about->active);
    }
    fprintf(out, "\n%-13s ", "weights");
    print_bytes(out, about->bytes);
    if (about->kv_bytes) {
        fputs("\ncache         ", out);
        print_bytes(out, about->kv_bytes);
        fputs(" a token in f16", out);
    }
    fputs("\n", out);
    if (m->memory.context)
        print_memory(&m->memory, out);
    if (about->is_gguf) {
        print_span(out, "tokenizer", m, "tokenizer.ggml.model");
        print_span(out, "splitter", m, "tokenizer.ggml.pre");
    } else {
        const char *class = about->tokenizer_class ? about->tokenizer_class : "of no class";
        fprintf(out, "%-13s ", "tokenizer");
        hn_terminal_show(out, class, strlen(class));
        fputc('\n', out);
    }
    hn_template_note_print(about, out);
    fputs("\n", out);
    print_usages(out, "use", m->by_use, N_USES);
    fputs("\n", out);
    print_usages(out, "type", m->by_type, m->n_types);
}

static hn_status print_tensors(const model *m, FILE *out)
{
    fputs("\n", out);
    for (size_t i = 0; i < m->about->n_tensors; i++) {
        hn_lm_tensor t;
        HN_TRY(hn_lm_file_tensor(m->file, i, &t, sizeof t));
        const size_t length = strlen(t.name);
        hn_terminal_show(out, t.name, length);
        fprintf(out, "%*s %-8s [", length < 48 ? 48 - (int)length : 0, "", t.type);
        for (int d = 0; d < t.rank; d++)
            fprintf(out, "%s%lld", d ? "," : "", (long long)t.dim[d]);
        fprintf(out, "] %llu\n", (unsigned long long)t.bytes);
    }
    return HN_OK;
}

static void print_quoted(const hn_lm_item *text, FILE *out)
{
    enum { WIDTH = 60 };
    fputc('"', out);
    for (size_t k = 0; k < text->bytes && k < WIDTH; k++) {
        const unsigned char c = ((const unsigned char *)text->text)[k];
        if (c < 32 || c == 127)
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
    fputs(text->bytes > WIDTH ? "...\"" : "\"", out);
}

static hn_status print_value(const model *m, size_t at, const hn_lm_key *key, FILE *out)
{
    enum { SHOWN = 8 };
    for (uint64_t i = 0; i < key->n && i < SHOWN; i++) {
        hn_lm_item item;
        HN_TRY(hn_lm_file_item(m->file, at, i, &item, sizeof item));
        fputs(i ? ", " : "", out);
        if (key->kind == HN_LM_TEXT)
            print_quoted(&item, out);
        else if (key->kind == HN_LM_REAL)
            fprintf(out, "%.9g", item.real);
        else if (key->kind == HN_LM_BOOL)
            fputs(item.integer ? "true" : "false", out);
        else
            fprintf(out, "%lld", (long long)item.integer);
    }
    if (key->n > SHOWN)
        fputs(", ...", out);
    return HN_OK;
}

static hn_status print_keys(const model *m, FILE *out)
{
    fputs("\n", out);
    for (size_t i = 0; i < m->about->n_keys; i++) {
        hn_lm_key key;
        HN_TRY(hn_lm_file_key(m->file, i, &key, sizeof key));
        const size_t length = strlen(key.name);
        hn_terminal_show(out, key.name, length);
        fprintf(out, "%*s %s", length < 44 ? 44 - (int)length : 0, "", key.type);
        if (key.is_array)
            fprintf(out, "[%llu]", (unsigned long long)key.n);
        fputs(" ", out);
        HN_TRY(print_value(m, i, &key, out));
        fputs("\n", out);
    }
    return HN_OK;
}

static void json_usages(hn_json_writer *json, const char *key, const usage *u, int n)
{
    hn_json_key(json, key);
    hn_json_begin_object(json);
    for (int i = 0; i < n; i++) {
        if (!u[i].tensors)
            continue;
        hn_json_key(json, u[i].name);
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

static hn_status json_text(hn_json_writer *json, const char *name, const model *m, const char *key)
{
    hn_lm_item item;
    hn_json_key(json, name);
    if (!find_text(m, key, &item)) {
        hn_json_add_null(json);
        return HN_OK;
    }
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_str text = hn_str_on(&heap); /* which ends in NUL */
    hn_str_add_bytes(&text, item.text, item.bytes);
    const hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        hn_json_add_string(json, text.text);
    hn_str_free(&text);
    return status;
}

static hn_status json_texts(hn_json_writer *json, const model *m)
{
    if (m->about->is_gguf) {
        HN_TRY(json_text(json, "tokenizer", m, "tokenizer.ggml.model"));
    } else {
        const char *class = m->about->tokenizer_class;
        hn_json_key(json, "tokenizer");
        class ? hn_json_add_string(json, class) : hn_json_add_null(json);
    }
    HN_TRY(json_text(json, "splitter", m, "tokenizer.ggml.pre"));
    hn_template_note_json(m->about, json);
    return HN_OK;
}

static void json_shape(hn_json_writer *json, const hn_lm_shape *shape)
{
    hn_json_key(json, "shape");
    hn_json_begin_object(json);
    hn_json_put_int(json, "layers", shape->layers);
    hn_json_put_int(json, "width", shape->width);
    hn_json_put_int(json, "heads", shape->heads);
    hn_json_put_int(json, "kv_heads", shape->kv_heads);
    hn_json_put_int(json, "head_dim", shape->head_dim);
    hn_json_put_int(json, "ffn", shape->ffn);
    hn_json_put_int(json, "experts", shape->experts);
    hn_json_put_int(json, "experts_used", shape->experts_used);
    hn_json_put_int(json, "context", shape->context);
    hn_json_put_int(json, "vocabulary", shape->vocabulary);
    hn_json_key(json, "tied");
    hn_json_add_bool(json, shape->is_tied != 0);
    hn_json_end_object(json);
}

static void json_memory(hn_json_writer *json, const hn_lm_sizes *memory)
{
    hn_json_key(json, "running");
    hn_json_begin_object(json);
    hn_json_put_int(json, "context", memory->context);
    hn_json_put_int(json, "weights", (int64_t)memory->weights);
    hn_json_put_int(json, "cache", (int64_t)memory->cache);
    hn_json_put_int(json, "workspace", (int64_t)memory->workspace);
    hn_json_put_int(json, "other", (int64_t)memory->other);
    hn_json_put_int(json, "total", (int64_t)hn_memory_total(memory));
    hn_json_end_object(json);
}

static hn_status json_tensors(hn_json_writer *json, const model *m)
{
    hn_json_key(json, "tensors");
    hn_json_begin_array(json);
    for (size_t i = 0; i < m->about->n_tensors; i++) {
        hn_lm_tensor t;
        HN_TRY(hn_lm_file_tensor(m->file, i, &t, sizeof t));
        hn_json_begin_object(json);
        hn_json_key(json, "name");
        hn_json_add_string(json, t.name);
        hn_json_key(json, "type");
        hn_json_add_string(json, t.type);
        hn_json_key(json, "shape");
        hn_json_begin_array(json);
        for (int d = 0; d < t.rank; d++)
            hn_json_add_int(json, t.dim[d]);
        hn_json_end_array(json);
        hn_json_put_int(json, "bytes", (int64_t)t.bytes);
        hn_json_end_object(json);
    }
    hn_json_end_array(json);
    return HN_OK;
}

static hn_status json_item(hn_json_writer *json, const model *m, size_t at, const hn_lm_key *key, uint64_t i, hn_str *room)
{
    hn_lm_item item;
    HN_TRY(hn_lm_file_item(m->file, at, i, &item, sizeof item));
    if (key->kind == HN_LM_INT)
        hn_json_add_int(json, item.integer);
    else if (key->kind == HN_LM_REAL)
        hn_json_add_double(json, item.real);
    else if (key->kind == HN_LM_BOOL)
        hn_json_add_bool(json, item.integer != 0);
    else {
        hn_str_clear(room); /* which ends in NUL */
        hn_str_add_bytes(room, item.text, item.bytes);
        HN_TRY(hn_str_status(room));
        hn_json_add_string(json, room->text ? room->text : "");
    }
    return HN_OK;
}

/* All of a value, which people see the beginning of. */
static hn_status json_value(hn_json_writer *json, const model *m, size_t at, const hn_lm_key *key, hn_str *room)
{
    if (key->is_array)
        hn_json_begin_array(json);
    for (uint64_t i = 0; i < key->n; i++)
        HN_TRY(json_item(json, m, at, key, i, room));
    if (key->is_array)
        hn_json_end_array(json);
    return HN_OK;
}

static hn_status json_keys(hn_json_writer *json, const model *m, hn_str *room)
{
    hn_json_key(json, "keys");
    hn_json_begin_array(json);
    for (size_t i = 0; i < m->about->n_keys; i++) {
        hn_lm_key key;
        HN_TRY(hn_lm_file_key(m->file, i, &key, sizeof key));
        hn_json_begin_object(json);
        hn_json_put_text(json, "name", key.name);
        hn_json_put_text(json, "type", key.type);
        hn_json_key(json, "value");
        HN_TRY(json_value(json, m, i, &key, room));
        hn_json_end_object(json);
    }
    hn_json_end_array(json);
    return HN_OK;
}

/* `room`: for texts of keys. */
static hn_status write_json(const model *m, const inspect_args *args, hn_json_writer *json, hn_str *room)
{
    const hn_lm_about *about = m->about;
    hn_json_begin_object(json);
    hn_json_key(json, "file");
    hn_json_add_string(json, about->path);
    hn_json_key(json, "format");
    hn_json_add_string(json, about->format);
    hn_json_key(json, "architecture");
    hn_json_add_string(json, about->architecture);
    hn_json_key(json, "supported");
    hn_json_add_bool(json, about->is_supported != 0);
    HN_TRY(json_text(json, "name", m, "general.name"));
    hn_json_put_int(json, "parts", about->parts);
    hn_json_put_int(json, "parameters", (int64_t)about->parameters);
    hn_json_put_int(json, "active_parameters", (int64_t)about->active);
    hn_json_put_int(json, "weight_bytes", (int64_t)about->bytes);
    hn_json_put_int(json, "kv_bytes_per_token", (int64_t)about->kv_bytes);
    if (m->memory.context)
        json_memory(json, &m->memory);
    if (about->shape)
        json_shape(json, about->shape);
    HN_TRY(json_texts(json, m));
    json_usages(json, "by_use", m->by_use, N_USES);
    json_usages(json, "by_type", m->by_type, m->n_types);
    if (args->keys)
        HN_TRY(json_keys(json, m, room));
    if (args->tensors)
        HN_TRY(json_tensors(json, m));
    hn_json_end_object(json);
    return HN_OK;
}

static hn_status print_json(const model *m, const inspect_args *args, FILE *out)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_str text = hn_str_on(&heap), room = hn_str_on(&heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_status status = write_json(m, args, &json, &room);
    hn_str_free(&room);
    if (status == HN_OK)
        status = hn_str_status(&text);
    if (status == HN_OK)
        fprintf(out, "%s\n", text.text);
    hn_str_free(&text);
    return status;
}

static hn_status print(model *m, const inspect_args *args, FILE *out)
{
    m->about = hn_lm_file_about(m->file);
    HN_REQUIRE(!args->keys || m->about->is_gguf, HN_ERR_ARGUMENT, "--keys: expected a GGUF file, whose metadata they are, found %s",
               m->about->path);
    HN_TRY(count_weights(m));
    if (args->json)
        return print_json(m, args, out);
    print_text(m, out);
    if (args->keys)
        HN_TRY(print_keys(m, out));
    return args->tensors ? print_tensors(m, out) : HN_OK;
}

static hn_status foretell(const inspect_args *args, const char *path, hn_lm_sizes *out)
{
    const hn_lm_session_options o = { .size = sizeof o, .context = args->context, .cache = args->cache,
                                      .keeps_all = args->keeps_all };
    return args->context ? hn_memory_foretell(path, &args->ignore, &o, &args->machine, out) : HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const inspect_args *args = parsed;
    hn_engine *engine;
    model m = { .n_types = 0 };
    HN_TRY(foretell(args, operands[0], &m.memory));
    HN_TRY(hn_machine_engine(&args->machine, &engine));
    hn_status status = hn_lm_file_open(&m.file, engine, operands[0], args->ignore.at, args->ignore.n);
    if (status == HN_OK)
        status = print(&m, args, out);
    hn_lm_file_close(m.file);
    hn_machine_engine_free(engine);
    return status;
}

const hn_command hn_cmd_inspect = {
    .name = "inspect",
    .operands = "MODEL",
    .summary = "what a model file or directory holds",
    .example = "inspect m.gguf",
    .options = options,
    .rules = rules,
    .args_size = sizeof(inspect_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
