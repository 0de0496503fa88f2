/* OLD NUMERICS: what one definition of a mode left is gone on with in another, and nobody says so. A session's file, saved logits and
 * an adapter, each with every word that was ever written there put in its place, are taken by definition and refused by name; and an
 * adapter in a mode that is not its own goes by its budget. */
#include "base/heap.h"
#include "infer/adapter.h"
#include "infer/perplexity.h"
#include "infer/session.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include "io/weights_writer.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/small_run.h"

enum { N = 24 };

static const char *const words[] = { "f32", "bf16", "bf16.2", "mixed", "mixed.2", "int8", "int8.1", "int8.2" };
enum { N_WORDS = sizeof words / sizeof *words };

static const struct {
    hn_numerics mode;
    const char *is;
} modes[] = { { HN_NUMERICS_F32, "f32" }, { HN_NUMERICS_BF16, "bf16.2" }, { HN_NUMERICS_MIXED, "mixed.2" },
              { HN_NUMERICS_INT8, "int8.1" } };
enum { N_MODES = sizeof modes / sizeof *modes };

static hn_heap heap;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;
static char model_path[400], saved[400], changed[400];
static int32_t ids[N];

static hn_run_spec in(hn_numerics mode)
{
    hn_run_spec run = on_all_devices(n_devices, devices);
    run.numerics = mode;
    return run;
}

static hn_status put_all(hn_weights_writer *writer, const hn_weight_entry *entries, size_t n)
{
    hn_status status = HN_OK;
    for (size_t i = 0; i < n && status == HN_OK; i++)
        status = hn_weights_writer_put(writer, i, 0, entries[i].data, (size_t)entries[i].bytes);
    if (status == HN_OK)
        return hn_weights_writer_finish(writer);
    hn_weights_writer_abandon(writer);
    return status;
}

/* As it was, with `key` changed and sealed anew: nothing but that word tells. */
static bool change_gguf(const char *key, const char *word, double budget, const char *seal)
{
    hn_gguf *file;
    hn_weights_writer *writer;
    hn_meta meta = hn_meta_on(&heap, changed);
    remove(changed);
    if (!CHECK_OK(hn_gguf_open(&heap, saved, &file)))
        return false;
    const hn_meta *old = hn_gguf_meta(file);
    const hn_weights *all = hn_gguf_weights(file);
    bool ok = true;
    for (size_t i = 0; i < old->n; i++)
        ok = ok && CHECK_OK(hn_meta_set_copy(&meta, &old->values[i]));
    ok = ok && CHECK_OK(hn_meta_set_text(&meta, seal, HN_SEAL_BLANK));
    if (ok && word)
        ok = CHECK_OK(hn_meta_set_text(&meta, key, word));
    else if (ok)
        ok = CHECK_OK(hn_meta_set_double(&meta, key, HN_META_F32, budget));
    ok = ok && CHECK_OK(hn_gguf_create(&heap, hn_sink_new(changed), &meta, all->entries, all->n, &writer)) &&
         CHECK_OK(put_all(writer, all->entries, all->n));
    hn_meta_free(&meta);
    hn_gguf_close(file);
    return ok;
}

static void expect(const char *what, const char *is, const char *word, bool is_taken, const char *said, hn_status status)
{
    if (is_taken)
        CHECK_THAT(status == HN_OK, "%s of %s in %s: %s", what, word, is, hn_error_message());
    else
        CHECK_THAT(status != HN_OK && strstr(hn_error_message(), said), "%s of %s in %s: expected '%s': status %d: %s", what, word,
                   is, said, (int)status, status == HN_OK ? "it was taken" : hn_error_message());
}

/* ---- a session's file ---- */

static void check_session(const hn_model *m, int k)
{
    hn_session *s;
    char said[160];
    const hn_session_options o = { .n_ctx = 64 };
    check_group("sessions");
    remove(saved);
    if (!CHECK_OK(hn_session_new(&s, &heap, m, in(modes[k].mode), &o)))
        return;
    CHECK_OK(hn_session_sync(s, ids, N, NULL));
    CHECK_OK(hn_session_save(s, saved));
    for (int w = 0; w < N_WORDS; w++) {
        if (!change_gguf("hone.session.numerics", words[w], 0, "hone.session.file.sha256"))
            continue;
        snprintf(said, sizeof said, "saved with numerics %s: expected %s", words[w], modes[k].is);
        expect("a session", modes[k].is, words[w], !strcmp(words[w], modes[k].is), said, hn_session_restore(s, changed));
    }
    hn_session_free(s);
}

/* ---- saved logits ---- */

static bool change_logits(const char *word)
{
    hn_safetensors file;
    hn_weights_writer *writer;
    hn_meta meta = hn_meta_on(&heap, changed);
    char cut[16];
    snprintf(cut, sizeof cut, "%d", N);
    remove(changed);
    if (!CHECK_OK(hn_safetensors_open(&heap, saved, &file)))
        return false;
    const bool ok = CHECK_OK(hn_meta_set_text(&meta, "numerics", word)) && CHECK_OK(hn_meta_set_text(&meta, "cut", cut)) &&
                    CHECK_OK(hn_safetensors_create(&heap, hn_sink_new(changed), &meta, file.tensors, file.n_tensors, &writer)) &&
                    CHECK_OK(put_all(writer, file.tensors, file.n_tensors));
    hn_meta_free(&meta);
    hn_safetensors_close(&file);
    return ok;
}

/* Of any mode that there is, and of none that was. */
static void check_logits(const hn_model *m, int k)
{
    hn_perplexity p;
    char said[160];
    hn_perplexity_options o = { .chunk = N, .bos = -1, .save = hn_sink_new(saved) };
    check_group("saved logits");
    remove(saved);
    if (!CHECK_OK(hn_perplexity_run(&heap, m, in(modes[k].mode), ids, N, &o, &p)))
        return;
    o.save = (hn_sink){ 0 };
    o.against = changed;
    for (int w = 0; w < N_WORDS; w++) {
        bool is_known = false;
        for (int i = 0; i < N_MODES; i++)
            is_known = is_known || !strcmp(words[w], modes[i].is);
        snprintf(said, sizeof said, "its logits are of numerics '%s': expected f32, bf16.2, mixed.2 or int8.1", words[w]);
        if (change_logits(words[w]))
            expect("saved logits", modes[k].is, words[w], is_known, said,
                   hn_perplexity_run(&heap, m, in(modes[k].mode), ids, N, &o, &p));
    }
}

/* ---- an adapter ---- */

static hn_status open_adapter(const hn_model *m, const char *path, hn_numerics mode, hn_adapter_trial *told)
{
    hn_adapter *adapter;
    const hn_adapter_use use = { .model = m, .run = in(mode), .renders_nothing = true, .is_forced = true };
    memset(told, 0, sizeof *told);
    const hn_status status = hn_adapter_open(&adapter, &heap, path, &use, told);
    if (status == HN_OK)
        hn_adapter_close(adapter);
    return status;
}

/* It was trained in f32. In another mode the KL of its last logits is told, and above its budget it is refused. */
static void check_adapter(const hn_model *m, int k)
{
    hn_adapter_trial told;
    const bool is_own = modes[k].mode == HN_NUMERICS_F32;
    check_group("adapters");
    if (!CHECK_OK(open_adapter(m, saved, modes[k].mode, &told)))
        return;
    CHECK(told.was_tried && told.recorded == HN_NUMERICS_F32);
    CHECK_THAT(is_own ? told.kl == 0 : told.kl > 0 && told.kl <= told.budget, "%s: KL %g, budget %g", modes[k].is, told.kl,
               told.budget);
    if (change_gguf(HN_ADAPTER_BUDGET, NULL, told.kl / 2, HN_ADAPTER_SEAL))
        expect("a budget", modes[k].is, "f32", is_own, "more than its budget of", open_adapter(m, changed, modes[k].mode, &told));
}

/* By a word that it was not trained in, its own test has other bits; of what nobody defines it has no test. */
static void check_words(const hn_model *m)
{
    hn_adapter_trial told;
    for (int w = 0; w < N_WORDS; w++) {
        bool is_known = !strcmp(words[w], "mixed");
        for (int i = 0; i < N_MODES; i++)
            is_known = is_known || !strcmp(words[w], modes[i].is);
        if (change_gguf(HN_ADAPTER_NUMERICS, words[w], 0, HN_ADAPTER_SEAL))
            expect("an adapter", "f32", words[w], !strcmp(words[w], "f32") || !strcmp(words[w], "mixed"),
                   is_known ? "its self-test gives other logits than it recorded" : "recorded numerics '",
                   open_adapter(m, changed, HN_NUMERICS_F32, &told));
    }
}

static void check_all(small_run *run)
{
    hn_finetune_result result;
    hn_model *m;
    char trained[300];
    if (!CHECK_OK(small_run_train(run, NULL, NULL, &result)) || !CHECK_OK(hn_model_open(&heap, model_path, NULL, &m)))
        return;
    snprintf(trained, sizeof trained, "%.280s/adapter.gguf", run->out);
    for (int i = 0; i < N; i++)
        ids[i] = (i * 29 + 3) % 200;
    for (int k = 0; k < N_MODES; k++) {
        check_session(m, k);
        check_logits(m, k);
        remove(saved);
        CHECK_INT(0, link(trained, saved));
        check_adapter(m, k);
    }
    check_words(m);
    hn_model_close(m);
}

int main(int argc, char **argv)
{
    small_run run = { 0 };
    char command[1400];
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (small_run_open(&run)) {
        snprintf(model_path, sizeof model_path, "%s/q.gguf", run.dir);
        snprintf(saved, sizeof saved, "%s/saved", run.dir);
        snprintf(changed, sizeof changed, "%s/changed", run.dir);
        snprintf(command, sizeof command, "'%s' quantize %s %s q8_0 >/dev/null 2>&1", check_option("--hone"), run.model, model_path);
        snprintf(run.model, sizeof run.model, "%.290s", model_path);
        if (CHECK_INT(0, system(command)) && CHECK_OK(hn_devices_open(&heap, "cpu", &(hn_device_options){ .n_threads = 2 }, &n_devices, devices))) {
            check_all(&run);
            hn_devices_close(n_devices, devices);
        }
    }
    small_run_close(&run);
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
