/* What the calls are made on lasts, but for what they change: that is made anew for each (`begin`), and so is what they find in
 * memory that an earlier one has left there. */
#include "tests/fault/cancelled_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char cancelled_llama[] = HN_SOURCE_DIR "/tests/differential/models/llama";
static const char sentence[] = HN_SOURCE_DIR "/tests/differential/sentence/model";
const char cancelled_peft[] = HN_SOURCE_DIR "/tests/differential/adapters/llama";

cancelled_state at;

static char dir[] = "/tmp/hone-cancelled-XXXXXX";

static hn_lm_session *session;
static hn_lm_batch *batch;
static hn_lm_chat *chat;
static hn_lm_embedder *embedder;
static hn_lm_drafter *drafter;
static int32_t number; /* of an adapter, or of a sequence */

static char digits[65];

uint64_t cancelled_hash(const void *bytes, size_t n)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return h;
}

static uint64_t hash_file(const char *path)
{
    static uint8_t bytes[1 << 22];
    FILE *f = fopen(path, "rb");
    const size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        fclose(f);
    return cancelled_hash(bytes, n);
}

uint64_t cancelled_written(void) { return hash_file(at.out); }

static uint64_t logits_of(hn_lm *of)
{
    hn_lm_session *s = NULL;
    uint64_t h = 0;
    const hn_lm_session_options o = { .size = sizeof o, .context = 64, .mapped = 1 };
    if (hn_lm_session_new(&s, of, &o) == HN_OK && hn_lm_session_feed(s, at.few, 8) == HN_OK)
        h = cancelled_hash(hn_lm_session_logits(s), (size_t)hn_lm_vocabulary(of) * sizeof(float));
    hn_lm_session_free(s);
    return h;
}

/* ---- models ---- */

hn_status cancelled_open_tiny(void) { return hn_lm_open(&at.opened, at.engine, hn_lm_builtin(), NULL); }
static hn_status open_dir(void) { return hn_lm_open(&at.opened, at.engine, cancelled_llama, NULL); }
static hn_status open_words(void) { return hn_lm_open_words(&at.opened, at.engine, cancelled_llama, NULL); }
static hn_status open_weights(void) { return hn_lm_open_weights(&at.opened, at.engine, cancelled_llama, NULL); }
static hn_status fingerprint(void) { return hn_lm_fingerprint(at.lm, digits); }
static uint64_t digits_of(void) { return cancelled_hash(digits, sizeof digits); }
static uint64_t opened_logits(void) { return logits_of(at.opened); }
static uint64_t opened_tokens(void) { return (uint64_t)hn_lm_tokens(at.opened); }

void cancelled_close_opened(void)
{
    hn_lm_close(at.opened);
    at.opened = NULL;
}

static hn_status add_adapter(void) { return hn_lm_add_adapter(at.opened, at.adapter, NULL); }

static hn_status apply_adapter(void)
{
    hn_lm_adapter_trial trial;
    return hn_lm_apply_adapter(at.opened, at.adapter, NULL, &trial, sizeof trial);
}

/* ---- batches ---- */

static const hn_lm_batch_options batch_options = { .size = sizeof batch_options, .context = 256, .sequences = 2, .adapters = 1,
                                                   .max_rank = 4, .adapts_experts = 1, .mapped = 1 };

static hn_status begin_batch(void)
{
    const hn_status status = cancelled_open_tiny();
    return status == HN_OK ? hn_lm_batch_new(&batch, at.opened, &batch_options) : status;
}

static void end_batch(void)
{
    hn_lm_batch_free(batch);
    batch = NULL;
    cancelled_close_opened();
}

static hn_status batch_add(void) { return hn_lm_batch_add_adapter(batch, at.adapter, NULL, &number); }

static hn_status batch_apply(void)
{
    hn_lm_adapter_trial trial;
    return hn_lm_batch_apply_adapter(batch, at.adapter, NULL, &number, &trial, sizeof trial);
}

static uint64_t step_of(int32_t sequence)
{
    const hn_lm_batch_piece piece = { sizeof piece, sequence, 1, at.few, 8 };
    if (hn_lm_batch_step(batch, &piece, 1) != HN_OK)
        return 0;
    return cancelled_hash(hn_lm_batch_logits(batch, 0), (size_t)hn_lm_vocabulary(at.opened) * sizeof(float));
}

static uint64_t adapted_logits(void)
{
    int32_t sequence;
    return hn_lm_batch_open(batch, number, &sequence) == HN_OK ? step_of(sequence) : 0;
}

static hn_status begin_fed_batch(void)
{
    hn_status status = begin_batch();
    if (status == HN_OK)
        status = hn_lm_batch_open(batch, -1, &number);
    return status == HN_OK && step_of(number) ? HN_OK : HN_ERR_ARGUMENT;
}

static hn_status batch_new(void)
{
    const hn_lm_batch_options o = { .size = sizeof o, .context = 256, .sequences = 2 };
    return hn_lm_batch_new(&batch, at.opened, &o);
}

static uint64_t new_logits(void) { return hn_lm_batch_open(batch, -1, &number) == HN_OK ? step_of(number) : 0; }
static hn_status batch_save(void) { return hn_lm_batch_save(batch, number, at.out); }
static hn_status batch_load(void) { return hn_lm_batch_load(batch, number, at.kept); }

static uint64_t batch_ids(void)
{
    size_t n;
    const int32_t *ids = hn_lm_batch_ids(batch, number, &n);
    return cancelled_hash(ids, n * sizeof *ids);
}

static hn_status batch_step(void)
{
    const hn_lm_batch_piece piece = { sizeof piece, number, 1, at.few + 8, 16 };
    return hn_lm_batch_step(batch, &piece, 1);
}

static hn_status batch_step_rows(void)
{
    static const int32_t row = 7;
    const hn_lm_batch_piece piece = { sizeof piece, number, 1, at.few + 8, 16 };
    return hn_lm_batch_step_rows(batch, &piece, 1, &row);
}

static uint64_t batch_logits(void) { return cancelled_hash(hn_lm_batch_logits(batch, 0), (size_t)hn_lm_vocabulary(at.opened) * sizeof(float)) ^ batch_ids(); }

/* ---- sessions, chats, drafters, embedders ---- */

static hn_status session_new(void) { return hn_lm_session_new(&session, at.opened, NULL); }
static hn_status session_new_drafting(void) { return hn_lm_session_new_drafting(&session, at.opened, NULL, NULL); }

static void end_session(void)
{
    hn_lm_session_free(session);
    session = NULL;
    cancelled_close_opened();
}

static uint64_t session_logits(void)
{
    if (!hn_lm_session_logits(session) && hn_lm_session_feed(session, at.few, hn_lm_session_length(session) ? 0 : 8) != HN_OK)
        return 0;
    return cancelled_hash(hn_lm_session_logits(session), (size_t)hn_lm_vocabulary(at.lm) * sizeof(float)) + (uint64_t)hn_lm_session_length(session);
}

static hn_status begin_fed(void)
{
    const hn_lm_session_options o = { .size = sizeof o, .context = 256, .mapped = 1 };
    hn_status status = cancelled_open_tiny();
    if (status == HN_OK)
        status = hn_lm_session_new(&session, at.opened, &o);
    return status == HN_OK ? hn_lm_session_feed(session, at.few, 20) : status;
}

static hn_status session_feed(void) { return hn_lm_session_feed(session, at.few, CANCELLED_FEW); }

static hn_status session_score(void)
{
    static double scores[8];
    return hn_lm_session_score(session, at.few, 8, scores);
}

static hn_status session_save(void) { return hn_lm_session_save(session, at.out); }
static hn_status session_save_known(void) { return hn_lm_session_save_known(session, at.out, NULL); }
static hn_status session_load(void) { return hn_lm_session_load(session, at.kept); }

static hn_status chat_new(void) { return hn_lm_chat_new(&chat, at.opened, NULL); }
static hn_status chat_new_drafting(void) { return hn_lm_chat_new_drafting(&chat, at.opened, NULL, NULL); }

static void end_chat(void)
{
    hn_lm_chat_free(chat);
    chat = NULL;
    cancelled_close_opened();
}

static hn_status begin_chat(void)
{
    hn_lm_turn turn;
    const hn_lm_session_options s = { .size = sizeof s, .context = 256, .mapped = 1 };
    const hn_lm_chat_options o = { .size = sizeof o, .max_answer = 4, .session = &s };
    hn_status status = cancelled_open_tiny();
    if (status == HN_OK)
        status = hn_lm_chat_new(&chat, at.opened, &o);
    return status == HN_OK ? hn_lm_chat_ask(chat, "A story.", &turn, sizeof turn) : status;
}

static hn_status save_keys(void) { return hn_lm_chat_save_keys(chat, at.out); }
static hn_status load_keys(void) { return hn_lm_chat_load_keys(chat, at.kept); }

static hn_status drafter_new(void)
{
    const hn_lm_draft_options o = { .size = sizeof o, .model = at.lm };
    return hn_lm_drafter_new(&drafter, at.opened, &o, 128);
}

static void end_drafter(void)
{
    hn_lm_drafter_free(drafter);
    drafter = NULL;
    cancelled_close_opened();
}

static hn_status open_sentence(void) { return hn_lm_open(&at.opened, at.engine, sentence, NULL); }
static hn_status embedder_new(void) { return hn_lm_embedder_new(&embedder, at.opened, NULL); }
static hn_status begin_embedder(void) { return hn_lm_embedder_new(&embedder, at.embeds, NULL); }

static float vector[512];
static hn_status embedder_run(void) { return hn_lm_embedder_run(embedder, at.text, CANCELLED_BYTES, vector, NULL); }
static hn_status embedder_run_ids(void) { return hn_lm_embedder_run_ids(embedder, at.few, 4, vector); }
static uint64_t vector_of(void) { return cancelled_hash(vector, (size_t)hn_lm_embedder_width(embedder) * sizeof *vector); }

static void end_embedder(void)
{
    hn_lm_embedder_free(embedder);
    embedder = NULL;
    cancelled_close_opened();
}

/* ---- all ---- */

const cancelled_call cancelled_calls[] = {
    { "hn_lm_open", NULL, cancelled_open_tiny, opened_logits, cancelled_close_opened, .tells = true },
    { "hn_lm_open", NULL, open_dir, opened_logits, cancelled_close_opened, .tells = true },
    { "hn_lm_open", NULL, open_sentence, opened_tokens, cancelled_close_opened, .tells = true },
    { "hn_lm_open_words", NULL, open_words, opened_tokens, cancelled_close_opened, .tells = true },
    { "hn_lm_open_weights", NULL, open_weights, opened_logits, cancelled_close_opened, .tells = true },
    { "hn_lm_fingerprint", NULL, fingerprint, digits_of, NULL, .tells = true },
    { "hn_lm_add_adapter", cancelled_open_tiny, add_adapter, opened_logits, cancelled_close_opened, .tells = true, .may_keep = true },
    { "hn_lm_apply_adapter", cancelled_open_tiny, apply_adapter, opened_logits, cancelled_close_opened, .tells = true, .may_keep = true },
    { "hn_lm_batch_add_adapter", begin_batch, batch_add, adapted_logits, end_batch, .tells = true, .may_keep = true },
    { "hn_lm_batch_apply_adapter", begin_batch, batch_apply, adapted_logits, end_batch, .tells = true, .may_keep = true },
    { "hn_lm_batch_new", cancelled_open_tiny, batch_new, new_logits, end_batch, .tells = true },
    { "hn_lm_batch_save", begin_fed_batch, batch_save, cancelled_written, end_batch, .tells = true, .writes = true },
    { "hn_lm_batch_load", begin_fed_batch, batch_load, batch_ids, end_batch, .tells = true },
    { "hn_lm_batch_step", begin_fed_batch, batch_step, batch_logits, end_batch, .tells = false },
    { "hn_lm_batch_step_rows", begin_fed_batch, batch_step_rows, batch_logits, end_batch, .tells = false },
    { "hn_lm_session_new", cancelled_open_tiny, session_new, session_logits, end_session, .tells = true },
    { "hn_lm_session_new_drafting", cancelled_open_tiny, session_new_drafting, session_logits, end_session, .tells = true },
    { "hn_lm_session_feed", begin_fed, session_feed, session_logits, end_session, .tells = false },
    { "hn_lm_session_score", begin_fed, session_score, session_logits, end_session, .tells = false },
    { "hn_lm_session_save", begin_fed, session_save, cancelled_written, end_session, .tells = true, .writes = true },
    { "hn_lm_session_save_known", begin_fed, session_save_known, cancelled_written, end_session, .tells = true, .writes = true },
    { "hn_lm_session_load", begin_fed, session_load, session_logits, end_session, .tells = true },
    { "hn_lm_chat_new", cancelled_open_tiny, chat_new, NULL, end_chat, .tells = true },
    { "hn_lm_chat_new_drafting", cancelled_open_tiny, chat_new_drafting, NULL, end_chat, .tells = true },
    { "hn_lm_chat_save_keys", begin_chat, save_keys, cancelled_written, end_chat, .tells = true, .writes = true },
    { "hn_lm_chat_load_keys", begin_chat, load_keys, NULL, end_chat, .tells = true },
    { "hn_lm_drafter_new", cancelled_open_tiny, drafter_new, NULL, end_drafter, .tells = true },
    { "hn_lm_embedder_new", open_sentence, embedder_new, NULL, end_embedder, .tells = true },
    { "hn_lm_embedder_run", begin_embedder, embedder_run, vector_of, end_embedder, .may_keep = true },
    { "hn_lm_embedder_run_ids", begin_embedder, embedder_run_ids, vector_of, end_embedder, .tells = false },
};
const size_t n_cancelled_calls = sizeof cancelled_calls / sizeof *cancelled_calls;

static void write_texts(void)
{
    static const char words[][8] = { "once ", "upon ", "a ", "time, ", "dogs ", "ran; ", "1234 ", "\xc3\xa9t\xc3\xa9 " };
    uint32_t r = 1;
    size_t n = 0;
    while (n + 16 < CANCELLED_BYTES) {
        const char *word = words[(r = r * 1664525 + 1013904223) >> 29];
        memcpy(at.text + n, word, strlen(word));
        n += strlen(word);
    }
    memset(at.text + n, '.', CANCELLED_BYTES - n);
    for (int i = 0; i < CANCELLED_FEW; i++)
        at.few[i] = 5 + i * 7 % 200;
    for (int i = 0; i < CANCELLED_IDS; i++)
        at.many[i] = 5 + i * 11 % 200;
}

static bool put(const char *path, const char *text, size_t n, int times)
{
    FILE *f = fopen(path, "w");
    bool ok = f != NULL;
    for (int i = 0; i < times && ok; i++)
        ok = fwrite(text, 1, n, f) == n;
    return f && !fclose(f) && ok;
}

/* An at.adapter of the built-in model, with the self-test that a run leaves. */
static bool train(void)
{
    static const char example[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]}\n";
    const char *settings[] = { "steps=1", "rank=2", "batch=1" }, *files[] = { at.data };
    char run[300];
    hn_finetune_result result;
    snprintf(run, sizeof run, "%s/run", dir);
    const hn_finetune_spec spec = { .size = sizeof spec, .model = hn_lm_builtin(), .data = files, .n_data = 1,
                                    .settings = settings, .n_settings = 3, .out = run };
    if (!CHECK(put(at.data, example, sizeof example - 1, 4)) || !CHECK_OK(hn_finetune(at.engine, &spec, &result, sizeof result)))
        return false;
    snprintf(at.adapter, sizeof at.adapter, "%s", result.path);
    return true;
}

static bool make_files(void)
{
    const int64_t dim[] = { CANCELLED_BYTES / 4 };
    const hn_lm_import_options o = { .size = sizeof o };
    const hn_lm_convert_options c = { .size = sizeof c };
    return CHECK(put(at.texts, at.text, 20000, 1)) && CHECK_OK(hn_array_write(at.array, 0, "f32", 1, dim, at.text)) &&
           CHECK_OK(hn_lm_import_adapter(at.engine, cancelled_peft, cancelled_llama, at.for_llama, &o)) &&
           CHECK_OK(hn_lm_convert(at.engine, cancelled_llama, at.gguf, &c));
}

static bool keep_session(void)
{
    const bool ok = CHECK_OK(begin_fed()) && CHECK_OK(hn_lm_session_save(session, at.kept));
    end_session();
    return ok;
}

bool cancelled_open(void)
{
    struct {
        char *path;
        const char *name;
    } files[] = { { at.out, "out.gguf" }, { at.for_llama, "llama.gguf" }, { at.texts, "texts.txt" }, { at.data, "data.jsonl" },
                  { at.kept, "kept.session" }, { at.array, "array.npy" }, { at.gguf, "model.gguf" } };
    if (!CHECK(mkdtemp(dir)))
        return false;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        snprintf(files[i].path, 300, "%s/%s", dir, files[i].name);
    write_texts();
    if (!train() || !make_files() || !CHECK_OK(hn_lm_open(&at.lm, at.engine, hn_lm_builtin(), NULL)) ||
        !CHECK_OK(hn_lm_open(&at.embeds, at.engine, sentence, NULL)) || !CHECK_OK(hn_lm_open(&at.small, at.engine, cancelled_llama, NULL)))
        return false;
    return keep_session();
}

void cancelled_close(void)
{
    char line[300];
    hn_lm_close(at.lm);
    hn_lm_close(at.embeds);
    hn_lm_close(at.small);
    snprintf(line, sizeof line, "rm -rf %s", dir);
    CHECK_INT(0, system(line));
}
