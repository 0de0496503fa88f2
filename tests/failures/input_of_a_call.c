/* INPUT-OF-A-CALL: what a call of the library reads is not what it writes, also with `overwrite`, also where the file was read and
 * closed long before the output is named; and a session is not saved over a model that is open. Each is refused, the file is as it
 * was, and the next call may replace it. The program, whose process is one command, is output_over_input.sh's. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hn_engine *engine;
static char folder[] = "/tmp/hone-inputs-XXXXXX";
static char text[64], model[64], words[64], weights[64], held[64], adapter[4200], form[64];

static char *in(char path[64], const char *name)
{
    snprintf(path, 64, "%s/%s", folder, name);
    return path;
}

/* ---- calls that write over what they read ---- */

static hn_status make_tokenizer(const char *out)
{
    const char *const texts[] = { text };
    const hn_lm_tokenizer_options o = { .size = sizeof o, .overwrite = 1, .tokens = 300 };
    int64_t n;
    return hn_lm_make_tokenizer(engine, texts, 1, out, &o, &n);
}

static hn_status make_model(const char *out)
{
    const hn_lm_make_options o = { .size = sizeof o, .overwrite = 1, .tokenizer = words };
    return hn_lm_make(engine, "llama", out, &o);
}

static hn_status quantize(const char *out)
{
    const hn_lm_quantize_options o = { .size = sizeof o, .overwrite = 1, .imatrix = weights, .requantize = 1 };
    return hn_lm_quantize(engine, model, out, "q4_0", &o);
}

static hn_status merge(const char *out)
{
    const hn_lm_merge_options o = { .size = sizeof o, .overwrite = 1, .is_forced = 1, .held = held };
    hn_lm_merge_report *report = NULL;
    const hn_status status = hn_lm_merge(engine, model, adapter, out, &o, &report);
    hn_lm_merge_report_free(report);
    return status;
}

static hn_status export_adapter(const char *out)
{
    const hn_lm_export_options o = { .size = sizeof o, .overwrite = 1, .base = model };
    return hn_lm_export_gguf(engine, adapter, out, &o);
}

/* ---- */

static char *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    *n = 0;
    if (!CHECK(f != NULL))
        return NULL;
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    bytes = malloc(*n + 1);
    CHECK(fread(bytes, 1, *n, f) == *n);
    fclose(f);
    return bytes;
}

static void refuses(const char *what, hn_status (*call)(const char *out), const char *input)
{
    char link_to_it[64], elsewhere[64];
    size_t n, after;
    check_group(what);
    char *before = read_all(input, &n);
    CHECK_FAILS(call(input), HN_ERR_ARGUMENT, "is an input too");
    CHECK_INT(0, symlink(input, in(link_to_it, "link")));
    CHECK_FAILS(call(link_to_it), HN_ERR_ARGUMENT, "is an input too");
    unlink(link_to_it);
    char *now = read_all(input, &after);
    CHECK(before && now && n == after && !memcmp(before, now, n));
    free(before);
    free(now);
    CHECK_OK(call(in(elsewhere, "elsewhere")));
    CHECK_OK(call(elsewhere)); /* what another call wrote is an input to nobody */
    unlink(elsewhere);
}

/* A call that has returned reads no more. */
static void check_later(void)
{
    char copy[64];
    check_group("a call that has returned");
    hn_lm_make_options o = { .size = sizeof o, .overwrite = 1, .tokenizer = words };
    CHECK_OK(hn_lm_make(engine, "llama", in(copy, "copy.gguf"), &o));
    o.tokenizer = copy;
    char other[64];
    CHECK_OK(hn_lm_make(engine, "llama", in(other, "other.gguf"), &o));
    o.tokenizer = words;
    CHECK_OK(hn_lm_make(engine, "llama", copy, &o));
}

static void check_session(void)
{
    hn_lm *lm = NULL;
    hn_lm_session *session = NULL;
    hn_lm_batch *batch = NULL;
    const int32_t ids[] = { 5, 6, 7 };
    char path[64];
    size_t n, after;
    int32_t sequence;
    check_group("a session over a model that is open");
    char *before = read_all(model, &n);
    if (CHECK_OK(hn_lm_open(&lm, engine, model, NULL)) && CHECK_OK(hn_lm_session_new(&session, lm, NULL)) &&
        CHECK_OK(hn_lm_batch_new(&batch, lm, NULL)) && CHECK_OK(hn_lm_session_feed(session, ids, 3)) &&
        CHECK_OK(hn_lm_batch_open(batch, -1, &sequence))) {
        const hn_lm_batch_piece piece = { sizeof piece, sequence, 1, ids, 3 };
        CHECK_OK(hn_lm_batch_step(batch, &piece, 1));
        CHECK_FAILS(hn_lm_session_save(session, model), HN_ERR_ARGUMENT, "is an input too");
        CHECK_FAILS(hn_lm_batch_save(batch, sequence, model), HN_ERR_ARGUMENT, "is an input too");
        CHECK_OK(hn_lm_session_save(session, in(path, "s.session")));
        CHECK_OK(hn_lm_session_load(session, path));
        CHECK_OK(hn_lm_session_feed(session, ids, 3));
        CHECK_OK(hn_lm_session_save(session, path)); /* its own file, that it was read from */
    }
    hn_lm_batch_free(batch);
    hn_lm_session_free(session);
    hn_lm_close(lm);
    char *now = read_all(model, &after);
    CHECK(before && now && n == after && !memcmp(before, now, n));
    free(before);
    free(now);
}

static bool put(const char *path, const char *line, int times)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; f && i < times; i++)
        fputs(line, f);
    return f && !fclose(f);
}

static bool make_files(void)
{
    char run[64];
    const char *settings[] = { "steps=2", "rank=2", "batch=1" }, *data[] = { form };
    const hn_lm_quantize_options q = { .size = sizeof q, .requantize = 1 };
    hn_finetune_result result;
    hn_lm *lm = NULL;
    int32_t ids[600];
    if (!CHECK(mkdtemp(folder)))
        return false;
    const hn_finetune_spec spec = { .size = sizeof spec, .model = in(model, "m.gguf"), .data = data, .n_data = 1,
                                    .settings = settings, .n_settings = 3, .out = in(run, "run") };
    for (int i = 0; i < 600; i++)
        ids[i] = 5 + 11 * i % 200;
    bool ok = CHECK(put(in(text, "x.txt"), "Once upon a time there were three dogs, 1234 of them.\n", 200)) &&
              CHECK(put(in(held, "held.txt"), "One day the dog went to the park and was happy there.\n", 60)) &&
              CHECK(put(in(form, "d.jsonl"), "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                                             "{\"role\":\"assistant\",\"content\":\"b\"}]}\n", 4)) &&
              CHECK_OK(hn_lm_quantize(engine, hn_lm_builtin(), model, "bf16", &q)) &&
              CHECK_OK(make_tokenizer(in(words, "words.gguf"))) &&
              CHECK_OK(hn_lm_open(&lm, engine, model, NULL)) &&
              CHECK_OK(hn_lm_write_imatrix(lm, ids, 600, in(weights, "im.gguf"), NULL));
    hn_lm_close(lm);
    ok = ok && CHECK_OK(hn_finetune(engine, &spec, &result, sizeof result));
    if (ok)
        snprintf(adapter, sizeof adapter, "%s", result.path);
    return ok;
}

int main(int argc, char **argv)
{
    char line[96];
    const hn_engine_options o = { .size = sizeof o, .n_threads = 2 };
    check_open(argc, argv);
    if (CHECK_OK(hn_engine_new(&engine, &o)) && make_files()) {
        refuses("a tokenizer over its texts", make_tokenizer, text);
        refuses("a model over its tokenizer", make_model, words);
        refuses("weights over their importance", quantize, weights);
        refuses("weights over themselves", quantize, model);
        refuses("a merge over what it is measured on", merge, held);
        refuses("a merge over its adapter", merge, adapter);
        refuses("an adapter over itself", export_adapter, adapter);
        refuses("an adapter over its base", export_adapter, model);
        check_later();
        check_session();
    }
    hn_engine_free(engine);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    CHECK_INT(0, system(line));
    return check_close();
}
