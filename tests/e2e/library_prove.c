/* Certificates through the public functions alone: what they say is what `hone prove` writes, to the byte; what does not hold is
 * an error that nobody forgets, and is named; every check is told; cancellation, refusals, and memory that is not there. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *hone;
static char dir[256], chats[300], zeros[300];

enum { ROOM = 1 << 20 };
static char own[ROOM], written[ROOM];

static bool shell(const char *words)
{
    char line[4096];
    snprintf(line, sizeof line, "cd '%s' && HONE='%s' && { %s; } >out 2>err", dir, hone, words);
    return CHECK_THAT(system(line) == 0, "%s", line);
}

static void reads(const char *name, char to[ROOM])
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "r");
    size_t n = 0;
    if (CHECK_THAT(f != NULL, "%s", path)) {
        n = fread(to, 1, ROOM - 1, f);
        fclose(f);
    }
    to[n] = 0;
}

static hn_examples *open_examples(hn_engine *engine, const char *model)
{
    const char *data = chats;
    const hn_examples_spec spec = { .size = sizeof spec, .model = model, .data = &data, .n_data = 1 };
    hn_examples *e = NULL;
    CHECK_OK(hn_examples_open(&e, engine, &spec));
    return e;
}

/* ---- what is told ---- */

typedef struct told {
    int64_t n, n_failed;
    hn_engine *ends; /* once `at` checks were told */
    int64_t at;
} told;

static void on_check(void *context, const hn_prove_check *check)
{
    told *t = context;
    t->n++;
    t->n_failed += !check->holds;
    CHECK(check->subject[0] && check->kind[0] && check->where && check->holds == (check->error <= check->bound));
    if (t->ends && t->n == t->at)
        hn_engine_cancel(t->ends);
}

static void on_work(void *context, double done, const char *what)
{
    CHECK(done >= 0 && done <= 1 && what[0]);
    ++*(int *)context;
}

/* The certificate without how long it took. */
static void cut_seconds(char *json)
{
    char *from = strstr(json, "\"seconds\": ");
    if (CHECK(from != NULL)) {
        char *to = strchr(from, ',');
        memmove(from, to, strlen(to) + 1);
    }
}

static void check_rows(const hn_certificate *c)
{
    const hn_certificate_sum *sum = hn_certificate_get_sum(c);
    int64_t n = 0, failed = 0;
    size_t i = 0;
    for (const hn_certificate_row *row; (row = hn_certificate_get_row(c, i)) != NULL; i++) {
        n += row->n;
        failed += row->n_failed;
        CHECK(row->subject[0] && row->kind[0] && row->where && (row->n_failed > 0) == !(row->worst <= row->bound));
    }
    CHECK_INT((int64_t)sum->n_rows, (int64_t)i);
    CHECK_INT(sum->n_checks, n);
    CHECK_INT(sum->n_failed, failed);
}

/* What the program wrote of the same, as c.json and out; `begins`: lines of its own before the table. */
static void check_same(const hn_certificate *c, const char *words, int begins)
{
    size_t bytes = 0;
    if (!shell(words))
        return;
    CHECK_OK(hn_certificate_json(c, NULL, 0, &bytes));
    CHECK_OK(hn_certificate_json(c, own, sizeof own, &bytes));
    CHECK_INT((int64_t)strlen(own), (int64_t)bytes);
    reads("c.json", written);
    cut_seconds(own);
    cut_seconds(written);
    CHECK_TEXT(written, own);
    CHECK_OK(hn_certificate_table(c, own, sizeof own, &bytes));
    reads("out", written);
    char *table = written;
    for (int i = 0; i < begins; i++)
        table = strchr(table, '\n') + 1;
    CHECK_THAT(!strncmp(table, own, bytes), "%s", own);
}

/* ---- of a model ---- */

static void check_model(hn_engine *engine)
{
    char path[300];
    told t = { .n = 0 };
    int n_work = 0;
    hn_certificate *c = NULL;
    const hn_examples_prove_options o = { .size = sizeof o, .targets = "attn_q,attn_v", .rank = 2, .n_threads = 2, .seed = 5,
                                          .on_check = on_check, .context = &t };
    check_group("a model");
    hn_examples *e = open_examples(engine, hn_lm_builtin());
    hn_engine_on_work(engine, on_work, &n_work);
    CHECK_OK(hn_examples_prove(e, &o, &c));
    hn_engine_on_work(engine, NULL, NULL);
    hn_examples_close(e);
    const hn_certificate_sum *sum = hn_certificate_get_sum(c);
    if (!CHECK(c && sum))
        return;
    CHECK(sum->n_checks > 50 && !sum->n_failed && !sum->n_skipped && !sum->skipped[0] && sum->seconds > 0 && n_work > 3);
    CHECK_INT(sum->n_checks, t.n);
    CHECK_INT(0, t.n_failed);
    CHECK_THAT(strstr(sum->subject, "hone:tiny in f32: 2 of 3 layers") && strstr(sum->subject, "chats.jsonl"), "%s", sum->subject);
    check_rows(c);
    check_same(c, "$HONE prove hone:tiny --data $PWD/chats.jsonl --targets attn_q,attn_v --rank 2 --threads 2 --seed 5 --json c.json", 1);
    snprintf(path, sizeof path, "%s/own.json", dir);
    CHECK_OK(hn_certificate_write(c, path, 0));
    CHECK_FAILS(hn_certificate_write(c, path, 0), HN_ERR_ARGUMENT, "own.json");
    CHECK_OK(hn_certificate_write(c, path, 1));
    reads("own.json", written);
    size_t bytes;
    CHECK_OK(hn_certificate_json(c, own, sizeof own, &bytes));
    CHECK_TEXT(written, own);
    CHECK_FAILS(hn_certificate_json(c, own, 5, &bytes), HN_ERR_ARGUMENT, "room for 5 bytes");
    hn_certificate_free(c);
}

/* The digest of abc is in FIPS 180. */
static void check_result(hn_engine *engine)
{
    static const char says[] = "\"result\": \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\",\n";
    char path[300];
    size_t bytes;
    hn_certificate *c = NULL;
    snprintf(path, sizeof path, "%s/result", dir);
    hn_examples_prove_options o = { .size = sizeof o, .targets = "attn_q", .rank = 1, .n_threads = 2, .result = path };
    check_group("of which file it is");
    hn_examples *e = open_examples(engine, hn_lm_builtin());
    CHECK_FAILS(hn_examples_prove(e, &o, &c), HN_ERR_IO, "result");
    CHECK(!c);
    FILE *f = fopen(path, "wb");
    CHECK(f && fwrite("abc", 1, 3, f) == 3 && !fclose(f));
    if (CHECK_OK(hn_examples_prove(e, &o, &c)) && CHECK_OK(hn_certificate_json(c, own, sizeof own, &bytes)))
        CHECK_THAT(strstr(own, says), "%.600s", own);
    hn_certificate_free(c);
    hn_examples_close(e);
}

static void check_logits(hn_engine *engine)
{
    hn_certificate *c = NULL;
    hn_examples_prove_options o = { .size = sizeof o, .numerics = HN_LM_BF16, .n_threads = 2, .is_full = 1 };
    check_group("logits");
    hn_examples *e = open_examples(engine, hn_lm_builtin());
    if (CHECK_OK(hn_examples_prove(e, &o, &c))) {
        CHECK_TEXT("logits", hn_certificate_get_row(c, 0)->subject);
        check_same(c, "$HONE prove hone:tiny --data $PWD/chats.jsonl --numerics bf16 --threads 2 --full --json c.json --overwrite", 1);
    }
    hn_certificate_free(c);
    o.rank = 4;
    CHECK_FAILS(hn_examples_prove(e, &o, &c), HN_ERR_ARGUMENT, "nothing is trained in bf16");
    CHECK(!c);
    hn_examples_close(e);
}

/* Behind a matrix of zeros nothing has a gradient: the call fails, and the certificate says of what. */
static void check_failing(hn_engine *engine)
{
    told t = { .n = 0 };
    hn_certificate *c = NULL;
    const hn_examples_prove_options o = { .size = sizeof o, .targets = "blk.1.attn_q:r=2", .n_threads = 2, .is_full = 1,
                                          .on_check = on_check, .context = &t };
    check_group("what does not hold");
    hn_examples *e = open_examples(engine, zeros);
    CHECK_FAILS(hn_examples_prove(e, &o, &c), HN_ERR_PROOF, " checks failed");
    hn_examples_close(e);
    if (!CHECK(c != NULL))
        return;
    const hn_certificate_sum *sum = hn_certificate_get_sum(c);
    const hn_certificate_row *row = hn_certificate_get_row(c, 0);
    CHECK(sum->n_failed == 2 && t.n_failed == 2 && sum->n_checks > 2);
    CHECK(row->n_failed == 1 && !strcmp(row->subject, "blk.1.attn_q.weight.lora_a") && !strcmp(row->kind, "gradient"));
    CHECK_TEXT("it is exactly zero", row->where);
    check_rows(c);
    CHECK_OK(hn_certificate_table(c, own, sizeof own, NULL));
    CHECK_THAT(strstr(own, "FAILED blk.1.attn_q.weight.lora_b, gradient"), "%s", own);
    CHECK_OK(hn_certificate_json(c, own, sizeof own, NULL));
    CHECK(strstr(own, "\"failed\": 2,"));
    hn_certificate_free(c);
}

static void check_cancelling(hn_engine *engine)
{
    /* among differences, and among bits, where no share of the work is told */
    const int64_t at[] = { 2, 60 };
    check_group("cancelling");
    hn_examples *e = open_examples(engine, hn_lm_builtin());
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        told t = { .ends = engine, .at = at[i] };
        hn_certificate *c = NULL;
        hn_cancel *cancel;
        hn_examples_prove_options o = { .size = sizeof o, .targets = "attn_q:r=2", .rank = 2, .is_full = 1, .n_threads = 2,
                                        .on_check = on_check, .context = &t };
        CHECK_FAILS(hn_examples_prove(e, &o, &c), HN_ERR_CANCELLED, "");
        CHECK_THAT(!c && t.n >= at[i] && t.n < at[i] + 20, "%lld told", (long long)t.n);
        hn_engine_resume(engine);
        o.on_check = NULL;
        if (CHECK_OK(hn_cancel_new(&cancel, engine))) {
            hn_cancel_set(cancel);
            hn_cancel_heed(cancel);
            CHECK_FAILS(hn_examples_prove(e, &o, &c), HN_ERR_CANCELLED, "");
            hn_cancel_heed(NULL);
            hn_cancel_free(cancel);
        }
    }
    /* A program of a large model may run for minutes: it is looked at between its steps, not where one is made alone. */
    enum { MANY = 1 << 30 };
    hn_certificate *c = NULL;
    hn_examples_prove_options o = { .size = sizeof o, .targets = "attn_q:r=2", .rank = 2, .n_threads = 2 };
    hn_engine_cancel_at(engine, MANY);
    CHECK_OK(hn_examples_prove(e, &o, &c));
    const int64_t looks = MANY - hn_engine_cancel_at(engine, 0);
    CHECK_THAT(looks > 30 * hn_certificate_get_sum(c)->n_checks, /* 74; 13 are gradients' and plans' */
               "%lld looks in %lld checks", (long long)looks,
               (long long)hn_certificate_get_sum(c)->n_checks);
    hn_certificate_free(c);
    hn_examples_close(e);
}

/* ---- of the build ---- */

static void check_build(hn_engine *engine)
{
    told t = { .n = 0 };
    hn_certificate *c = NULL;
    hn_engine_prove_options o = { .size = sizeof o, .ops = "silu*", .n_threads = 2, .on_check = on_check, .context = &t };
    check_group("the build");
    if (CHECK_OK(hn_engine_prove(engine, &o, &c))) {
        CHECK_TEXT("this build", hn_certificate_get_sum(c)->subject);
        CHECK_INT(hn_certificate_get_sum(c)->n_checks, t.n);
        check_rows(c);
        check_same(c, "$HONE prove --ops 'silu*' --time-limit 0 --threads 2 --json c.json --overwrite", 0);
    }
    hn_certificate_free(c);
    t = (told){ .ends = engine, .at = 3 };
    o.ops = NULL;
    CHECK_FAILS(hn_engine_prove(engine, &o, &c), HN_ERR_CANCELLED, "stopped");
    CHECK(!c);
    hn_engine_resume(engine);
    o.ops = "no_such*";
    CHECK_FAILS(hn_engine_prove(engine, &o, &c), HN_ERR_ARGUMENT, "no op matches 'no_such*'");
    o = (hn_engine_prove_options){ .size = sizeof o, .n_threads = 9 };
    CHECK_FAILS(hn_engine_prove(engine, &o, &c), HN_ERR_ARGUMENT, "n_threads");
    o = (hn_engine_prove_options){ .size = sizeof o, .seconds = -1 };
    CHECK_FAILS(hn_engine_prove(engine, &o, &c), HN_ERR_ARGUMENT, "seconds");
    CHECK_FAILS(hn_engine_prove(NULL, NULL, &c), HN_ERR_ARGUMENT, "NULL");
}

/* ---- refusals ---- */

static void check_refusals(hn_engine *engine)
{
    const struct {
        const char *words;
        hn_examples_prove_options o;
    } bad[] = {
        { "rank", { .size = sizeof bad[0].o, .rank = -1 } },
        { "directions", { .size = sizeof bad[0].o, .directions = 1001 } },
        { "n_threads", { .size = sizeof bad[0].o, .n_threads = 1 } },
        { "numerics", { .size = sizeof bad[0].o, .numerics = (hn_lm_numerics)9 } },
        { "matches no tensor", { .size = sizeof bad[0].o, .targets = "no_such" } },
        { "size", { .size = 3 } },
    };
    hn_certificate *c = NULL;
    check_group("refusals");
    hn_examples *e = open_examples(engine, hn_lm_builtin());
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_FAILS(hn_examples_prove(e, &bad[i].o, &c), HN_ERR_ARGUMENT, bad[i].words);
        CHECK(!c);
    }
    CHECK_FAILS(hn_examples_prove(NULL, NULL, &c), HN_ERR_ARGUMENT, "NULL");
    CHECK_FAILS(hn_examples_prove(e, NULL, NULL), HN_ERR_ARGUMENT, "NULL");
    hn_examples_close(e);
    CHECK(!hn_certificate_get_sum(NULL) && !hn_certificate_get_row(NULL, 0));
    CHECK_FAILS(hn_certificate_table(NULL, own, sizeof own, NULL), HN_ERR_ARGUMENT, "NULL");
    CHECK_FAILS(hn_certificate_json(NULL, own, sizeof own, NULL), HN_ERR_ARGUMENT, "NULL");
    CHECK_FAILS(hn_certificate_write(NULL, "x", 0), HN_ERR_ARGUMENT, "NULL");
    hn_certificate_free(NULL);
}

/* Allocations on the way refused, one a try: a status, and nothing lost. */
static void check_memory(hn_engine *engine)
{
    const hn_examples_prove_options o = { .size = sizeof o, .targets = "blk.1.attn_q:r=2", .n_threads = 2 };
    int64_t before, after, nth;
    int refused = 0;
    check_group("memory");
    hn_engine_memory(engine, &before, NULL, NULL);
    for (nth = 1; nth < 40000; nth += nth < 40 ? 1 : nth / 9) {
        hn_certificate *c = NULL;
        hn_examples *e = open_examples(engine, zeros);
        hn_engine_fail_allocation(engine, nth);
        const hn_status status = hn_examples_prove(e, &o, &c);
        hn_engine_fail_allocation(engine, 0);
        CHECK((c != NULL) == (status == HN_ERR_PROOF));
        hn_certificate_free(c);
        hn_examples_close(e);
        hn_engine_memory(engine, &after, NULL, NULL);
        if (!CHECK_INT(before, after) || status == HN_ERR_PROOF)
            break;
        CHECK_INT(HN_ERR_MEMORY, status);
        refused++;
    }
    CHECK_THAT(refused > 50 && nth < 40000, "%d allocations refused", refused);
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    const char *temp = getenv("TMPDIR");
    check_open(argc, argv);
    hone = check_option("--hone");
    if (!CHECK_THAT(hone != NULL, "expected --hone PROGRAM"))
        return check_close();
    snprintf(dir, sizeof dir, "%.180s/hone-prove-XXXXXX", temp ? temp : "/tmp");
    CHECK(mkdtemp(dir));
    snprintf(chats, sizeof chats, "%s/chats.jsonl", dir);
    snprintf(zeros, sizeof zeros, "%s/zeros.gguf", dir);
    FILE *f = fopen(chats, "w");
    CHECK(f && fputs("{\"messages\":[{\"role\":\"user\",\"content\":\"Where was the ring?\"},"
                     "{\"role\":\"assistant\",\"content\":\"It was at the mill\"}]}\n"
                     "{\"messages\":[{\"role\":\"user\",\"content\":\"Where was the cup?\"},"
                     "{\"role\":\"assistant\",\"content\":\"It was at the lake\"}]}\n", f) >= 0 && !fclose(f));
    /* a model with one matrix of zeros */
    shell("$HONE new --first spread llama zeros.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64 && "
          "from_end=$($HONE inspect zeros.gguf --tensors | awk '$1 == \"blk.1.attn_output.weight\" { on = 1; bytes = $NF } "
          "on { sum += $NF } END { print sum, bytes }') && size=$(wc -c <zeros.gguf) && "
          "dd if=/dev/zero of=zeros.gguf bs=1 seek=$((size - ${from_end% *})) count=${from_end#* } conv=notrunc");
    if (CHECK_OK(hn_engine_new(&engine, NULL))) {
        check_model(engine);
        check_result(engine);
        check_logits(engine);
        check_failing(engine);
        check_cancelling(engine);
        check_build(engine);
        check_refusals(engine);
        check_memory(engine);
        hn_engine_free(engine);
    }
    check_group(NULL);
    char line[400];
    snprintf(line, sizeof line, "rm -rf '%s'", dir);
    CHECK_INT(0, system(line));
    return check_close();
}
