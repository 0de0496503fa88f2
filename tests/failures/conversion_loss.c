/* CONVERSION-LOSS: a directory and its GGUF are two models.
 *
 * Of every architecture, every key that its table knows gets every kind of value, alone and three at
 * a time. What the directory opens with is converted, and both forms compared: all logits by their
 * bits, and the tokens that each generates, the likeliest and drawn ones, to its end. Convert may
 * refuse only what stands in `refused`. Then the ends of generation, and what surrounds a text.
 * --quick: every fourth of the values, from the seed on. */
#include "base/rng.h"
#include "convert/convert.h"
#include "infer/forward.h"
#include "infer/sampler.h"
#include "infer/session.h"
#include "models/open_tokenizer.h"

#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "tests/harness/model_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 24, MORE = 8, MAX_TOKENS = PROMPT + MORE, MAX_PUTS = 1024, COMBINATIONS = 40 };

static hn_heap heap;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;
static hn_pool *pool;

typedef struct tally {
    int opened, refused, computed, generated;
} tally;

/* What a form of a model says: of a directory, or of the file made of it. */
typedef struct answer {
    float *logits;
    size_t bytes;
    int32_t said[2][MAX_TOKENS]; /* the likeliest, and drawn */
    int64_t n_said[2];
    bool generates;
} answer;

static hn_status say(const hn_model *model, const hn_tokenizer *tok, const int32_t *prompt, float temperature,
                     int32_t *tokens, int64_t *n)
{
    hn_session *session;
    hn_sampler *sampler = NULL;
    const hn_session_options o = { .n_ctx = MAX_TOKENS, .max_batch = PROMPT };
    const hn_sampler_options how = { .temperature = temperature, .top_k = 40, .seed = 7 };
    memcpy(tokens, prompt, PROMPT * sizeof *tokens);
    *n = PROMPT;
    HN_TRY(hn_session_new(&session, &heap, model, on_all_devices(n_devices, devices), &o));
    hn_status status = hn_sampler_new(&sampler, &heap, (int32_t)hn_model_hparams(model)->n_vocab, &how);
    while (status == HN_OK && *n < MAX_TOKENS) {
        status = hn_session_sync(session, tokens, *n, NULL);
        if (status == HN_OK)
            status = hn_sampler_next(sampler, (uint64_t)(*n - PROMPT), hn_session_logits(session), tokens, *n, &tokens[*n]);
        if (status != HN_OK || hn_tokenizer_ends(tok, tokens[*n]))
            break;
        ++*n;
    }
    hn_sampler_free(sampler);
    hn_session_free(session);
    return status;
}

static hn_status compute(const hn_model *model, const int32_t *tokens, answer *out)
{
    hn_forward *forward;
    hn_tensor t;
    const hn_forward_options o = { .max_tokens = PROMPT };
    HN_TRY(hn_forward_new(&forward, &heap, model, on_all_devices(n_devices, devices), &o));
    hn_status status = hn_forward_run(forward, tokens, PROMPT, NULL);
    if (status == HN_OK)
        status = hn_forward_logits(forward, &t);
    if (status == HN_OK) {
        out->bytes = hn_type_bytes(&t.type);
        out->logits = hn_alloc(&heap, HN_TAG_STATE, out->bytes);
        memcpy(out->logits, t.data, out->bytes);
    }
    hn_forward_free(forward);
    return status;
}

static hn_status ask_model(const hn_model *model, const hn_tokenizer *tok, answer *out)
{
    const hn_hparams *hp = hn_model_hparams(model);
    int32_t prompt[PROMPT];
    for (int64_t i = 0; i < PROMPT; i++)
        prompt[i] = (int32_t)(hp->n_vocab > 4 ? 3 + (i * i * 7 + i * 13) % (hp->n_vocab - 3) : i % hp->n_vocab);
    HN_TRY(compute(model, prompt, out));
    const int64_t longest = hn_hparams_longest(hp);
    out->generates = !hn_model_arch(model)->embeds_only && (!longest || longest >= MAX_TOKENS);
    if (!out->generates)
        return HN_OK;
    HN_TRY(say(model, tok, prompt, 0, out->said[0], &out->n_said[0]));
    return say(model, tok, prompt, 1.5f, out->said[1], &out->n_said[1]);
}

/* What cannot be computed, by either form, ends with a status: those must be equal then. */
static hn_status ask(const char *path, answer *out)
{
    hn_model *model;
    hn_tokenizer *tok = NULL;
    *out = (answer){ 0 };
    HN_TRY(hn_model_open(&heap, path, NULL, &model));
    hn_status status = hn_open_tokenizer(&heap, path, &tok);
    if (status == HN_OK && hn_model_arch(model)->build)
        status = ask_model(model, tok, out);
    hn_tokenizer_free(tok);
    hn_model_close(model);
    return status;
}

static hn_status convert(const model_dir *d)
{
    hn_convert_options o = { 0 };
    hn_watch watch = { 0 };
    HN_TRY(hn_recipe_named("f32", &o.recipe));
    return hn_convert(&heap, pool, d->path, hn_sink_own(d->gguf), &o, &watch);
}

static void compare(const model_dir *d, const answer *dir, hn_status of_dir, const char *what, tally *t)
{
    answer file;
    const hn_status of_file = ask(d->gguf, &file);
    CHECK_THAT(of_file == of_dir, "%s: the directory ends as %d, its GGUF as %d: %s", what, (int)of_dir,
               (int)of_file, hn_error_message());
    if (of_file == HN_OK && of_dir == HN_OK) {
        CHECK_THAT(file.bytes == dir->bytes && (!file.bytes || !memcmp(file.logits, dir->logits, file.bytes)),
                   "%s: other logits", what);
        CHECK_THAT(file.generates == dir->generates, "%s: one of them generates", what);
        for (int i = 0; i < 2 && dir->generates; i++)
            CHECK_THAT(file.n_said[i] == dir->n_said[i] &&
                           !memcmp(file.said[i], dir->said[i], (size_t)dir->n_said[i] * sizeof **dir->said),
                       "%s: other tokens %s", what, i ? "are drawn" : "are the likeliest");
        t->computed += file.bytes > 0;
        t->generated += dir->generates;
    }
    hn_free(&heap, file.logits);
}

/* What GGUF has no words for: the case, and a part of how the refusal reads. */
static const char *const refused[][2] = {
    { "\"max_position_embeddings\": 0", "context_length" }, /* a GGUF file says how long a text may be */
    { "\"max_position_embeddings\": -1", "context_length" },
    { "\"num_experts_per_tok\": null", "expert_used_count is 0" }, /* of architectures that are not run */
    { "_multiplier\": 0", "a multiplier of 0 is none in GGUF" },
};

static bool may_refuse(const char *what)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strstr(what, refused[i][0]) && strstr(hn_error_message(), refused[i][1]))
            return true;
    return false;
}

static void check_case(const model_dir *d, const char *json, tally *t)
{
    hn_json_text *put;
    answer dir;
    if (!CHECK_OK(hn_json_read(&heap, "put", json, strlen(json), &put)))
        return;
    model_dir_write(d, hn_json_root(put), NULL);
    hn_json_free(put);
    const hn_status status = ask(d->path, &dir);
    if (status == HN_OK || status == HN_ERR_NUMERIC) {
        t->opened++;
        const hn_status made = convert(d);
        t->refused += made != HN_OK;
        if (made == HN_OK)
            compare(d, &dir, status, json, t);
        else
            CHECK_THAT(may_refuse(json), "%s: the directory runs, and convert ends as %d: %s", json, (int)made,
                       hn_error_message());
    }
    hn_free(&heap, dir.logits);
}

/* Values of every kind; lists and objects by their key. */
static const char *const numbers[] = { "0",   "1",    "2",   "3",     "4",   "6",     "8",      "16",
                                       "-1",  "64",   "0.5", "0.125", "2.5", "0.001", "10000.1", "1e-7",
                                       "1.0", "50.0", "-3.5" };
static const char *const flags[] = { "true", "false" };
static const char *const words[] = { "\"gelu\"", "\"relu\"", "\"silu\"", "\"gelu_pytorch_tanh\"", "\"quick_gelu\"",
                                     "\"tanh\"" };
static const char *const ropes[] = {
    "{\"rope_type\": \"default\", \"rope_theta\": 777.7}",
    "{\"rope_type\": \"linear\", \"factor\": 3.3, \"rope_theta\": 5000.0}",
    "{\"rope_type\": \"dynamic\", \"factor\": 2.0, \"rope_theta\": 5000.0}",
    "{\"rope_type\": \"yarn\", \"factor\": 7.7, \"rope_theta\": 5000.0, \"original_max_position_embeddings\": 16}",
    "{\"rope_type\": \"yarn\", \"factor\": 4.0, \"rope_theta\": 5000.0, \"original_max_position_embeddings\": 8, "
    "\"beta_fast\": 9.5, \"beta_slow\": 2.5, \"attention_factor\": 0.7, \"truncate\": false}",
    "{\"rope_type\": \"yarn\", \"factor\": 4.0, \"rope_theta\": 5000.0, \"original_max_position_embeddings\": 8, "
    "\"mscale\": 0.7, \"mscale_all_dim\": 1.3}",
    "{\"rope_type\": \"llama3\", \"factor\": 6.1, \"rope_theta\": 5000.0, \"original_max_position_embeddings\": 24, "
    "\"low_freq_factor\": 1.1, \"high_freq_factor\": 3.9}",
    "{\"rope_type\": \"proportional\", \"factor\": 1.7, \"partial_rotary_factor\": 0.5, \"rope_theta\": 5000.0}",
    "{\"rope_type\": \"default\", \"partial_rotary_factor\": 0.5, \"rope_theta\": 5000.0}",
    "{\"rope_type\": \"longrope\", \"rope_theta\": 5000.0, \"original_max_position_embeddings\": 64, "
    "\"short_factor\": [1.1, 1.5, 2.2, 2.5], \"long_factor\": [2, 3, 4, 5]}",
    "{\"rope_type\": \"longrope\", \"rope_theta\": 5000.0, \"original_max_position_embeddings\": 40, "
    "\"attention_factor\": 1.3, \"short_factor\": [1.1, 1.5, 2.2, 2.5, 3, 3.5, 4, 4.5], "
    "\"long_factor\": [2, 3, 4, 5, 6, 7, 8, 9]}",
};

typedef struct puts {
    char *at[MAX_PUTS]; /* "key": value */
    int n;
} puts_list;

static void add_put(puts_list *all, const char *key, const char *value)
{
    hn_str text = hn_str_on(&heap);
    hn_str_print(&text, "\"%s\": %s", key, value);
    if (CHECK_THAT(all->n < MAX_PUTS, "more than %d values", MAX_PUTS))
        all->at[all->n++] = hn_strdup(&heap, HN_TAG_TEXT, text.text);
    hn_str_free(&text);
}

/* Full and sliding layers, mixed in three ways. */
static void add_layer_types(puts_list *all, const char *key, int64_t n_layer)
{
    static const char kinds[][4] = { "FS", "SF", "SSF" };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        hn_str list = hn_str_on(&heap);
        for (int64_t i = 0; i < n_layer; i++)
            hn_str_print(&list, "%s\"%s_attention\"", i ? ", " : "[",
                         kinds[k][(size_t)i % strlen(kinds[k])] == 'F' ? "full" : "sliding");
        hn_str_add(&list, "]");
        add_put(all, key, list.text);
        hn_str_free(&list);
    }
}

static void add_ints(puts_list *all, const char *key, int64_t n)
{
    for (int first = 0; first < 2; first++) {
        hn_str list = hn_str_on(&heap);
        for (int64_t i = 0; i < n; i++)
            hn_str_print(&list, "%s%d", i ? ", " : "[", (int)((i + first) % 2));
        hn_str_add(&list, "]");
        add_put(all, key, list.text);
        hn_str_free(&list);
    }
}

static void add_ropes(puts_list *all, const char *key, bool is_layered)
{
    for (size_t i = 0; i < sizeof ropes / sizeof *ropes; i++) {
        add_put(all, key, ropes[i]);
        if (!is_layered)
            continue;
        hn_str both = hn_str_on(&heap);
        hn_str_print(&both, "{\"full_attention\": %s, \"sliding_attention\": {\"rope_type\": \"default\", "
                            "\"rope_theta\": 333.3}}", ropes[i]);
        add_put(all, key, both.text);
        hn_str_free(&both);
    }
}

static void add_row(puts_list *all, const hn_key_row *row, int64_t n_layer)
{
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(row->name, "|"), row->name);
    for (size_t i = 0; row->is & HN_IS_NUM && i < sizeof numbers / sizeof *numbers; i++)
        add_put(all, key, numbers[i]);
    for (size_t i = 0; row->is & HN_IS_FLAG && i < sizeof flags / sizeof *flags; i++)
        add_put(all, key, flags[i]);
    for (size_t i = 0; row->is & HN_IS_WORD && !row->only && i < sizeof words / sizeof *words; i++)
        add_put(all, key, words[i]);
    if (row->is & HN_IS_NULL)
        add_put(all, key, "null");
    if (row->is & HN_IS_LIST && !strcmp(key, "layer_types"))
        add_layer_types(all, key, n_layer);
    else if (row->is & HN_IS_LIST)
        add_ints(all, key, n_layer);
    if (row->is & HN_IS_OBJECT && strstr(key, "rope"))
        add_ropes(all, key, row->within && hn_key_named(row->within, "", "full_attention"));
}

/* Notes change nothing, and shapes do not fit the tensors: differential/config_keys has those. */
static void list_puts(puts_list *all, const hn_arch *arch, const char *class, int64_t n_layer)
{
    HN_EACH_KEY_ROW(row, arch->tables) {
        char key[64];
        if (!row->name || (row->note && !row->only))
            continue;
        snprintf(key, sizeof key, "%.*s", (int)strcspn(row->name, "|"), row->name);
        if (strcmp(key, "architectures") && strcmp(key, "model_type") &&
            hn_key_named(arch->tables, class, key) == row)
            add_row(all, row, n_layer);
    }
}

static void check_model(const char *name, int *computed, int *generated)
{
    model_dir d;
    tally t = { 0 };
    const hn_arch *arch;
    const char *class;
    check_group(name);
    puts_list *all = hn_alloc(&heap, HN_TAG_TEXT, sizeof *all);
    if (all && model_dir_make(&d, &heap, name) && CHECK_OK(hn_arch_of_config(hn_json_root(d.base), &arch)) &&
        CHECK_OK(hn_json_want_string(hn_json_at(hn_json_get(hn_json_root(d.base), "architectures"), 0), "",
                                     &class))) {
        const hn_json *layers = hn_json_get(hn_json_root(d.base), "num_hidden_layers");
        list_puts(all, arch, class, layers ? layers->as.integer : 1);
        check_case(&d, "{}", &t);
        const int every = check_flag("--quick") ? 4 : 1;
        for (int i = (int)(check_seed() % (uint64_t)every); i < all->n; i += every) {
            char json[1024];
            snprintf(json, sizeof json, "{%s}", all->at[i]);
            check_case(&d, json, &t);
        }
        for (int i = 0; i < COMBINATIONS / every; i++) {
            char json[2048];
            const hn_rng_key key = hn_rng_fold(hn_rng_seed(check_seed()), (uint64_t)i);
            const char *one = all->at[hn_rng_u32(key, 0) % (uint32_t)all->n],
                       *two = all->at[hn_rng_u32(key, 1) % (uint32_t)all->n],
                       *three = all->at[hn_rng_u32(key, 2) % (uint32_t)all->n];
            const size_t a = strcspn(one, ":"), b = strcspn(two, ":"), c = strcspn(three, ":");
            if ((a == b && !strncmp(one, two, a)) || (b == c && !strncmp(two, three, b)) ||
                (a == c && !strncmp(one, three, a)))
                continue;
            snprintf(json, sizeof json, "{%s, %s, %s}", one, two, three);
            check_case(&d, json, &t);
        }
        printf("%-13s %3d values: %3d open, %d of them not converted; %d computed, %d generated\n", name, all->n,
               t.opened, t.refused, t.computed, t.generated);
        CHECK(t.opened > 10);
        model_dir_remove(&d);
    }
    *computed += t.computed;
    *generated += t.generated;
    for (int i = 0; all && i < all->n; i++)
        hn_free(&heap, all->at[i]);
    hn_free(&heap, all);
}

/* Ends of generation. */

static void expect_ends(const model_dir *d, const char *what, int n, const int32_t *ids)
{
    const char *paths[] = { d->path, d->gguf };
    check_group(what);
    if (!CHECK_OK(convert(d)))
        return;
    for (int form = 0; form < 2; form++) {
        hn_tokenizer *tok;
        if (!CHECK_OK(hn_open_tokenizer(&heap, paths[form], &tok)))
            continue;
        for (int32_t id = 0; id < hn_tokenizer_size(tok); id++) {
            bool is_end = false;
            for (int i = 0; i < n; i++)
                is_end = is_end || ids[i] == id;
            CHECK_THAT(hn_tokenizer_ends(tok, id) == is_end, "%s: token %d %s", form ? "GGUF" : "the directory",
                       (int)id, is_end ? "does not end it" : "ends it");
        }
        hn_tokenizer_free(tok);
    }
}

static void put_config(const model_dir *d, const char *json)
{
    static const char taken[] = "[\"eos_token_id\"]";
    hn_json_text *put = NULL, *take = NULL;
    if (CHECK_OK(hn_json_read(&heap, "put", json, strlen(json), &put)) &&
        CHECK_OK(hn_json_read(&heap, "take", taken, strlen(taken), &take)))
        model_dir_write(d, hn_json_root(put), hn_json_root(take));
    hn_json_free(put);
    hn_json_free(take);
}

/* </s>, token 2, is one by its name. */
static void check_ends(void)
{
    model_dir d;
    if (!model_dir_make(&d, &heap, "llama"))
        return;
    put_config(&d, "{\"eos_token_id\": 77}");
    model_dir_put(&d, "generation_config.json", "{\"eos_token_id\": 50}");
    expect_ends(&d, "a number", 2, (const int32_t[]){ 2, 50 });
    model_dir_put(&d, "generation_config.json", "{\"eos_token_id\": [51, 60, 259]}");
    expect_ends(&d, "a list", 4, (const int32_t[]){ 2, 51, 60, 259 });
    model_dir_put(&d, "generation_config.json", "{\"eos_token_id\": null}");
    expect_ends(&d, "null", 1, (const int32_t[]){ 2 });
    model_dir_put(&d, "generation_config.json", "{\"temperature\": 0.5}");
    expect_ends(&d, "none in generation_config.json", 1, (const int32_t[]){ 2 });
    model_dir_put(&d, "generation_config.json", NULL);
    expect_ends(&d, "config.json's, without generation_config.json", 2, (const int32_t[]){ 2, 77 });
    put_config(&d, "{\"eos_token_id\": [78, 80]}");
    expect_ends(&d, "config.json's list", 3, (const int32_t[]){ 2, 78, 80 });
    check_group("an end that is no token");
    hn_tokenizer *tok = NULL;
    model_dir_put(&d, "generation_config.json", "{\"eos_token_id\": 100000}");
    CHECK_FAILS(hn_open_tokenizer(&heap, d.path, &tok), HN_ERR_FORMAT, "eos_token_id is 100000");
    model_dir_put(&d, "generation_config.json", "{\"eos_token_id\": \"</s>\"}");
    CHECK_FAILS(hn_open_tokenizer(&heap, d.path, &tok), HN_ERR_FORMAT, "eos_token_id");
    model_dir_remove(&d);
}

/* What the model says second or later becomes an end that has no name: both forms stop before it. */
static void check_stop(void)
{
    model_dir d;
    answer dir = { 0 }, file = { 0 };
    char text[64];
    check_group("stops");
    if (!model_dir_make(&d, &heap, "qwen3"))
        return;
    put_config(&d, "{}");
    model_dir_put(&d, "generation_config.json", "{}");
    if (CHECK_OK(ask(d.path, &dir)) && CHECK_INT(MAX_TOKENS, dir.n_said[0])) {
        int64_t at = PROMPT + 1; /* the vocabulary has rows beyond the tokenizer's */
        while (at < MAX_TOKENS && (dir.said[0][at] >= 264 || dir.said[0][at] == dir.said[0][PROMPT]))
            at++;
        const int32_t end = CHECK(at < MAX_TOKENS) ? dir.said[0][at] : 3;
        hn_free(&heap, dir.logits);
        dir.logits = NULL;
        snprintf(text, sizeof text, "{\"eos_token_id\": [%d]}", (int)end);
        model_dir_put(&d, "generation_config.json", text);
        CHECK_OK(convert(&d));
        CHECK_OK(ask(d.path, &dir));
        CHECK_OK(ask(d.gguf, &file));
        CHECK_INT(at, dir.n_said[0]);
        CHECK_INT(at, file.n_said[0]);
    }
    hn_free(&heap, dir.logits);
    hn_free(&heap, file.logits);
    model_dir_remove(&d);
}

/* The text with `to` in place of every `from`. */
static bool replace(hn_str *text, const char *from, const char *to)
{
    hn_str made = hn_str_on(&heap);
    int n = 0;
    for (const char *at = text->text; *at;)
        if (!strncmp(at, from, strlen(from))) {
            hn_str_add(&made, to);
            at += strlen(from);
            n++;
        } else {
            hn_str_add_char(&made, *at++);
        }
    hn_str_free(text);
    *text = made;
    return CHECK_THAT(n > 0, "%s is not there", from);
}

static void expect_same_ids(const model_dir *d)
{
    static const char text[] = "a <pad> b</s>c  <s>  d";
    const hn_encode_options o = { .parse_special = true };
    const char *paths[] = { d->path, d->gguf, d->source };
    hn_encoding ids[3] = { 0 };
    for (int form = 0; form < 3; form++) {
        hn_tokenizer *tok = NULL;
        if (CHECK_OK(hn_open_tokenizer(&heap, paths[form], &tok)))
            CHECK_OK(hn_tokenizer_encode(tok, text, strlen(text), &o, &ids[form]));
        hn_tokenizer_free(tok);
    }
    CHECK_THAT(ids[0].n == ids[1].n && !memcmp(ids[0].ids, ids[1].ids, ids[0].n * sizeof(int32_t)),
               "%d ids of the directory, %d of its GGUF, or others", (int)ids[0].n, (int)ids[1].n);
    CHECK_THAT(ids[0].n != ids[2].n || memcmp(ids[0].ids, ids[2].ids, ids[0].n * sizeof(int32_t)) != 0,
               "the change shows nowhere");
    for (int form = 0; form < 3; form++)
        hn_encoding_free(&ids[form]);
}

/* Tokens that take blanks along or stand alone, and what a text gets around it. */
static void check_texts(void)
{
    static const char *const changes[][4] = {
        { "\"lstrip\":false", "\"lstrip\":true" },
        { "\"rstrip\":false", "\"rstrip\":true" },
        { "\"single_word\":false", "\"single_word\":true" },
        { "\"single\":[", "\"single\":[{\"SpecialToken\":{\"id\":\"x\",\"type_id\":0}},", "\"special_tokens\":{}",
          "\"special_tokens\":{\"x\":{\"id\":\"x\",\"ids\":[5],\"tokens\":[\"x\"]}}" },
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        model_dir d;
        char path[600];
        check_group(changes[i][0]);
        if (!model_dir_make(&d, &heap, "llama"))
            return;
        snprintf(path, sizeof path, "%s/tokenizer.json", d.source);
        hn_json_text *json = json_read_file(&heap, path);
        hn_str text = hn_str_on(&heap);
        hn_json_writer w = hn_json_write_to(&text);
        hn_json_add_value(&w, hn_json_root(json));
        for (int k = 0; k < 4 && changes[i][k]; k += 2)
            replace(&text, changes[i][k], changes[i][k + 1]);
        put_config(&d, "{\"eos_token_id\": 2}");
        model_dir_put(&d, "tokenizer.json", text.text);
        if (CHECK_OK(convert(&d)))
            expect_same_ids(&d);
        hn_str_free(&text);
        hn_json_free(json);
        model_dir_remove(&d);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
        "llama", "llama-tied", "mistral", "mixtral", "qwen2", "qwen3", "qwen3moe", "gemma2", "gemma3", "gemma3n",
        "gemma4-e", "gemma4-moe", "gemma4-dense", "gpt-oss", "gpt2", "phi3", "olmoe", "deepseek-v2", "deepseek-v3",
        "smollm3", "granite", "granitemoe", "bert",
        "granitemoe-shared", "phi4-mini",
    };
    const hn_device_options open = { .n_threads = 1 };
    int computed = 0, generated = 0;
    check_open(argc, argv);
    const char *only = check_option("--only");
    hn_heap_init(&heap, NULL);
    if (CHECK_OK(hn_devices_open(&heap, "cpu", &open, &n_devices, devices))) {
        CHECK_OK(hn_pool_new(&heap, 1, &pool));
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (!only || !strcmp(only, names[i]))
                check_model(names[i], &computed, &generated);
        check_ends();
        check_stop();
        check_texts();
        hn_pool_free(pool);
        hn_devices_close(n_devices, devices);
    }
    const int least = check_flag("--quick") ? 200 : 500;
    CHECK_THAT(only || (computed > least && generated > least), "%d computed, %d generated", computed, generated);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
