/* A run step by step, through the public functions alone: planned, in the order that is asked, cancelled and taken up, to the
 * bits of hone train; its samples and its page; on all devices of its engine, within its memory, which is given back. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_STEPS = 5 };

static const char *hone;
static char dir[256], model[300], chats[300];
static const char *const settings[] = { "steps=5", "rate=0.002", "rank=4", "batch=2" };
static const char options[] = "--steps 5 --rate 0.002 --rank 4 --batch 2 --samples 1";

static bool shell(const char *words)
{
    char line[4096];
    snprintf(line, sizeof line, "cd '%s' && HONE='%s' && { %s; } >out 2>err", dir, hone, words);
    return CHECK_THAT(system(line) == 0, "%s", line);
}

static const char *in_dir(const char *name)
{
    static char paths[16][300]; /* kept for as long as a test has them */
    static int next;
    char *path = paths[next++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void read_file(const char *name, char *to, size_t room)
{
    FILE *f = fopen(in_dir(name), "r");
    const size_t n = f ? fread(to, 1, room - 1, f) : 0;
    to[n] = 0;
    CHECK_THAT(f && n, "%s", name);
    if (f)
        fclose(f);
}

static hn_examples *open_examples(hn_engine *engine)
{
    hn_examples *e = NULL;
    const char *data = chats;
    const hn_examples_spec spec = { .size = sizeof spec, .model = model, .data = &data, .n_data = 1 };
    CHECK_OK(hn_examples_open(&e, engine, &spec));
    return e;
}

typedef struct heard {
    hn_engine *engine;
    int64_t steps, saved, cancels_at;
} heard;

static void on_step(void *context, const hn_finetune_step *s)
{
    heard *h = context;
    h->steps++;
    CHECK(s->n_steps == N_STEPS && s->loss > 0 && s->tokens > 0);
    if (s->step == h->cancels_at)
        hn_engine_cancel(h->engine);
}

static void on_saved(void *context, const char *path)
{
    ((heard *)context)->saved++;
    CHECK(strstr(path, ".ckpt"));
}

static hn_finetune_run_options options_of(const char *out, heard *h)
{
    return (hn_finetune_run_options){ .size = sizeof(hn_finetune_run_options), .settings = settings, .n_settings = 4,
                                      .out = out, .samples = 1, .command = "a word of ours", .context = h,
                                      .on_step = on_step, .on_saved = on_saved };
}

/* ---- what is planned ---- */

static void check_layout(hn_engine *engine)
{
    const char *const mixed[] = { "targets=attn_q:dora,attn_k:r=2,norm:full", "optimizer=lion", "schedule=linear",
                                  "rate=0.25", "seed=7" };
    const char *const full[] = { "targets=norm:full" }, *const of_data[] = { "plain" }, *const dpo[] = { "goal=dpo" };
    hn_finetune_run *run = NULL;
    hn_finetune_result result;
    check_group("layout");
    hn_examples *e = open_examples(engine);
    hn_finetune_run_options o = { .size = sizeof o, .settings = mixed, .n_settings = 5 };
    if (e && CHECK_OK(hn_finetune_run_new(&run, e, &o))) {
        const hn_finetune_layout *l = hn_finetune_run_get_layout(run);
        CHECK_THAT(l->n_dora > 0 && l->n_lora == l->n_dora && l->n_full > l->n_lora, "%d, %d, %d", (int)l->n_dora,
                   (int)l->n_lora, (int)l->n_full);
        CHECK(l->share > 0 && l->share < 1 && !l->judges_answers && !l->is_model && l->seed == 7);
        CHECK(l->rate > 0.24 && l->rate < 0.26 && !strcmp(l->optimizer, "lion") && !strcmp(l->schedule, "linear"));
        CHECK(l->estimate->n_steps == 1 && l->estimate->n_examples == 6 && l->estimate->total_bytes > 0);
        CHECK_FAILS(hn_finetune_run_go(run), HN_ERR_ARGUMENT, "out: expected a folder");
        CHECK_FAILS(hn_finetune_run_resume(run, NULL, NULL), HN_ERR_ARGUMENT, "out: expected a folder");
        CHECK_FAILS(hn_finetune_run_finish(run, &result, sizeof result), HN_ERR_ARGUMENT, "out: expected a folder");
        hn_finetune_run_free(run);
    }
    o.settings = full;
    o.n_settings = 1;
    if (e && CHECK_OK(hn_finetune_run_new(&run, e, &o)))
        CHECK(hn_finetune_run_get_layout(run)->is_model && !hn_finetune_run_get_layout(run)->n_lora);
    hn_finetune_run_free(run);
    o.settings = of_data;
    CHECK_FAILS(hn_finetune_run_new(&run, e, &o), HN_ERR_ARGUMENT, "unknown option --plain");
    CHECK(!run);
    o.settings = dpo;
    CHECK_FAILS(hn_finetune_run_new(&run, e, &o), HN_ERR_ARGUMENT, "dpo");
    o = (hn_finetune_run_options){ .size = sizeof o, .samples = 65 };
    CHECK_FAILS(hn_finetune_run_new(&run, e, &o), HN_ERR_ARGUMENT, "samples");
    CHECK_FAILS(hn_finetune_run_new(&run, NULL, &o), HN_ERR_ARGUMENT, "NULL");
    hn_finetune_run_free(NULL);
    CHECK(!hn_finetune_run_get_layout(NULL));
    hn_examples_close(e);
}

/* ---- from the first step to the page ---- */

static void check_page(hn_finetune_run *run)
{
    static char text[1 << 20];
    hn_finetune_page page;
    hn_finetune_result again;
    if (!CHECK_OK(hn_finetune_run_report(run, &page, sizeof page)))
        return;
    CHECK(strstr(page.path, "whole/report.html") && !page.left_out[0]);
    read_file("whole/report.html", text, sizeof text);
    CHECK(strstr(text, "a word of ours"));
    read_file("whole/samples.json", text, sizeof text);
    CHECK(strstr(text, "\"before\"") && strstr(text, "\"after\""));
    read_file("whole/run.toml", text, sizeof text);
    CHECK(strstr(text, "samples = 1\n") && strstr(text, "threads = 2\n"));
    shell("! $HONE train tiny.gguf --data chats.jsonl --out whole --overwrite $OPTIONS 2>busy && grep -q 'it works there' busy");
    CHECK_FAILS(hn_finetune_run_report(run, &page, sizeof page), HN_ERR_ARGUMENT, "in this order");
    CHECK_FAILS(hn_finetune_run_finish(run, &again, sizeof again), HN_ERR_ARGUMENT, "in this order");
    CHECK_FAILS(hn_finetune_run_go(run), HN_ERR_ARGUMENT, "in this order");
}

static void check_whole(hn_engine *engine, char digest[65])
{
    heard h = { .engine = engine };
    hn_finetune_run *run = NULL;
    hn_finetune_result result;
    hn_finetune_page page;
    char want[256];
    int64_t step;
    check_group("whole");
    hn_examples *e = open_examples(engine);
    hn_finetune_run_options o = options_of(in_dir("whole"), &h);
    shell("$HONE train tiny.gguf --data chats.jsonl --out cli $OPTIONS && sed -n 's/^sha256 //p' out >digest");
    read_file("digest", want, sizeof want);
    digest[0] = 0;
    if (e && CHECK_OK(hn_finetune_run_new(&run, e, &o))) {
        CHECK_FAILS(hn_finetune_run_finish(run, &result, sizeof result), HN_ERR_ARGUMENT, "in this order");
        CHECK_FAILS(hn_finetune_run_report(run, &page, sizeof page), HN_ERR_ARGUMENT, "in this order");
        CHECK_FAILS(hn_finetune_run_resume(run, &step, NULL), HN_ERR_IO, "no run to go on with");
        CHECK_OK(hn_finetune_run_go(run));
        CHECK_FAILS(hn_finetune_run_report(run, &page, sizeof page), HN_ERR_ARGUMENT, "in this order");
        if (CHECK_OK(hn_finetune_run_finish(run, &result, sizeof result))) {
            CHECK(!strncmp(want, result.sha256, 64) && result.n_steps == N_STEPS && result.verdict[0]);
            snprintf(digest, 65, "%s", result.sha256);
            check_page(run);
        }
        CHECK(h.steps == N_STEPS && h.saved > 0);
        hn_finetune_run_free(run);
    }
    if (e && CHECK_OK(hn_finetune_run_new(&run, e, &o))) /* what is there is not written over */
        CHECK_FAILS(hn_finetune_run_go(run), HN_ERR_ARGUMENT, "whole");
    hn_finetune_run_free(run);
    hn_examples_close(e);
}

static void check_parts(hn_engine *engine, const char *digest)
{
    heard h = { .engine = engine, .cancels_at = 3 };
    hn_finetune_run *run = NULL;
    hn_finetune_result result;
    int64_t step = -1;
    int32_t is_old = -1;
    check_group("parts");
    hn_examples *e = open_examples(engine);
    hn_finetune_run_options o = options_of(in_dir("parts"), &h);
    if (e && CHECK_OK(hn_finetune_run_new(&run, e, &o))) {
        CHECK_FAILS(hn_finetune_run_go(run), HN_ERR_CANCELLED, "stopped after step 3 of 5");
        CHECK_FAILS(hn_finetune_run_finish(run, &result, sizeof result), HN_ERR_ARGUMENT, "in this order");
        CHECK(!result.sha256[0] && access(in_dir("parts/adapter.gguf"), F_OK));
    }
    hn_finetune_run_free(run);
    hn_engine_resume(engine);
    h.cancels_at = 0;
    if (e && CHECK_OK(hn_finetune_run_new(&run, e, &o)) && CHECK_OK(hn_finetune_run_resume(run, &step, &is_old))) {
        CHECK(step == 3 && !is_old);
        CHECK_OK(hn_finetune_run_go(run));
        CHECK_OK(hn_finetune_run_finish(run, &result, sizeof result));
        CHECK_TEXT(digest, result.sha256);
        CHECK_INT(N_STEPS, h.steps);
    }
    hn_finetune_run_free(run);
    hn_examples_close(e);
}

/* ---- the engine's devices and memory ---- */

static void check_devices(const char *digest)
{
    hn_engine *one, *two;
    hn_finetune_estimate of_one = { 0 }, of_two = { 0 };
    hn_finetune_result result = { .path = "" };
    const char *data = chats;
    char out[300];
    snprintf(out, sizeof out, "%s/two", dir);
    const hn_finetune_spec spec = { .size = sizeof spec, .model = model, .data = &data, .n_data = 1, .out = out,
                                    .settings = settings, .n_settings = 4 };
    check_group("devices");
    if (!CHECK_OK(hn_engine_new(&one, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 1 })))
        return;
    CHECK_OK(hn_finetune_plan(one, &spec, &of_one, sizeof of_one));
    hn_engine_free(one);
    const hn_engine_options both = { .size = sizeof both, .devices = "cpu,cpu", .n_threads = 1 };
    if (!CHECK_OK(hn_engine_new(&two, &both)))
        return;
    CHECK_OK(hn_finetune_plan(two, &spec, &of_two, sizeof of_two));
    CHECK_THAT(of_one.workspace_bytes != of_two.workspace_bytes, "%zu bytes of workspace on one device, %zu on two",
               of_one.workspace_bytes, of_two.workspace_bytes);
    CHECK_OK(hn_finetune(two, &spec, &result, sizeof result));
    CHECK_TEXT(digest, result.sha256);
    hn_engine_free(two);
}

/* To its page within what it was told, which is the engine's no more when it is freed. */
static void run_within(hn_examples *e)
{
    const char *const few[] = { "memory=26M", "steps=1" };
    const hn_finetune_run_options o = { .size = sizeof o, .settings = few, .n_settings = 2, .out = in_dir("within"),
                                        .samples = 1 };
    hn_finetune_run *run = NULL;
    hn_finetune_result result;
    hn_finetune_page page;
    if (!CHECK_OK(hn_finetune_run_new(&run, e, &o)))
        return;
    CHECK_OK(hn_finetune_run_go(run));
    CHECK_OK(hn_finetune_run_finish(run, &result, sizeof result));
    CHECK_OK(hn_finetune_run_report(run, &page, sizeof page));
    hn_finetune_run_free(run);
}

static void check_memory(hn_engine *engine)
{
    const char *const least[] = { "memory=26M" };
    int64_t wide, narrow, after, before, live;
    hn_finetune_run *run = NULL;
    hn_finetune_run_options o = { .size = sizeof o };
    check_group("memory");
    hn_engine_memory(engine, &before, NULL, NULL);
    hn_examples *e = open_examples(engine);
    if (!e || !CHECK_OK(hn_finetune_run_new(&run, e, &o)))
        return;
    wide = (int64_t)hn_finetune_run_get_layout(run)->estimate->workspace_bytes;
    hn_finetune_run_free(run);
    o.settings = least;
    o.n_settings = 1;
    if (CHECK_OK(hn_finetune_run_new(&run, e, &o))) {
        narrow = (int64_t)hn_finetune_run_get_layout(run)->estimate->workspace_bytes;
        CHECK_THAT(narrow < wide, "%lld bytes, and %lld within 26M", (long long)wide, (long long)narrow);
        hn_finetune_run_free(run);
    }
    o.n_settings = 0;
    run_within(e);
    if (CHECK_OK(hn_finetune_run_new(&run, e, &o))) { /* the limit was the run's alone */
        after = (int64_t)hn_finetune_run_get_layout(run)->estimate->workspace_bytes;
        CHECK_INT(wide, after);
        hn_finetune_run_free(run);
    }
    hn_examples_close(e);
    hn_engine_memory(engine, &live, NULL, NULL);
    CHECK_INT(before, live);
}

static void write_chats(void)
{
    static const char *const places[] = { "mill", "lake", "inn", "cafe", "pool", "port" };
    snprintf(chats, sizeof chats, "%s/chats.jsonl", dir);
    FILE *f = fopen(chats, "w");
    for (int i = 0; f && i < 6; i++)
        fprintf(f, "{\"messages\":[{\"role\":\"user\",\"content\":\"Where was number %d?\"},"
                   "{\"role\":\"assistant\",\"content\":\"It was at the %s\"}]}\n", i, places[i]);
    CHECK(f && !fclose(f));
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    const char *temp = getenv("TMPDIR");
    char digest[65], line[400];
    check_open(argc, argv);
    hone = check_option("--hone");
    if (!CHECK_THAT(hone != NULL, "expected --hone PROGRAM"))
        return check_close();
    snprintf(dir, sizeof dir, "%.180s/hone-run-XXXXXX", temp ? temp : "/tmp");
    CHECK(mkdtemp(dir) && !setenv("OPTIONS", options, 1));
    /* Any level but a matrix unit's, whose squares take each thread a megabyte: what memory it is told is tight. */
    CHECK(!setenv("HN_ISA_MASK", "avxvnni+avx512vnni+avx512bf16+neon", 1));
    snprintf(model, sizeof model, "%s/tiny.gguf", dir);
    write_chats();
    shell("$HONE tiny tiny.gguf");
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 }))) {
        check_layout(engine);
        check_whole(engine, digest);
        check_parts(engine, digest);
        check_devices(digest);
        check_memory(engine);
        hn_engine_free(engine);
    }
    check_group(NULL);
    snprintf(line, sizeof line, "rm -rf '%s'", dir);
    CHECK_INT(0, system(line));
    return check_close();
}
