/* Guessing changes no bit: for committed prompts of four kinds, by every kind of drafter, at several temperatures, with filters,
 * penalties and biases, for windows, quantised caches, whole numbers, experts and adapters: tokens, logits and
 * log-probabilities are those of a session that guesses nothing. Right and wrong guesses are both counted, or nothing was tried.
 * --quick: one setting of draws. */
#include "base/file.h"
#include "base/json.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_NEW = 32, MOST_PADDING = 80, MOST_IDS = 256, MOST_VOCAB = 8192, MOST_PROMPTS = 16 };
#define MODELS   HN_SOURCE_DIR "/tests/differential/models/"
#define PROMPTS  HN_SOURCE_DIR "/tests/bench/prompts/drafts.jsonl"

typedef struct prompt {
    int32_t ids[MOST_IDS];
    size_t n;
} prompt;

/* What is said after a prompt, with the logits that each token was drawn from. */
typedef struct spoken {
    int32_t ids[N_NEW];
    float *logits; /* [N_NEW, vocabulary] */
    double scores[N_NEW];
} spoken;

typedef struct setting { const char *name; hn_lm_sampling o; } setting;
typedef struct drafting { const char *name; hn_lm_draft_options o; } drafting;

static char dir[256];
static hn_engine *engine;
static prompt prompts[MOST_PROMPTS];
static int n_prompts;
static spoken want, got;

/* Each lives until eight others were asked for. */
static const char *in_dir(const char *name)
{
    static char paths[8][400];
    static int at;
    char *path = paths[at++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static bool remove_one(void *folder, const char *name) { return folder == dir && CHECK(hn_os_remove(in_dir(name))); }

/* ---- prompts ---- */

static void read_prompt(const hn_lm *lm, const hn_json *line)
{
    const hn_json *messages = hn_json_get(line, "messages");
    const char *plain;
    prompt *p = &prompts[n_prompts++];
    if (messages) { /* as JSON again */
        static char json[8192];
        size_t at = 0;
        json[at++] = '[';
        for (const hn_json *m = messages->as.children.first; m; m = m->next) {
            const char *role, *content;
            if (CHECK_OK(hn_json_want_string(hn_json_get(m, "role"), "role", &role)) &&
                CHECK_OK(hn_json_want_string(hn_json_get(m, "content"), "content", &content)))
                at += (size_t)snprintf(json + at, sizeof json - at, "%s{\"role\":\"%s\",\"content\":\"%s\"}", at > 1 ? "," : "",
                                       role, content);
        }
        snprintf(json + at, sizeof json - at, "]");
        CHECK_OK(hn_lm_render_ids(lm, json, NULL, p->ids, MOST_IDS, &p->n));
    } else if (CHECK_OK(hn_json_want_string(hn_json_get(line, "prompt"), "prompt", &plain))) {
        CHECK_OK(hn_lm_encode(lm, plain, strlen(plain), HN_LM_PLAIN, p->ids, MOST_IDS, &p->n));
    }
    CHECK(p->n > 4);
}

static void read_prompts(const hn_lm *lm)
{
    hn_heap heap;
    void *file;
    size_t bytes;
    hn_heap_init(&heap, NULL);
    if (!CHECK_OK(hn_file_read(&heap, PROMPTS, 1 << 20, &file, &bytes))) return;
    for (char *at = file, *end = at + bytes, *stop; at < end && n_prompts < MOST_PROMPTS; at = stop + 1) {
        hn_json_text *json;
        stop = memchr(at, '\n', (size_t)(end - at));
        if (!CHECK(stop != NULL) || !CHECK_OK(hn_json_read(&heap, PROMPTS, at, (size_t)(stop - at), &json)))
            break;
        read_prompt(lm, hn_json_root(json));
        hn_json_free(json);
    }
    CHECK_INT(8, n_prompts);
    hn_free(&heap, file);
}

/* ---- saying ---- */

/* The prompt in pieces of `cut`, then tokens one by one; on the way it is cut back by three and fed again. */
static void say(hn_lm *lm, hn_lm_session *session, const hn_lm_sampling *sampling, const prompt *p, size_t cut, spoken *to)
{
    hn_lm_sampler *sampler;
    const size_t vocab = (size_t)hn_lm_vocabulary(lm);
    CHECK_OK(hn_lm_sampler_new(&sampler, lm, sampling));
    CHECK_OK(hn_lm_session_trim(session, 0));
    for (size_t at = 0; at < p->n; at += cut)
        CHECK_OK(hn_lm_session_feed(session, p->ids + at, at + cut < p->n ? cut : p->n - at));
    for (int i = 0; i < N_NEW; i++) {
        const float *logits = hn_lm_session_logits(session);
        to->ids[i] = -1;
        if (!CHECK(logits != NULL) || !CHECK_OK(hn_lm_sampler_draw(sampler, session, &to->ids[i])))
            break;
        memcpy(to->logits + (size_t)i * vocab, logits, vocab * sizeof *logits);
        if (i == N_NEW / 2) {
            CHECK_OK(hn_lm_session_trim(session, p->n + (size_t)i - 3));
            CHECK_OK(hn_lm_session_feed(session, &to->ids[i - 3], 3));
        }
        CHECK_OK(hn_lm_session_feed(session, &to->ids[i], 1));
    }
    CHECK_OK(hn_lm_session_trim(session, p->n));
    CHECK_OK(hn_lm_session_score(session, to->ids, N_NEW, to->scores));
    hn_lm_sampler_free(sampler);
}

static void compare(const char *what, int number, size_t vocab)
{
    int i = 0;
    while (i < N_NEW && want.ids[i] == got.ids[i] &&
           !memcmp(want.logits + (size_t)i * vocab, got.logits + (size_t)i * vocab, vocab * sizeof *want.logits))
        i++;
    CHECK_THAT(i == N_NEW, "%s: prompt %d: token %d is %d, without guesses %d, or its logits differ", what, number, i,
               got.ids[i % N_NEW], want.ids[i % N_NEW]);
    CHECK_THAT(!memcmp(want.scores, got.scores, sizeof want.scores), "%s: prompt %d: other log-probabilities", what, number);
}

static bool same_files(const char *a, const char *b)
{
    hn_heap heap;
    void *x = NULL, *y = NULL;
    size_t n, m;
    hn_heap_init(&heap, NULL);
    const bool is_same = CHECK_OK(hn_file_read(&heap, a, 1 << 28, &x, &n)) && CHECK_OK(hn_file_read(&heap, b, 1 << 28, &y, &m)) &&
                         n == m && !memcmp(x, y, n);
    hn_free(&heap, x);
    hn_free(&heap, y);
    return is_same;
}

/* What is saved has no guess in it, and is what was there without. */
static void compare_files(hn_lm_session *plain, hn_lm_session *drafts, const prompt *p)
{
    hn_lm_session *both[] = { plain, drafts };
    for (int i = 0; i < 2; i++) {
        CHECK_OK(hn_lm_session_trim(both[i], 0));
        CHECK_OK(hn_lm_session_feed(both[i], p->ids, p->n));
        CHECK_OK(hn_lm_session_save(both[i], in_dir(i ? "drafts.session" : "plain.session")));
        CHECK_INT((int64_t)p->n, hn_lm_session_length(both[i]));
        size_t known;
        CHECK_OK(hn_lm_session_save_known(both[i], in_dir("known.session"), &known));
        CHECK_INT((int64_t)p->n, (int64_t)known);
    }
    CHECK(same_files(in_dir("plain.session"), in_dir("drafts.session")));
    /* Taken back, it goes on from there. */
    CHECK_OK(hn_lm_session_load(drafts, in_dir("plain.session")));
    CHECK_OK(hn_lm_session_feed(drafts, NULL, 0));
    CHECK(hn_lm_session_logits(drafts) != NULL);
}

/* All prompts in one session that guesses, and one that does not; counts are added up. */
static void check_pair(const char *what, hn_lm *lm, const hn_lm_session_options *options, const hn_lm_draft_options *draft,
                       const hn_lm_sampling *sampling, int64_t counts[2])
{
    hn_lm_session *plain = NULL, *drafts = NULL;
    const size_t vocab = (size_t)hn_lm_vocabulary(lm);
    int64_t accepted, rejected;
    if (CHECK_OK(hn_lm_session_new(&plain, lm, options)) &&
        CHECK_OK(hn_lm_session_new_drafting(&drafts, lm, options, draft))) {
        for (int i = n_prompts > 2 && counts[0] % 2; i < n_prompts; i += n_prompts > 2 ? 2 : 1) {
            say(lm, plain, sampling, &prompts[i], 1000, &want);
            say(lm, drafts, sampling, &prompts[i], i % 2 ? 1000 : 5, &got);
            compare(what, i, vocab);
        }
        compare_files(plain, drafts, &prompts[0]);
        CHECK_OK(hn_lm_session_drafted(plain, &accepted, &rejected));
        CHECK(!accepted && !rejected);
        CHECK_OK(hn_lm_session_drafted(drafts, &accepted, &rejected));
        counts[0] += accepted;
        counts[1] += rejected;
    }
    hn_lm_session_free(drafts);
    hn_lm_session_free(plain);
}

static void check_counts(const char *what, const int64_t counts[2], bool is_always_right)
{
    printf("%s: %lld guesses right, %lld wrong\n", what, (long long)counts[0], (long long)counts[1]);
    CHECK_THAT(counts[0] > 0, "%s: no guess was right", what);
    CHECK_THAT(is_always_right || counts[1] > 0, "%s: no guess was wrong", what);
}

/* ---- the built-in model ---- */

#define SAMPLING(...) { .size = sizeof(hn_lm_sampling), __VA_ARGS__ }

static void check_builtin(hn_lm *lm, hn_lm *quantised, hn_lm *random)
{
    const int32_t end = hn_lm_special(lm, HN_LM_EOS);
    const hn_lm_bias bias[] = { { sizeof *bias, end, -1e30f }, { sizeof *bias, 11, 2 }, { sizeof *bias, 262, -3 } };
    const setting settings[] = {
        { "temperature 0", SAMPLING(.temperature = 0) },
        { "0.7", SAMPLING(.temperature = 0.7f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 3) },
        { "1.5", SAMPLING(.temperature = 1.5f, .seed = 4) },
        { "top_k", SAMPLING(.temperature = 0.7f, .top_k = 3, .seed = 5) },
        { "top_p", SAMPLING(.temperature = 1.5f, .top_p = 0.6f, .seed = 6) },
        { "min_p", SAMPLING(.temperature = 1.5f, .min_p = 0.2f, .seed = 7) },
        { "penalties", SAMPLING(.temperature = 0.7f, .top_k = 40, .repetition = 1.3f, .frequency = 0.4f, .presence = 0.3f,
                                .last = 24, .seed = 8) },
        { "penalties on everything, at 0", SAMPLING(.temperature = 0, .repetition = 1.2f, .frequency = 0.2f) },
        { "biases", SAMPLING(.temperature = 0.7f, .bias = bias, .n_bias = 3, .seed = 9) },
    };
    const int n = check_flag("--quick") ? 1 : (int)(sizeof settings / sizeof *settings);
    for (int i = 0; i < n; i++) {
        const hn_lm_sampling *s = &settings[i].o;
#define DRAFT(...) { .size = sizeof(hn_lm_draft_options), __VA_ARGS__ }
        const drafting all[] = {
            { "n-grams", DRAFT(.most = 0) },
            { "runs of one, fixed", DRAFT(.ngram = 1, .most = 5, .fixed = 1) },
            { "long runs", DRAFT(.ngram = 12, .ngram_least = 3, .most = 16) },
            { "a quantised model", DRAFT(.model = quantised, .sampling = s) },
            { "a quantised model, its likeliest", DRAFT(.model = quantised, .most = 3, .fixed = 1, .mapped = 1) },
            { "n-grams and a model", DRAFT(.ngram = 3, .most = 6, .model = quantised, .sampling = s) },
            { "itself", DRAFT(.model = lm, .sampling = s, .fixed = 1) },
            { "a random model", DRAFT(.model = random, .sampling = s, .most = 2, .fixed = 1) },
        };
        enum { M = sizeof all / sizeof *all };
        static int64_t counts[M][2];
        for (int j = 0; j < M; j++) {
            char what[120];
            const hn_lm_session_options small = { .size = sizeof small, .context = 300, .batch = i % 2 ? 19 : 0,
                                                  .cache = i % 3 == 2 ? "q8_0" : NULL };
            snprintf(what, sizeof what, "%s, %s", settings[i].name, all[j].name);
            check_group(what);
            check_pair(what, lm, &small, &all[j].o, s, counts[j]);
        }
        for (int j = 0; j < M && i == n - 1 && n > 1; j++) {
            if (j == M - 1) /* it guesses, and is wrong */
                CHECK(counts[j][1] > 100);
            else
                check_counts(all[j].name, counts[j], j == M - 2);
        }
    }
}

/* With the sampling and the numbers of the text, a model guesses itself: what it is told of draws is right. */
static void check_itself(hn_lm *lm)
{
    const hn_lm_sampling s = SAMPLING(.temperature = 1.5f, .seed = 2);
    const hn_lm_draft_options itself = DRAFT(.model = lm, .sampling = &s, .fixed = 1, .most = 5);
    hn_lm_session *session;
    hn_lm_sampler *sampler;
    int64_t accepted, rejected;
    int32_t id;
    check_group("itself, warm");
    if (!CHECK_OK(hn_lm_session_new_drafting(&session, lm, NULL, &itself)) || !CHECK_OK(hn_lm_sampler_new(&sampler, lm, &s)))
        return;
    CHECK_OK(hn_lm_session_feed(session, prompts[6].ids, prompts[6].n));
    for (int i = 0; i < 60; i++) {
        CHECK_OK(hn_lm_sampler_draw(sampler, session, &id));
        CHECK_OK(hn_lm_session_feed(session, &id, 1));
    }
    CHECK_OK(hn_lm_session_drafted(session, &accepted, &rejected));
    CHECK_THAT(accepted > 40 && rejected <= 10, "%lld right, %lld wrong", (long long)accepted, (long long)rejected);
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
}

/* ---- windows, experts, whole numbers, adapters ---- */

static void fill_ids(int64_t vocab)
{
    n_prompts = 2;
    for (int i = 0; i < 2; i++)
        for (prompts[i].n = 0; prompts[i].n < 90; prompts[i].n++) {
            const size_t at = prompts[i].n % 23; /* it repeats itself */
            prompts[i].ids[prompts[i].n] = (int32_t)((at * at * 7 + at * 3 + (size_t)i + 2) % (size_t)vocab);
        }
}

static void check_model(const char *what, const char *path, const char *adapter, const hn_lm_options *model,
                        const char *cache)
{
    hn_lm *lm = NULL, *draft = NULL;
    hn_lm_bias padding[MOST_PADDING]; /* nothing is guessed after what is no token */
    hn_lm_sampling warm = SAMPLING(.temperature = 0.7f, .seed = 5, .repetition = 1.1f, .bias = padding),
                   cold = SAMPLING(.repetition = 1.1f, .bias = padding);
    const hn_lm_session_options o = { .size = sizeof o, .context = 140, .batch = 13, .cache = cache };
    int64_t counts[2] = { 0, 0 }, own[2] = { 0, 0 };
    check_group(what);
    if (CHECK_OK(hn_lm_open(&lm, engine, path, model)) && CHECK_OK(hn_lm_open(&draft, engine, path, NULL)) &&
        (!adapter || CHECK_OK(hn_lm_add_adapter(lm, adapter, NULL))) && CHECK(hn_lm_vocabulary(lm) <= MOST_VOCAB)) {
        fill_ids(hn_lm_tokens(lm));
        for (int64_t id = hn_lm_tokens(lm); id < hn_lm_vocabulary(lm) && warm.n_bias < MOST_PADDING; id++)
            padding[warm.n_bias++] = (hn_lm_bias){ sizeof *padding, (int32_t)id, -INFINITY };
        cold.n_bias = warm.n_bias;
        const hn_lm_draft_options ngrams = DRAFT(.ngram = 2, .ngram_least = 1, .most = 4, .fixed = 1);
        const hn_lm_draft_options by_model = DRAFT(.model = draft, .sampling = &cold, .most = 5);
        check_pair(what, lm, &o, &ngrams, &warm, counts);
        check_pair(what, lm, &o, &by_model, &cold, own);
        CHECK_THAT(counts[1] > 0, "%s: no n-gram was wrong", what);
        CHECK_THAT(own[0] > 0 || (adapter && own[1] > 0), "%s: the plain model was never right", what);
    }
    hn_lm_close(draft);
    hn_lm_close(lm);
}

static void check_models(void)
{
    static const hn_lm_options int8 = { .size = sizeof int8, .numerics = HN_LM_INT8 };
    char adapter[300], gemma[300], q8_0[300];
    snprintf(adapter, sizeof adapter, "%s/adapter.gguf", dir);
    snprintf(gemma, sizeof gemma, "%s/gemma.gguf", dir);
    snprintf(q8_0, sizeof q8_0, "%s/q8_0.gguf", dir);
    check_model("gemma3, windows", MODELS "gemma3", NULL, NULL, NULL);
    check_model("gpt-oss, windows and experts", MODELS "gpt-oss", NULL, NULL, NULL);
    check_model("qwen3moe", MODELS "qwen3moe", NULL, NULL, "f16");
    if (CHECK_OK(hn_lm_import_adapter(engine, HN_SOURCE_DIR "/tests/differential/adapters/llama", MODELS "llama", adapter, NULL)))
        check_model("an adapter", MODELS "llama", adapter, NULL, NULL);
    /* Wide enough for blocks of 32. */
    static const char *const shape[] = { "layers=3", "width=64", "heads=2", "kv_heads=1", "head_dim=32", "context=256",
                                         "attention.sliding_window=16" };
    const hn_lm_make_options wide = { .size = sizeof wide, .settings = shape, .n_settings = 7 };
    if (CHECK_OK(hn_lm_make(engine, "gemma3", gemma, &wide)) && CHECK_OK(hn_lm_quantize(engine, gemma, q8_0, "q8_0", NULL))) {
        check_model("windows, q8_0 keys", gemma, NULL, NULL, "q8_0");
        check_model("windows, q4_0 keys, whole numbers", q8_0, NULL, &int8, "q4_0");
    }
}

/* ---- a chat ---- */

static void talk(hn_lm *lm, const hn_lm_sampling *sampling, int64_t most, const hn_lm_draft_options *draft, char *to,
                 size_t room, int64_t counts[2])
{
    static const char *const asked[] = { "Who was there?", "Tell me of the dog and the ball.", "Who was there, and the dog?" };
    const hn_lm_chat_options o = { .size = sizeof o, .max_answer = most, .sampling = sampling, .system = "Be brief." };
    hn_lm_chat *chat;
    int64_t n[3], accepted, rejected;
    size_t bytes;
    if (!CHECK_OK(draft ? hn_lm_chat_new_drafting(&chat, lm, &o, draft) : hn_lm_chat_new(&chat, lm, &o)))
        return;
    for (int i = 0; i < 3; i++) {
        hn_lm_turn turn = { 0 };
        const hn_status status = hn_lm_chat_ask(chat, asked[i], &turn, sizeof turn);
        CHECK(status == HN_OK || turn.end == HN_LM_FULL);
        n[i] = turn.n_answer * 8 + (int64_t)turn.end;
    }
    CHECK_OK(hn_lm_chat_messages(chat, to, room - 60, &bytes));
    snprintf(to + bytes, 60, " %lld %lld %lld", (long long)n[0], (long long)n[1], (long long)n[2]);
    CHECK_OK(hn_lm_chat_drafted(chat, &accepted, &rejected));
    counts[0] += accepted;
    counts[1] += rejected;
    hn_lm_chat_free(chat);
}

static void check_chat(hn_lm *lm, hn_lm *quantised)
{
    static char alone[16384], ahead[16384];
    int64_t none[2] = { 0, 0 }, counts[2] = { 0, 0 };
    check_group("a chat");
    for (int i = 0; i < 6; i++) {
        const hn_lm_sampling sampling = SAMPLING(.temperature = i % 3 ? (float)i / 3 : 0, .seed = (uint64_t)i, .presence = i > 3);
        const int64_t most = i % 2 ? 17 : 0; /* or until it ends, or the context is full */
        const hn_lm_draft_options ngrams = DRAFT(.ngram = 3), by_model = DRAFT(.model = quantised, .most = 4);
        talk(lm, &sampling, most, NULL, alone, sizeof alone, none);
        talk(lm, &sampling, most, &ngrams, ahead, sizeof ahead, counts);
        CHECK_TEXT(alone, ahead);
        talk(lm, &sampling, most, &by_model, ahead, sizeof ahead, counts);
        CHECK_TEXT(alone, ahead);
    }
    CHECK(!none[0] && !none[1]);
    check_counts("a chat", counts, false);
}

/* ---- a batch ---- */

enum { N_SEQUENCES = 3, MOST_GUESSED = 6 };

typedef struct speaker {
    int32_t sequence, piece[MOST_IDS], said[N_NEW + MOST_GUESSED + 1], ids[MOST_IDS + N_NEW + MOST_GUESSED + 1];
    size_t n_ids, n_said, n_piece, guessed;
    hn_lm_drafter *drafter;
    hn_lm_sampler *sampler;
} speaker;

static void prepare(speaker *s)
{
    s->guessed = 0;
    s->piece[0] = s->ids[s->n_ids - 1];
    CHECK_OK(hn_lm_drafter_guess(s->drafter, s->ids, s->n_ids, s->n_said, s->piece + 1, MOST_GUESSED, &s->guessed));
    s->n_piece = 1 + s->guessed;
}

static void settle(hn_lm_batch *batch, speaker *s, size_t row)
{
    int32_t drawn[MOST_GUESSED + 1];
    size_t n = 0, length;
    CHECK_OK(hn_lm_batch_settle(batch, s->sequence, s->sampler, row, s->n_piece, drawn, &n));
    for (size_t i = 0; i < n && s->n_said < N_NEW; i++)
        s->ids[s->n_ids++] = s->said[s->n_said++] = drawn[i];
    hn_lm_batch_ids(batch, s->sequence, &length);
    CHECK(s->n_said == N_NEW || length == s->n_ids - 1);
}

static void step(hn_lm_batch *batch, speaker *all)
{
    hn_lm_batch_piece pieces[N_SEQUENCES];
    speaker *of[N_SEQUENCES];
    size_t n = 0, row = 0;
    for (int i = 0; i < N_SEQUENCES; i++)
        if (all[i].n_said < N_NEW) {
            prepare(&all[i]);
            of[n] = &all[i];
            pieces[n++] = (hn_lm_batch_piece){ sizeof(hn_lm_batch_piece), all[i].sequence, (int32_t)all[i].n_piece, all[i].piece, all[i].n_piece };
        }
    if (!n || !CHECK_OK(hn_lm_batch_step(batch, pieces, n)))
        return;
    for (size_t i = 0; i < n; row += of[i++]->n_piece)
        settle(batch, of[i], row);
}

static void check_batch(hn_lm *lm, hn_lm *quantised)
{
    static speaker all[N_SEQUENCES];
    const hn_lm_sampling s = SAMPLING(.temperature = 0.7f, .seed = 11, .repetition = 1.2f, .last = 30);
    const hn_lm_draft_options drafts[N_SEQUENCES] = { DRAFT(.ngram = 2, .ngram_least = 1), DRAFT(.model = quantised, .sampling = &s, .most = 3),
                                                      DRAFT(.model = lm, .sampling = &s) };
    const hn_lm_batch_options o = { .size = sizeof o, .sequences = N_SEQUENCES, .context = 300,
                                    .rows = N_SEQUENCES * (MOST_GUESSED + 1) };
    hn_lm_batch *batch;
    hn_lm_session *session;
    int64_t accepted, rejected, sums[2] = { 0, 0 };
    check_group("a batch");
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &o)) || !CHECK_OK(hn_lm_session_new(&session, lm, NULL)))
        return;
    for (int i = 0; i < N_SEQUENCES; i++) {
        const prompt *p = &prompts[2 + i];
        memcpy(all[i].ids, p->ids, p->n * sizeof *p->ids);
        all[i].n_ids = p->n;
        CHECK_OK(hn_lm_batch_open(batch, -1, &all[i].sequence));
        CHECK_OK(hn_lm_sampler_new(&all[i].sampler, lm, &s));
        CHECK_OK(hn_lm_drafter_new(&all[i].drafter, lm, &drafts[i], 300));
        CHECK_OK(hn_lm_batch_step(batch, &(hn_lm_batch_piece){ sizeof(hn_lm_batch_piece), all[i].sequence, 0, p->ids, p->n - 1 }, 1));
    }
    for (int i = 0; i < N_NEW; i++)
        step(batch, all);
    for (int i = 0; i < N_SEQUENCES; i++) {
        say(lm, session, &s, &prompts[2 + i], 1000, &want);
        CHECK_THAT(!memcmp(want.ids, all[i].said, sizeof want.ids), "sequence %d says something else", i);
        CHECK_OK(hn_lm_drafter_counts(all[i].drafter, &accepted, &rejected));
        CHECK(accepted > 0);
        sums[0] += accepted, sums[1] += rejected;
        hn_lm_drafter_free(all[i].drafter);
        hn_lm_sampler_free(all[i].sampler);
    }
    check_counts("a batch", sums, false);
    hn_lm_session_free(session);
    hn_lm_batch_free(batch);
}

/* ---- refusals ---- */

static void check_refusals(hn_lm *lm)
{
    hn_lm_session *session;
    hn_lm_drafter *drafter = NULL;
    hn_lm *other = NULL, *weights = NULL, *words = NULL;
    int32_t room[4];
    size_t n;
    int64_t a;
    const hn_lm_sampling s = SAMPLING(.temperature = 1);
    const hn_lm_session_options tiny = { .size = sizeof tiny, .batch = 8 };
    check_group("refusals");
#define REFUSED(words_, code, ...)                                                                                     \
    CHECK_FAILS(hn_lm_session_new_drafting(&session, lm, NULL, &(hn_lm_draft_options)DRAFT(__VA_ARGS__)), code, words_)
    REFUSED("found -1, 0 and 0", HN_ERR_ARGUMENT, .most = -1);
    REFUSED("of 0 to 1024", HN_ERR_ARGUMENT, .most = 1 << 20);
    REFUSED("found 5", HN_ERR_ARGUMENT, .ngram = 4, .ngram_least = 5);
    REFUSED("expected a model, which draws", HN_ERR_ARGUMENT, .sampling = &s);
    CHECK_FAILS(hn_lm_session_new_drafting(&session, lm, &tiny, NULL), HN_ERR_ARGUMENT, "8 guesses ahead");
    CHECK_FAILS(hn_lm_session_new_drafting(NULL, lm, NULL, NULL), HN_ERR_ARGUMENT, "found NULL");
    CHECK_FAILS(hn_lm_chat_new_drafting(NULL, lm, NULL, NULL), HN_ERR_ARGUMENT, "found NULL");
    CHECK_FAILS(hn_lm_session_drafted(NULL, &a, &a), HN_ERR_ARGUMENT, "found NULL");
    CHECK_FAILS(hn_lm_chat_drafted(NULL, &a, &a), HN_ERR_ARGUMENT, "found NULL");
    if (CHECK_OK(hn_lm_open(&other, engine, MODELS "llama", NULL)))
        REFUSED("the draft model " MODELS "llama: expected the 4789 tokens of", HN_ERR_ARGUMENT, .model = other);
    if (CHECK_OK(hn_lm_open_weights(&weights, engine, hn_lm_builtin(), NULL)))
        REFUSED("", HN_ERR_UNSUPPORTED, .model = weights);
    if (CHECK_OK(hn_lm_open_words(&words, engine, hn_lm_builtin(), NULL)))
        REFUSED("", HN_ERR_UNSUPPORTED, .model = words);
    if (CHECK_OK(hn_lm_drafter_new(&drafter, lm, NULL, 6))) {
        CHECK_FAILS(hn_lm_drafter_guess(drafter, prompts[0].ids, 7, 0, room, 4, &n), HN_ERR_ARGUMENT, "context is 6");
        CHECK_FAILS(hn_lm_drafter_guess(drafter, prompts[0].ids, 0, 0, room, 4, &n), HN_ERR_ARGUMENT, "no ids");
        CHECK_FAILS(hn_lm_drafter_guess(drafter, (int32_t[]){ 1 << 20 }, 1, 0, room, 4, &n), HN_ERR_ARGUMENT, "the vocabulary");
        CHECK_OK(hn_lm_drafter_guess(drafter, (int32_t[]){ 5, 6, 5, 6, 5, 6 }, 5, 0, room, 4, &n));
        CHECK_INT(1, (int64_t)n); /* what the context takes */
        CHECK_INT(6, room[0]);
    }
    hn_lm_drafter_free(drafter);
    CHECK_FAILS(hn_lm_drafter_new(&drafter, lm, NULL, 1 << 20), HN_ERR_ARGUMENT, "made for 512");
    hn_lm_close(words);
    hn_lm_close(weights);
    hn_lm_close(other);
}

/* A draft model whose tokens are as many, and one of them is another. */
static void check_token(hn_lm *lm)
{
    const char *path = in_dir("other.gguf"), *piece;
    char sought[40] = { 0 }; /* a token's length in eight bytes, and its text */
    char words[160];
    size_t length = 0;
    hn_lm_session *session;
    hn_lm *other;
    hn_heap heap;
    void *file;
    size_t bytes;
    check_group("another token");
    hn_heap_init(&heap, NULL);
    if (!CHECK_OK(hn_file_read(&heap, in_dir("random.gguf"), 1 << 28, &file, &bytes)))
        return;
    CHECK_OK(hn_lm_piece(lm, hn_lm_special(lm, HN_LM_EOS), &piece, &length));
    CHECK(length >= 4 && length < 32);
    sought[0] = (char)length;
    memcpy(sought + 8, piece, length);
    char *at = file, *const end = at + bytes - sizeof sought;
    while (at < end && memcmp(at, sought, 8 + length))
        at++;
    if (CHECK(at < end)) {
        at[10] = '#';
        FILE *f = fopen(path, "wb");
        CHECK(f && fwrite(file, 1, bytes, f) == bytes && !fclose(f));
        if (CHECK_OK(hn_lm_open(&other, engine, path, NULL))) {
            snprintf(words, sizeof words, "expected '%s', that of hone:tiny, found '%.2s#", sought + 8, sought + 8);
            REFUSED(words, HN_ERR_ARGUMENT, .model = other);
            hn_lm_close(other);
        }
    }
    hn_free(&heap, file);
}

static bool make_drafts(void)
{
    static const hn_lm_quantize_options again = { .size = sizeof again, .requantize = 1 };
    static const hn_lm_make_options made = { .size = sizeof made, .tokenizer = "hone:tiny" };
    return CHECK_OK(hn_lm_quantize(engine, hn_lm_builtin(), in_dir("draft.gguf"), "q4_0", &again)) &&
           CHECK_OK(hn_lm_make(engine, "qwen3", in_dir("random.gguf"), &made));
}

int main(int argc, char **argv)
{
    const char *temp = getenv("TMPDIR");
    hn_lm *lm = NULL, *quantised = NULL, *random = NULL;
    int64_t before, live;
    check_open(argc, argv);
    snprintf(dir, sizeof dir, "%.180s/hone-drafts-XXXXXX", temp ? temp : "/tmp");
    CHECK(mkdtemp(dir));
    want.logits = malloc(sizeof(float) * N_NEW * MOST_VOCAB);
    got.logits = malloc(sizeof(float) * N_NEW * MOST_VOCAB);
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 }))) {
        hn_engine_memory(engine, &before, NULL, NULL);
        if (make_drafts() && CHECK_OK(hn_lm_open(&lm, engine, hn_lm_builtin(), NULL)) &&
            CHECK_OK(hn_lm_open(&quantised, engine, in_dir("draft.gguf"), NULL)) &&
            CHECK_OK(hn_lm_open(&random, engine, in_dir("random.gguf"), NULL))) {
            read_prompts(lm);
            check_builtin(lm, quantised, random);
            check_itself(lm);
            check_chat(lm, quantised);
            check_batch(lm, quantised);
            check_refusals(lm);
            check_token(lm);
            if (!check_flag("--quick"))
                check_models();
        }
        hn_lm_close(random);
        hn_lm_close(quantised);
        hn_lm_close(lm);
        hn_engine_memory(engine, &live, NULL, NULL);
        CHECK_INT(before, live);
        hn_engine_free(engine);
    }
    check_group(NULL);
    free(want.logits);
    free(got.logits);
    CHECK(hn_os_folder_each(dir, remove_one, dir) && hn_os_folder_remove(dir));
    return check_close();
}
