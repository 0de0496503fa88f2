/* Every key of config.json, deleted and changed, against Transformers: what both run is equal, what
 * Transformers refuses is refused, and what hone alone refuses is refused by name, and is little.
 * What was computed from the directory is computed from its GGUF too, or `convert` refuses it.
 * References: tools/reference/config_keys.py. With a name and "--list", prints what hone alone
 * refuses. */
#include "base/out_file.h"
#include "convert/convert.h"
#include "infer/forward.h"

#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "tests/harness/model_dir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICKED = 32, MAX_TOKENS = 64, MAX_ANSWERS = 256 };

static hn_heap heap;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;
static hn_pool *pool;
static bool lists;
static int all_cases, all_ran, all_alone;

typedef struct tally {
    int n, equal, both, alone, lacks, drops, ran; /* of changed and deleted keys */
    int added, added_equal, added_alone;          /* of keys that the file had not */
    int wrong;
    int converted, unconverted; /* of different results */
} tally;

typedef struct subject {
    const char *name;
    model_dir dir;
    int64_t n_tokens;
    float answers[MAX_ANSWERS][PICKED];
    bool is_converted[MAX_ANSWERS];
    int n_answers;
    tally tally;
} subject;

/* The numbers that the script picked. */
static void pick(const hn_tensor *t, float *out)
{
    const int64_t rows = t->type.dim[0], width = t->type.dim[1];
    for (int64_t i = 0; i < PICKED; i++) {
        const int64_t row = rows - 1 - (i < 24 ? i % 8 : i * 5 % rows);
        out[i] = (float)hn_get(t, row * width + (i * i * 31 + i * 17 + 5) % width);
    }
}

static hn_status run(const subject *s, const char *path, float *out)
{
    hn_model *model;
    hn_forward *forward;
    hn_tensor t;
    int32_t tokens[MAX_TOKENS];
    const hn_forward_options o = { .max_tokens = s->n_tokens };
    HN_TRY(hn_model_open(&heap, path, NULL, &model));
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    for (int64_t i = 0; i < s->n_tokens; i++)
        tokens[i] = (int32_t)(3 + (i * i * 7 + i * 13) % (vocab - 3));
    hn_status status = hn_forward_new(&forward, &heap, model, on_all_devices(n_devices, devices), &o);
    if (status == HN_OK) {
        status = hn_forward_run(forward, tokens, s->n_tokens, NULL);
        if (status == HN_OK)
            status = hn_forward_logits(forward, &t);
        if (status == HN_OK)
            pick(&t, out);
        hn_forward_free(forward);
    }
    hn_model_close(model);
    for (int i = 0; status == HN_OK && i < PICKED; i++)
        if (!isfinite(out[i]))
            return hn_fail(HN_ERR_FORMAT, "the result is not finite");
    return status;
}

static double distance(const float *got, const float *want)
{
    double error = 0, size = 0;
    for (int i = 0; i < PICKED; i++) {
        const double d = (double)got[i] - (double)want[i];
        error += d * d;
        size += (double)want[i] * (double)want[i];
    }
    return size > 0 ? sqrt(error / size) : error > 0 ? HUGE_VAL : 0;
}

static void describe(const hn_json *c, char *out, size_t room)
{
    hn_str text = hn_str_on(&heap);
    hn_json_writer w = hn_json_write_to(&text);
    hn_json_add_value(&w, c);
    snprintf(out, room, "%s", text.text);
    hn_str_free(&text);
}

/* A key that the file had not, to any depth: most of those are refused, being unknown. */
static bool has_added(const hn_json *base, const hn_json *put)
{
    for (const hn_json *v = put ? put->as.children.first : NULL; v; v = v->next) {
        const hn_json *was = hn_json_get(base, v->key);
        static const char *const strange[] = { "no_such_key", "extrapolation_factor", "full_attention" };
        for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
            if (!strcmp(v->key, strange[i]) && !was)
                return true;
        if (v->kind == HN_JSON_OBJECT && has_added(was, v))
            return true;
    }
    return false;
}

static bool is_added(const subject *s, const hn_json *put, const hn_json *take)
{
    const hn_json *base = hn_json_root(s->dir.base);
    for (const hn_json *v = put ? put->as.children.first : NULL; v; v = v->next)
        if (!hn_json_get(base, v->key) && (!take || !strcmp(v->key, "layer_types")))
            return true;
    return has_added(base, put);
}

static hn_status convert(const subject *s)
{
    hn_convert_options o = { 0 };
    hn_watch watch = { 0 };
    HN_TRY(hn_recipe_named("f32", &o.recipe));
    return hn_convert(&heap, pool, s->dir.path, hn_sink_own(s->dir.gguf), &o, &watch);
}

/* One case of each result is enough: what changed nothing has nothing to lose. */
static void check_gguf(subject *s, int64_t answer, const float *want, const char *what)
{
    float got[PICKED];
    if (s->is_converted[answer])
        return;
    s->is_converted[answer] = true;
    hn_status status = convert(s);
    if (status == HN_OK)
        status = run(s, s->dir.gguf, got);
    else if (lists)
        printf("not converted %s: %s\n      %s\n", s->name, what, hn_error_message());
    *(status == HN_OK ? &s->tally.converted : &s->tally.unconverted) += 1;
    if (status != HN_OK) {
        CHECK_THAT(status == HN_ERR_FORMAT || status == HN_ERR_UNSUPPORTED,
                   "%s: %s: convert ends as %d: %s", s->name, what, (int)status, hn_error_message());
        return;
    }
    const double d = distance(got, want);
    CHECK_THAT(d <= 1e-5, "%s: %s: its GGUF is at a distance of %.3g", s->name, what, d);
}

static void check_case(subject *s, const hn_json *c)
{
    const hn_json *put = hn_json_get(c, "put"), *take = hn_json_get(c, "take");
    const hn_json *is = hn_json_get(c, "is");
    char what[1024];
    float got[PICKED];
    tally *t = &s->tally;
    if (!model_dir_write(&s->dir, put, take))
        return;
    const hn_status status = run(s, s->dir.path, got);
    const bool added = is_added(s, put, take), ran = is->kind == HN_JSON_INT;
    describe(c, what, sizeof what);
    *(added ? &t->added : &t->n) += 1;
    if (!added)
        t->ran += ran;
    if (status != HN_OK) {
        *(!ran ? &t->both : added ? &t->added_alone : &t->alone) += 1;
        t->drops += ran && !added && hn_json_get(c, "drops");
        CHECK_THAT(status == HN_ERR_FORMAT || status == HN_ERR_UNSUPPORTED,
                   "%s: %s: refused as %d: %s", s->name, what, (int)status, hn_error_message());
        if (ran && lists)
            printf("alone%s %s: %s\n      %s\n", added ? " (added)" : "", s->name, what,
                   hn_error_message());
        return;
    }
    const double d = ran ? distance(got, s->answers[is->as.integer]) : HUGE_VAL;
    const bool is_equal = d <= 1e-5;
    *(added ? &t->added_equal : &t->equal) += is_equal;
    t->wrong += !is_equal;
    if (ran && is_equal)
        check_gguf(s, is->as.integer, got, what);
    if (ran)
        CHECK_THAT(is_equal, "%s: %s: at a distance of %.3g", s->name, what, d);
    else
        CHECK_THAT(false, "%s: %s: taken, where Transformers refuses it", s->name, what);
}

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void read_answers(subject *s, const hn_json *list)
{
    for (const hn_json *v = list->as.children.first; v && s->n_answers < MAX_ANSWERS; v = v->next) {
        for (int i = 0; i < PICKED; i++) {
            uint32_t bits = 0;
            for (int b = 0; b < 4; b++) {
                const char *hex = v->as.string.text + 8 * i + 2 * b;
                bits |= (digit(hex[0]) << 4 | digit(hex[1])) << (8 * b);
            }
            memcpy(&s->answers[s->n_answers][i], &bits, 4);
        }
        s->n_answers++;
    }
}

static void report(const subject *s)
{
    const tally *t = &s->tally;
    printf("%-13s %4d cases: %4d equal, %4d refused by both, %2d of %3d by hone alone (%d for "
           "tensors left over), %d wrong; %d keys added: %d equal, %d refused alone; GGUF: %d "
           "equal, %d refused\n",
           s->name, t->n + t->added, t->equal, t->both, t->alone, t->ran, t->drops, t->wrong,
           t->added, t->added_equal, t->added_alone, t->converted, t->unconverted);
    all_ran += t->ran;
    all_alone += t->alone - t->drops;
    all_cases += t->n + t->added;
}

static void check_model(const char *name)
{
    char path[600];
    subject *s = hn_alloc(&heap, HN_TAG_TEXT, sizeof *s);
    if (!s)
        return;
    check_group(name);
    s->name = name;
    snprintf(path, sizeof path, "%s/tests/differential/config_keys/%s.json", HN_SOURCE_DIR, name);
    hn_json_text *text = json_read_file(&heap, path);
    if (text && model_dir_make(&s->dir, &heap, name)) {
        const hn_json *root = hn_json_root(text);
        s->n_tokens = hn_json_get(root, "tokens")->as.integer;
        read_answers(s, hn_json_get(root, "logits"));
        const hn_json *cases = hn_json_get(root, "cases");
        for (const hn_json *c = cases->as.children.first; c; c = c->next)
            check_case(s, c);
        report(s);
    }
    model_dir_remove(&s->dir);
    hn_json_free(text);
    hn_free(&heap, s);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
        "llama",  "llama-tied", "mistral",  "mixtral",    "qwen2",        "qwen3",   "qwen3moe", "gemma2",
        "gemma3", "gemma4-e",   "gemma4-moe", "gemma4-dense", "gpt-oss", "smollm3", "granite",  "bert",
        "deepseek-v2", "deepseek-v2-groups", "deepseek-v3",
        "olmoe", "granitemoe", "granitemoe-shared", "phi3", "phi4-mini",
        "gpt2",   "gemma3n",
    };
    const hn_device_options open = { .n_threads = 1 };
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        lists = lists || !strcmp(argv[i], "--list");
        only = argv[i][0] != '-' ? argv[i] : only;
    }
    check_open(1, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK_OK(hn_devices_open(&heap, "cpu", &open, &n_devices, devices))) {
        CHECK_OK(hn_pool_new(&heap, 1, &pool));
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (!only || !strcmp(only, names[i]))
                check_model(names[i]);
        hn_pool_free(pool);
        hn_devices_close(n_devices, devices);
    }
    printf("%d cases; hone alone refuses %d of the %d that Transformers runs: %.1f %%\n", all_cases,
           all_alone, all_ran, 100.0 * all_alone / (all_ran ? all_ran : 1));
    CHECK_THAT(20 * all_alone <= all_ran || only, "more than 5 %%");
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
