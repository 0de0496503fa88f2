/* Files through the public functions alone: made, looked into, converted, quantised, judged, adapted and merged, with
 * the bytes and the numbers that the program gives; and every misuse a status and a sentence. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096 };

static const char *hone;
static char dir[256];

/* A file in the test's folder. */
static const char *in(const char *name)
{
    static char names[8][512];
    static int next;
    char *text = names[next++ % 8];
    snprintf(text, sizeof *names, "%.200s/%.200s", dir, name);
    return text;
}

static const char *model(const char *name)
{
    static char names[4][512];
    static int next;
    char *text = names[next++ % 4];
    snprintf(text, sizeof *names, "%s/tests/differential/%.100s", HN_SOURCE_DIR, name);
    return text;
}

/* A command in that folder: "HONE" is the program. What it writes, without its last line end. */
static void shell(char *out, size_t room, const char *words)
{
    char line[4096];
    snprintf(line, sizeof line, "cd '%s' && HONE='%s' && { %s; } 2>err", dir, hone, words);
    FILE *f = popen(line, "r");
    size_t n = f ? fread(out, 1, room - 1, f) : 0;
    CHECK_THAT(f && pclose(f) == 0, "%s", line);
    out[n - (n > 0)] = 0;
}

static void does(const char *words)
{
    char out[MOST];
    shell(out, sizeof out, words);
}

static bool is_there(const char *name)
{
    return !access(in(name), F_OK);
}

static void writes(const char *name, const char *text)
{
    FILE *f = fopen(in(name), "w");
    CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

/* ---- made, and looked into ---- */

static const char *const settings[] = { "layers=2", "width=64", "heads=2", "kv_heads=1", "head_dim=32", "ffn=96" };

static void check_make(hn_engine *engine)
{
    const hn_lm_make_options o = { .size = sizeof o, .settings = settings, .n_settings = 6, .seed = 7,
                                   .first = HN_LM_FIRST_SPREAD };
    const char *const odd[] = { "layers=two" };
    const hn_lm_make_options wrong = { .size = sizeof wrong, .settings = odd, .n_settings = 1 };
    check_group("make");
    CHECK_OK(hn_lm_make(engine, "llama", in("m.gguf"), &o));
    does("$HONE new llama cli.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=96 --seed 7 --first spread && "
         "cmp m.gguf cli.gguf");
    CHECK_FAILS(hn_lm_make(engine, "llama", in("m.gguf"), &o), HN_ERR_ARGUMENT, "is there already");
    CHECK_FAILS(hn_lm_make(engine, "lama", in("n.gguf"), &o), HN_ERR_UNSUPPORTED, "lama");
    CHECK_FAILS(hn_lm_make(engine, "llama", in("n.gguf"), &wrong), HN_ERR_ARGUMENT, "=two");
    CHECK_FAILS(hn_lm_make(engine, "llama", NULL, &o), HN_ERR_ARGUMENT, "found NULL");
    CHECK(!is_there("n.gguf"));
    writes("text.txt", "One day a little dog found a ball. The ball was red. One day a little cat found the dog.\n\n"
                   "Then the dog and the cat went home, and the little ball was there.\n");
    const char *texts[] = { in("text.txt") };
    const hn_lm_tokenizer_options t = { .size = sizeof t, .tokens = 280 };
    int64_t n = 0;
    CHECK_OK(hn_lm_make_tokenizer(engine, texts, 1, in("t.gguf"), &t, &n));
    CHECK_THAT(n > 261 && n <= 280, "%lld tokens", (long long)n);
    does("$HONE new-tokenizer cli-t.gguf text.txt --vocab 280 && cmp t.gguf cli-t.gguf");
    const hn_lm_tokenizer_options few = { .size = sizeof few, .tokens = 3 };
    CHECK_FAILS(hn_lm_make_tokenizer(engine, texts, 1, in("u.gguf"), &few, NULL), HN_ERR_ARGUMENT, "tokens is 3");
}

static void check_look(hn_engine *engine)
{
    hn_lm_file *file;
    hn_lm_tensor t;
    hn_lm_key key;
    hn_lm_item item;
    uint64_t bytes = 0, parameters = 0;
    check_group("look");
    if (!CHECK_OK(hn_lm_file_open(&file, engine, in("m.gguf"), NULL, 0)))
        return;
    const hn_lm_about *about = hn_lm_file_about(file);
    CHECK_TEXT("llama", about->architecture);
    CHECK_TEXT("GGUF 3", about->format);
    CHECK(about->is_supported && about->is_gguf && about->parts == 1);
    if (CHECK(about->shape)) {
        CHECK_INT(2, about->shape->layers);
        CHECK_INT(64, about->shape->width);
        CHECK_INT(96, about->shape->ffn);
    }
    CHECK_INT(2 * 2 * 1 * (32 + 32), (int64_t)about->kv_bytes);
    for (size_t i = 0; i < about->n_tensors; i++) {
        CHECK_OK(hn_lm_file_tensor(file, i, &t, sizeof t));
        bytes += t.bytes;
        parameters += t.parameters;
        CHECK(t.use != HN_LM_USE_OTHER && *hn_lm_use_name(t.use));
    }
    CHECK(about->n_tensors > 10 && bytes == about->bytes && parameters == about->parameters);
    CHECK_FAILS(hn_lm_file_tensor(file, about->n_tensors, &t, sizeof t), HN_ERR_ARGUMENT, "m.gguf: tensor");
    const size_t at = hn_lm_file_find(file, "general.architecture");
    CHECK_OK(hn_lm_file_key(file, at, &key, sizeof key));
    CHECK(key.kind == HN_LM_TEXT && !key.is_array && key.n == 1);
    CHECK_OK(hn_lm_file_item(file, at, 0, &item, sizeof item));
    CHECK(item.bytes == 5 && !memcmp(item.text, "llama", 5));
    CHECK_FAILS(hn_lm_file_item(file, at, 1, &item, sizeof item), HN_ERR_ARGUMENT, "item 1 of 1");
    CHECK_INT((int64_t)about->n_keys, (int64_t)hn_lm_file_find(file, "no.such.key"));
    /* Texts of an array, in any order. */
    const size_t tokens = hn_lm_file_find(file, "tokenizer.ggml.tokens");
    if (CHECK_OK(hn_lm_file_key(file, tokens, &key, sizeof key)) && CHECK(key.is_array && key.n > 100)) {
        hn_lm_item first, later, again;
        CHECK_OK(hn_lm_file_item(file, tokens, 0, &first, sizeof first));
        CHECK_OK(hn_lm_file_item(file, tokens, 99, &later, sizeof later));
        CHECK_OK(hn_lm_file_item(file, tokens, 0, &again, sizeof again));
        CHECK(first.text == again.text && later.text > first.text);
    }
    hn_lm_file_close(file);
    const char *ignored = "llama.no_such_key";
    CHECK_FAILS(hn_lm_file_open(&file, engine, in("m.gguf"), &ignored, 1), HN_ERR_ARGUMENT, ignored);
    CHECK(!file);
    CHECK_FAILS(hn_lm_file_open(&file, engine, in("nowhere"), NULL, 0), HN_ERR_IO, "nowhere");
}

/* ---- converted, quantised ---- */

typedef struct watched {
    hn_engine *engine;
    int n, n_kept, n_tensors;
    double done;
    bool cancels;
} watched;

static void on_work(void *context, double done, const char *what)
{
    watched *w = context;
    CHECK(done >= w->done && done <= 1 && what);
    w->done = done;
    w->n++;
    if (w->cancels)
        hn_engine_cancel(w->engine);
}

static void on_tensor(void *context, const hn_lm_quantized *t)
{
    watched *w = context;
    w->n_tensors++;
    w->n_kept += t->is_kept;
    CHECK(t->is_kept || !strcmp(t->is, "q8_0"));
    CHECK(t->numbers > 0 && t->is_bytes > 0);
}

static void check_convert(hn_engine *engine)
{
    check_group("convert");
    CHECK_OK(hn_lm_convert(engine, model("models/llama"), in("hf.gguf"), NULL));
    char words[1024];
    snprintf(words, sizeof words, "$HONE convert '%s' cli-hf.gguf && cmp hf.gguf cli-hf.gguf", model("models/llama"));
    does(words);
    const hn_lm_convert_options odd = { .size = sizeof odd, .type = "q9_z" };
    CHECK_FAILS(hn_lm_convert(engine, model("models/llama"), in("no.gguf"), &odd), HN_ERR_ARGUMENT, "q9_z");
    CHECK_FAILS(hn_lm_convert(engine, in("m.gguf"), in("no.gguf"), NULL), HN_ERR_FORMAT, "no config.json");
    CHECK(!is_there("no.gguf"));
}

static void check_quantize(hn_engine *engine)
{
    watched w = { .engine = engine };
    hn_lm_quantize_options o = { .size = sizeof o, .on_tensor = on_tensor, .context = &w };
    const char *type;
    check_group("quantize");
    hn_engine_on_work(engine, on_work, &w);
    CHECK_OK(hn_lm_quantize(engine, in("m.gguf"), in("q.gguf"), "Q8_0", &o));
    CHECK_THAT(w.n > 3 && w.n_tensors > 10 && w.n_kept > 0 && w.n_kept < w.n_tensors, "%d, %d, %d", w.n, w.n_tensors,
               w.n_kept);
    does("$HONE quantize m.gguf cli-q.gguf q8_0 && cmp q.gguf cli-q.gguf");
    CHECK_FAILS(hn_lm_quantize(engine, in("m.gguf"), in("q.gguf"), "q8_0", NULL), HN_ERR_ARGUMENT, "is there already");
    CHECK_FAILS(hn_lm_quantize(engine, in("q.gguf"), in("r.gguf"), "q4_0", NULL), HN_ERR_UNSUPPORTED, "loses twice");
    CHECK_FAILS(hn_lm_quantize(engine, in("m.gguf"), in("r.gguf"), "q9", NULL), HN_ERR_ARGUMENT, "q9");
    o = (hn_lm_quantize_options){ .size = 4 };
    CHECK_FAILS(hn_lm_quantize(engine, in("m.gguf"), in("r.gguf"), "q8_0", &o), HN_ERR_ARGUMENT, "size is 4");
    w = (watched){ .engine = engine, .cancels = true };
    CHECK_FAILS(hn_lm_quantize(engine, in("m.gguf"), in("r.gguf"), "q8_0", NULL), HN_ERR_CANCELLED, "");
    hn_engine_resume(engine);
    hn_engine_on_work(engine, NULL, NULL);
    CHECK(!is_there("r.gguf"));
    CHECK_OK(hn_lm_recipe_type("q4_k_m", &type));
    CHECK_TEXT("q4_k", type);
    int n_types = 0;
    for (int32_t i = 0; hn_tensor_type(i); i++)
        n_types += !strcmp(hn_tensor_type(i), "f32") || !strcmp(hn_tensor_type(i), "q4_k");
    CHECK_INT(2, n_types);
}

/* ---- judged ---- */

static double number_after(const char *json, const char *key)
{
    const char *at = strstr(json, key);
    return at ? strtod(at + strlen(key), NULL) : -1;
}

static void check_eval(hn_engine *engine, hn_lm *lm)
{
    static int32_t ids[MOST];
    static float logits[64 * 512];
    char text[MOST], json[MOST];
    size_t n;
    hn_lm_perplexity found;
    const hn_lm_encode_options bare = { .size = sizeof bare, .no_bos = 1, .no_eos = 1 };
    const hn_lm_perplexity_options o = { .size = sizeof o, .chunk = 16 };
    const hn_lm_imatrix_options i16 = { .size = sizeof i16, .chunk = 16, .dataset = "text.txt" };
    check_group("eval");
    shell(text, sizeof text, "cat text.txt; echo");
    CHECK_OK(hn_lm_encode_by(lm, text, strlen(text), &bare, ids, MOST, &n));
    CHECK_OK(hn_lm_perplexity_of(lm, ids, n, &o, &found, sizeof found));
    shell(json, sizeof json, "$HONE perplexity m.gguf text.txt --chunk 16 --json");
    CHECK_THAT(found.loss.n > 16 && fabs(number_after(json, "\"loss\":") - found.loss.mean) < 1e-12, "%.17g: %s",
               found.loss.mean, json);
    CHECK_INT(0, found.divergence.n);
    CHECK_FAILS(hn_lm_perplexity_of(lm, ids, 5, &o, &found, sizeof found), HN_ERR_ARGUMENT, "16");
    CHECK_OK(hn_lm_write_imatrix(lm, ids, n, in("i.gguf"), &i16));
    does("$HONE imatrix m.gguf text.txt --out cli-i.gguf --chunk 16 && cmp i.gguf cli-i.gguf");

    const size_t vocab = (size_t)hn_lm_vocabulary(lm), room = sizeof logits / sizeof *logits;
    hn_array *array;
    CHECK(vocab * 5 <= room);
    CHECK_OK(hn_lm_logits_of(lm, ids, 5, NULL, logits, room));
    snprintf(json, sizeof json, "$HONE logits m.gguf --tokens %d,%d,%d,%d,%d --out l.npy", ids[0], ids[1], ids[2], ids[3],
             ids[4]);
    does(json);
    if (CHECK_OK(hn_array_read(&array, engine, in("l.npy")))) {
        size_t bytes;
        const void *data = hn_array_data(array, &bytes);
        CHECK_TEXT("f32", hn_array_type(array));
        const hn_shape *shape = hn_array_shape(array);
        CHECK(shape->rank == 2 && shape->dim[0] == 5);
        CHECK(bytes == 5 * vocab * sizeof *logits && !memcmp(data, logits, bytes));
        CHECK_OK(hn_array_write(in("l2.npy"), 0, "f32", 2, shape->dim, data));
        does("cmp l.npy l2.npy");
        CHECK_FAILS(hn_array_write(in("l2.npy"), 0, "f32", 2, shape->dim, data), HN_ERR_ARGUMENT, "is there already");
        CHECK_FAILS(hn_array_write(in("l3.npy"), 0, "q4_k", 2, shape->dim, data), HN_ERR_ARGUMENT, "l3.npy");
        hn_array_free(array);
    }
    CHECK_FAILS(hn_lm_logits_of(lm, ids, 5, NULL, logits, 4 * vocab), HN_ERR_ARGUMENT, "expected 5 times");
    CHECK_FAILS(hn_lm_logits_of(lm, ids, 0, NULL, logits, room), HN_ERR_ARGUMENT, "empty");
}

static void check_parity(hn_engine *engine)
{
    hn_lm *lm;
    hn_lm_parity *p;
    const hn_lm_numerics bf16 = HN_LM_BF16;
    check_group("parity");
    if (!CHECK_OK(hn_lm_open_weights(&lm, engine, model("models/llama"), NULL)))
        return;
    CHECK_FAILS(hn_lm_parity_run(&p, lm, model("parity/llama-f32.safetensors"), &bf16), HN_ERR_ARGUMENT, "a run in f32");
    if (CHECK_OK(hn_lm_parity_run(&p, lm, model("parity/llama-f32.safetensors"), NULL))) {
        const hn_lm_parity_sum *sum = hn_lm_parity_get_sum(p);
        CHECK(sum->numerics == HN_LM_F32 && sum->n_parts > 2 && sum->logits.nmse < 1e-9);
        CHECK_TEXT("embedding", hn_lm_parity_get_part(p, 0)->name);
        CHECK_TEXT("head", hn_lm_parity_get_part(p, sum->n_parts - 1)->name);
        CHECK(!hn_lm_parity_get_part(p, sum->n_parts));
        CHECK_OK(hn_lm_parity_judge(p));
        hn_lm_parity_free(p);
    }
    hn_lm_close(lm);
}

/* ---- plans ---- */

/* Over two devices: their layers are all there are, and what they take is what the whole takes. */
static void check_plan_devices(const hn_lm_plan *plan, int32_t i, const hn_lm_planned *p)
{
    int64_t end = 0;
    uint64_t workspace = 0, weights = 0;
    double arrives = 0;
    hn_lm_planned_device d;
    CHECK_INT(2, p->n_devices);
    for (int32_t k = 0; k < p->n_devices; k++) {
        if (!CHECK_OK(hn_lm_plan_device(plan, i, k, &d, sizeof d)))
            return;
        CHECK(d.first_layer == end && d.end_layer > end && !d.streamed && d.weights && d.available > 0);
        CHECK_TEXT(k ? "cpu1" : "cpu", d.name);
        end = d.end_layer;
        workspace += d.workspace;
        weights += d.weights;
        arrives += d.arrives;
    }
    CHECK(end == 2 && arrives > 0 && weights >= p->weights + p->packed);
    CHECK(workspace == p->workspace || !strcmp(p->name, "training")); /* what is written for it is counted there, too */
    CHECK_FAILS(hn_lm_plan_device(plan, i, 2, &d, sizeof d), HN_ERR_ARGUMENT, "device 2 of 2");
}

static void check_plan_texts(const hn_lm_plan *plan)
{
    static char text[1 << 20];
    size_t bytes = 0, again;
    CHECK_FAILS(hn_lm_plan_steps(plan, 0, text, 4, &bytes), HN_ERR_ARGUMENT, "expected");
    CHECK(bytes > 1000 && bytes < sizeof text);
    CHECK_OK(hn_lm_plan_steps(plan, 0, text, sizeof text, &again));
    CHECK(bytes == again && strlen(text) == bytes && strstr(text, "linear#"));
    CHECK_OK(hn_lm_plan_svg(plan, 0, text, sizeof text, &again));
    CHECK(!strncmp(text, "<svg", 4));
}

static void check_plans(void)
{
    static const char *const names[] = { "token", "prompt", "training" };
    const hn_engine_options two = { .size = sizeof two, .devices = "cpu,cpu" };
    const hn_lm_plan_options o = { .size = sizeof o, .context = 64, .prompt = 8, .micro_tokens = 16, .targets = "attn" };
    hn_engine *engine;
    hn_lm *lm;
    hn_lm_plan *plan;
    hn_lm_planned p;
    hn_lm_planned_op op;
    hn_lm_planned_model m;
    check_group("plans");
    if (!CHECK_OK(hn_engine_new(&engine, &two)))
        return;
    if (CHECK_OK(hn_lm_open_weights(&lm, engine, in("m.gguf"), NULL))) {
        const int64_t tokens[] = { 1, 8, 16 };
        if (CHECK_OK(hn_lm_plan_new(&plan, lm, &o))) {
            CHECK_INT(3, hn_lm_plan_count(plan));
            CHECK_TEXT("", hn_lm_plan_refused(plan));
            CHECK_OK(hn_lm_plan_model(plan, &m, sizeof m));
            CHECK(m.layers == 2 && m.weights && m.parameters && !strcmp(m.architecture, "llama"));
            for (int32_t i = 0; i < 3 && CHECK_OK(hn_lm_plan_at(plan, i, &p, sizeof p)); i++) {
                double operations = 0;
                CHECK_TEXT(names[i], p.name);
                CHECK(p.tokens == tokens[i] && p.steps > 0 && p.copies > 0 && p.workspace && !p.cache == (i == 2) &&
                      !p.moments == (i < 2) && !p.sums == (i < 2));
                for (int32_t k = 0; k < p.n_ops && CHECK_OK(hn_lm_plan_op(plan, i, k, &op, sizeof op)); k++)
                    operations += op.operations;
                CHECK(operations > 0.999 * p.operations && operations < 1.001 * p.operations);
                check_plan_devices(plan, i, &p);
            }
            check_plan_texts(plan);
            CHECK_FAILS(hn_lm_plan_at(plan, 3, &p, sizeof p), HN_ERR_ARGUMENT, "plan 3 of 3");
            CHECK_FAILS(hn_lm_plan_op(plan, 0, -1, &op, sizeof op), HN_ERR_ARGUMENT, "op -1 of");
            hn_lm_plan_free(plan);
        }
        const hn_lm_plan_options bad = { .size = sizeof bad, .of = "text" }, low = { .size = sizeof low, .prompt = -1 };
        CHECK_FAILS(hn_lm_plan_new(&plan, lm, &bad), HN_ERR_ARGUMENT, "expected token, prompt or training");
        CHECK_FAILS(hn_lm_plan_new(&plan, lm, &low), HN_ERR_ARGUMENT, "prompt -1");
        hn_lm_close(lm);
    }
    hn_engine_free(engine);
}

/* ---- parts of a model ---- */

static void check_parts(hn_engine *engine)
{
    hn_lm *words, *weights;
    hn_lm_session *session;
    hn_lm_sizes sizes;
    int32_t ids[64];
    size_t n, bytes;
    const char *piece;
    check_group("parts");
    if (CHECK_OK(hn_lm_open_words(&words, engine, in("t.gguf"), NULL))) {
        CHECK_OK(hn_lm_encode(words, "a little dog", 12, HN_LM_BARE, ids, 64, &n));
        CHECK_OK(hn_lm_piece(words, ids[0], &piece, &bytes));
        CHECK(bytes > 0 && piece[0] == 'a');
        CHECK_FAILS(hn_lm_piece(words, (int32_t)hn_lm_tokens(words), &piece, &bytes), HN_ERR_ARGUMENT, "expected 0 to");
        CHECK_FAILS(hn_lm_session_new(&session, words, NULL), HN_ERR_UNSUPPORTED, "without its weights");
        CHECK_FAILS(hn_lm_meta(words, "general.name", NULL, 0, &bytes), HN_ERR_UNSUPPORTED, "without its weights");
        CHECK_FAILS(hn_lm_add_adapter(words, "a.gguf", NULL), HN_ERR_UNSUPPORTED, "without its weights");
        CHECK_INT(0, hn_lm_vocabulary(words));
        CHECK_TEXT("", hn_lm_architecture(words));
        hn_lm_close(words);
    }
    if (CHECK_OK(hn_lm_open_weights(&weights, engine, in("m.gguf"), NULL))) {
        hn_lm_chat *chat;
        CHECK_FAILS(hn_lm_encode(weights, "a", 1, HN_LM_BARE, ids, 64, &n), HN_ERR_UNSUPPORTED, "without its tokenizer");
        CHECK_FAILS(hn_lm_chat_new(&chat, weights, NULL), HN_ERR_UNSUPPORTED, "without its tokenizer");
        CHECK_INT(-1, hn_lm_special(weights, HN_LM_EOS));
        const hn_lm_session_options o = { .size = sizeof o, .context = 64 };
        CHECK_OK(hn_lm_measure(weights, &o, &sizes, sizeof sizes));
        CHECK(sizes.context == 64 && sizes.cache >= 2 * 2 * 32 * 64 * sizeof(float) && sizes.workspace && sizes.other);
        CHECK(!hn_lm_worth_copying(weights, 1) && hn_lm_worth_copying(weights, 1000));
        if (CHECK_OK(hn_lm_session_new(&session, weights, &o))) {
            const int32_t some[] = { 3, 4, 5 };
            CHECK_OK(hn_lm_session_save_known(session, in("s.hone"), &n));
            CHECK(!n && !is_there("s.hone"));
            CHECK_OK(hn_lm_session_feed(session, some, 3));
            CHECK_OK(hn_lm_session_trim(session, 0));
            CHECK_OK(hn_lm_session_save_known(session, in("s.hone"), &n));
            CHECK(n == 3 && is_there("s.hone"));
            hn_lm_session_free(session);
        }
        hn_lm_close(weights);
    }
    hn_lm_numerics numerics;
    CHECK_OK(hn_lm_numerics_named("mixed", &numerics));
    CHECK_TEXT("mixed", hn_lm_numerics_name(numerics));
    CHECK_FAILS(hn_lm_numerics_named("f8", &numerics), HN_ERR_ARGUMENT, "f8");
}

/* ---- adapters ---- */

static void check_adapter_files(hn_engine *engine)
{
    const hn_lm_export_options base = { .size = sizeof base, .base = in("m.gguf") };
    check_group("adapter files");
    CHECK_OK(hn_lm_export_peft(engine, in("run/adapter.gguf"), in("peft"), &base));
    does("$HONE export run/adapter.gguf --peft cli-peft --base m.gguf && diff -r peft cli-peft");
    CHECK_OK(hn_lm_import_adapter(engine, in("peft"), in("m.gguf"), in("back.gguf"), NULL));
    does("$HONE import peft cli-back.gguf --base m.gguf && cmp back.gguf cli-back.gguf");
    CHECK_OK(hn_lm_export_gguf(engine, in("run/adapter.gguf"), in("lora.gguf"), &base));
    does("$HONE export run/adapter.gguf --gguf cli-lora.gguf --base m.gguf && cmp lora.gguf cli-lora.gguf");
    const hn_lm_import_options odd = { .size = sizeof odd, .type = "q4_0" };
    CHECK_FAILS(hn_lm_import_adapter(engine, in("peft"), in("m.gguf"), in("no.gguf"), &odd), HN_ERR_ARGUMENT,
                "expected f32, f16 or bf16");
    const hn_lm_export_options none = { .size = sizeof none };
    CHECK_FAILS(hn_lm_export_peft(engine, in("run/adapter.gguf"), in("no"), &none), HN_ERR_ARGUMENT, "--base MODEL");
    CHECK(!is_there("no.gguf") && !is_there("no"));
}

/* Refused memory at any of the last allocations of a merge: no file, or the file and what was measured. */
static void check_merge_without_memory(hn_engine *own)
{
    hn_lm_merge_report *report;
    int64_t before, after, n_refused = 0;
    hn_engine_memory(own, NULL, NULL, &before);
    CHECK_OK(hn_lm_merge(own, in("m.gguf"), in("run/adapter.gguf"), in("poor.gguf"), NULL, &report));
    hn_engine_memory(own, NULL, NULL, &after);
    hn_lm_merge_report_free(report);
    for (int64_t nth = after - before; nth > after - before - 40; nth--) {
        remove(in("poor.gguf"));
        hn_engine_fail_allocation(own, nth);
        const hn_status status = hn_lm_merge(own, in("m.gguf"), in("run/adapter.gguf"), in("poor.gguf"), NULL, &report);
        hn_engine_fail_allocation(own, 0);
        n_refused += status == HN_ERR_MEMORY;
        CHECK_THAT(is_there("poor.gguf") == (status == HN_OK) && (status == HN_OK) == !!report, "merge, allocation %lld: %s",
                   (long long)nth, hn_error_message());
        hn_lm_merge_report_free(report);
    }
    CHECK(n_refused > 10);
}

static void check_merge(hn_engine *engine)
{
    hn_lm_merge_report *report;
    const hn_lm_merge_options q2 = { .size = sizeof q2, .type = "q2_k", .budget = 1e-9 };
    check_group("merge");
    if (CHECK_OK(hn_lm_merge(engine, in("m.gguf"), in("run/adapter.gguf"), in("merged.gguf"), NULL, &report))) {
        const hn_lm_merge_sum *sum = hn_lm_merge_report_sum(report);
        CHECK(sum->fits && sum->n_tensors > 0 && sum->kept > 0.99 && sum->kl < 0.01);
        const hn_lm_merged *t = hn_lm_merge_report_tensor(report, 0);
        CHECK(t && !strncmp(t->name, "blk.", 4) && !strcmp(t->from, "f32") && t->update > 0);
        CHECK(!hn_lm_merge_report_tensor(report, sum->n_tensors));
        does("$HONE merge m.gguf run/adapter.gguf --out cli-merged.gguf && cmp merged.gguf cli-merged.gguf");
    }
    hn_lm_merge_report_free(report);
    CHECK_FAILS(hn_lm_merge(engine, in("m.gguf"), in("run/adapter.gguf"), in("no.gguf"), &q2, &report), HN_ERR_NUMERIC,
                "nothing was written");
    if (CHECK(report)) /* what was measured is there all the same */
        CHECK(!hn_lm_merge_report_sum(report)->fits);
    hn_lm_merge_report_free(report);
    const hn_lm_merge_options odd = { .size = sizeof odd, .keep = 2 };
    CHECK_FAILS(hn_lm_merge(engine, in("m.gguf"), in("run/adapter.gguf"), in("no.gguf"), &odd, &report),
                HN_ERR_ARGUMENT, "expected a share");
    CHECK(!report && !is_there("no.gguf"));
}

static void check_adapters(hn_engine *engine)
{
    hn_lm *lm;
    hn_lm_adapter_trial trial;
    check_group("adapters");
    does("$HONE train m.gguf --data text.txt --out run --steps 3 --rank 2 --rate 0.01 --batch 1 --samples 0 >/dev/null");
    if (CHECK_OK(hn_lm_open(&lm, engine, in("m.gguf"), NULL))) {
        CHECK_OK(hn_lm_keep_digests(lm, in("digests")));
        CHECK_FAILS(hn_lm_keep_digests(lm, in("others")), HN_ERR_ARGUMENT, "are kept in");
        CHECK_OK(hn_lm_apply_adapter(lm, in("run/adapter.gguf"), NULL, &trial, sizeof trial));
        CHECK(trial.was_tried && trial.recorded == HN_LM_F32 && trial.kl <= trial.budget && !trial.overridden[0]);
        hn_lm_close(lm);
    }
    const hn_lm_make_options other = { .size = sizeof other, .settings = settings, .n_settings = 6, .seed = 8 };
    const hn_lm_adapter_options forced = { .size = sizeof forced, .is_forced = 1 };
    CHECK_OK(hn_lm_make(engine, "llama", in("other.gguf"), &other));
    if (CHECK_OK(hn_lm_open(&lm, engine, in("other.gguf"), NULL))) {
        CHECK_FAILS(hn_lm_apply_adapter(lm, in("run/adapter.gguf"), NULL, &trial, sizeof trial), HN_ERR_ARGUMENT, "base");
        CHECK_OK(hn_lm_apply_adapter(lm, in("run/adapter.gguf"), &forced, &trial, sizeof trial));
        CHECK(!trial.was_tried && trial.overridden[0]);
        hn_lm_close(lm);
    }
}

/* ---- every allocation refused ---- */

static hn_status uses_all(hn_engine *engine)
{
    hn_lm_file *file;
    const hn_lm_make_options o = { .size = sizeof o, .settings = settings, .n_settings = 6, .seed = 7, .overwrite = 1 };
    const hn_lm_quantize_options q = { .size = sizeof q, .overwrite = 1 };
    hn_status status = hn_lm_make(engine, "llama", in("a.gguf"), &o);
    if (status == HN_OK)
        status = hn_lm_quantize(engine, in("a.gguf"), in("b.gguf"), "q8_0", &q);
    if (status == HN_OK)
        status = hn_lm_file_open(&file, engine, in("b.gguf"), NULL, 0);
    if (status == HN_OK)
        hn_lm_file_close(file);
    return status;
}

static void check_allocations(hn_engine *engine)
{
    int n_refused = 0;
    check_group("allocations");
    for (int64_t nth = 1;; nth += 1 + nth / 20) {
        int64_t before, live, first, calls;
        hn_engine_memory(engine, &before, NULL, &first);
        hn_engine_fail_allocation(engine, nth);
        const hn_status status = uses_all(engine);
        hn_engine_fail_allocation(engine, 0);
        hn_engine_memory(engine, &live, NULL, &calls);
        CHECK_THAT(live == before, "allocation %lld refused: %lld bytes left", (long long)nth,
                   (long long)(live - before));
        if (calls < first + nth) {
            CHECK_OK(status);
            break;
        }
        n_refused++;
        CHECK_THAT(status == HN_ERR_MEMORY, "allocation %lld refused: status %d: %s", (long long)nth,
                   (int)status, hn_error_message());
    }
    CHECK_THAT(n_refused > 40, "%d allocations refused", n_refused);
}

static void check_all(hn_engine *engine)
{
    hn_lm *lm;
    check_make(engine);
    check_look(engine);
    check_convert(engine);
    check_quantize(engine);
    check_plans();
    check_parts(engine);
    if (CHECK_OK(hn_lm_open(&lm, engine, in("m.gguf"), NULL))) {
        check_eval(engine, lm);
        hn_lm_close(lm);
    }
    check_parity(engine);
    check_adapters(engine);
    check_adapter_files(engine);
    check_merge(engine);
    check_merge_without_memory(engine);
    check_allocations(engine);
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    const char *temp = getenv("TMPDIR");
    check_open(argc, argv);
    hone = check_option("--hone");
    if (!CHECK_THAT(hone != NULL, "expected --hone PROGRAM"))
        return check_close();
    snprintf(dir, sizeof dir, "%.180s/hone-files-XXXXXX", temp ? temp : "/tmp");
    CHECK(mkdtemp(dir));
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 }))) {
        int64_t before, live;
        hn_engine_memory(engine, &before, NULL, NULL);
        check_all(engine);
        hn_engine_memory(engine, &live, NULL, NULL);
        CHECK_INT(before, live);
        hn_engine_free(engine);
    }
    check_group(NULL);
    char line[400];
    snprintf(line, sizeof line, "rm -rf %s", dir);
    CHECK_INT(0, system(line));
    return check_close();
}
