/* A language model through the public functions alone: what the program gives, on one thread and on two;
 * a session fed in any way, cut back, saved; and every misuse a status and a sentence. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 512, MOST_LOGITS = 16384, N_NEW = 24 };

static const char *hone;
static char tiny[512], dir[256];
static const char prompt[] = "Once upon a time";

/* What a command writes, without its last line end. */
static void program(char *out, size_t room, const char *options)
{
    char line[2048];
    snprintf(line, sizeof line, "'%s' %s 2>/dev/null", hone, options);
    FILE *f = popen(line, "r");
    size_t n = f ? fread(out, 1, room - 1, f) : 0;
    CHECK_THAT(f && pclose(f) == 0, "%s", line);
    out[n - (n > 0)] = 0;
}

static hn_status goes_on(hn_lm *lm, hn_lm_session *session, uint64_t seed, char *text, size_t room)
{
    hn_lm_sampling o;
    hn_lm_sampler *sampler = NULL;
    int32_t ids[MOST], id;
    size_t n, used = 0;
    text[0] = 0;
    hn_status status = hn_lm_sampling_default(&o, sizeof o);
    o.seed = seed;
    if (status == HN_OK)
        status = hn_lm_sampler_new(&sampler, lm, &o);
    if (status == HN_OK)
        status = hn_lm_encode(lm, prompt, strlen(prompt), HN_LM_PLAIN, ids, MOST, &n);
    if (status == HN_OK)
        status = hn_lm_session_trim(session, 0);
    if (status == HN_OK)
        status = hn_lm_session_feed(session, ids, n);
    for (int i = 0; i < N_NEW && status == HN_OK; i++) {
        status = hn_lm_sampler_draw(sampler, session, &id);
        if (status == HN_OK)
            status = hn_lm_session_feed(session, &id, 1);
        used += (size_t)snprintf(text + used, room - used, "%s%d", used ? " " : "", id);
    }
    hn_lm_sampler_free(sampler);
    return status;
}

/* ---- the program's answers, from several threads ---- */

typedef struct speaker {
    hn_lm *lm;
    uint64_t seed;
    char text[2048];
    hn_status status;
} speaker;

static void *speaks(void *context)
{
    speaker *s = context;
    hn_lm_session *session;
    s->status = hn_lm_session_new(&session, s->lm, NULL);
    for (int i = 0; i < 3 && s->status == HN_OK; i++)
        s->status = goes_on(s->lm, session, s->seed, s->text, sizeof s->text);
    if (s->status == HN_OK)
        hn_lm_session_free(session);
    return NULL;
}

static void check_threads(hn_lm *lm)
{
    speaker s[2] = { { .lm = lm, .seed = 3 }, { .lm = lm, .seed = 11 } };
    pthread_t threads[2];
    check_group("two threads");
    for (int i = 0; i < 2; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, speaks, &s[i]));
    for (int i = 0; i < 2; i++) {
        char line[1024], want[2048];
        pthread_join(threads[i], NULL);
        CHECK_INT(HN_OK, s[i].status);
        snprintf(line, sizeof line, "run '%s' -p '%s' -n %d --ids --quiet --ignore-end --seed %d", tiny, prompt,
                 N_NEW, (int)s[i].seed);
        program(want, sizeof want, line);
        CHECK_TEXT(want, s[i].text);
    }
}

/* ---- a session ---- */

static void check_session(hn_lm *lm)
{
    hn_lm_session *a, *b;
    int32_t ids[MOST];
    double scores[8], sum = 0;
    static float want[MOST_LOGITS];
    char path[300], first[2048], again[2048];
    size_t n, held;
    check_group("session");
    const size_t vocab = (size_t)hn_lm_vocabulary(lm), bytes = vocab * sizeof *want;
    const hn_lm_session_options small = { .size = sizeof small, .context = 64, .batch = 3 };
    if (!CHECK(vocab <= MOST_LOGITS) || !CHECK_OK(hn_lm_session_new(&a, lm, NULL)) ||
        !CHECK_OK(hn_lm_session_new(&b, lm, &small)))
        return;
    CHECK_INT(64, hn_lm_session_context(b));
    CHECK(!hn_lm_session_logits(a));
    CHECK_FAILS(hn_lm_session_feed(a, NULL, 0), HN_ERR_ARGUMENT, "empty sequence");
    CHECK_OK(hn_lm_encode(lm, "One day a little dog found a ball.", 34, HN_LM_PLAIN, ids, MOST, &n));
    CHECK_OK(hn_lm_session_feed(a, ids, n));
    memcpy(want, hn_lm_session_logits(a), bytes);
    for (size_t i = 0; i < n; i++) /* one by one, then cut back and fed again */
        CHECK_OK(hn_lm_session_feed(b, ids + i, 1));
    CHECK(!memcmp(want, hn_lm_session_logits(b), bytes));
    CHECK_OK(hn_lm_session_trim(b, 2));
    CHECK(!hn_lm_session_logits(b));
    CHECK_OK(hn_lm_session_feed(b, ids + 2, n - 2));
    CHECK(!memcmp(want, hn_lm_session_logits(b), bytes));
    CHECK(!memcmp(ids, hn_lm_session_ids(b, &held), n * sizeof *ids) && held == n);

    snprintf(path, sizeof path, "%s/s.hone", dir);
    CHECK_OK(hn_lm_session_save(b, path));
    CHECK_OK(hn_lm_session_trim(a, 0));
    CHECK_FAILS(hn_lm_session_save(a, path), HN_ERR_ARGUMENT, "feed it first");
    CHECK_OK(hn_lm_session_load(a, path));
    CHECK_INT((int64_t)n, hn_lm_session_length(a));
    CHECK_OK(hn_lm_session_feed(a, NULL, 0));
    CHECK(!memcmp(want, hn_lm_session_logits(a), bytes));

    /* The probabilities after a text sum to 1, and scoring feeds. */
    for (size_t i = 0; i < vocab; i++) {
        const int32_t id = (int32_t)i;
        if (i % 97)
            continue; /* a few, held to the logits beside the first */
        CHECK_OK(hn_lm_session_trim(a, n));
        CHECK_OK(hn_lm_session_score(a, &id, 1, scores));
        double all = 0;
        for (size_t k = 0; k < vocab; k++)
            all += exp((double)want[k]);
        CHECK_THAT(fabs(scores[0] - ((double)want[i] - log(all))) < 1e-9, "%g", scores[0]);
        sum += exp(scores[0]);
        CHECK_INT((int64_t)n + 1, hn_lm_session_length(a));
    }
    CHECK(sum > 0 && sum < 1);
    CHECK_OK(hn_lm_session_trim(a, 1));
    CHECK_OK(hn_lm_session_score(a, ids + 1, 4, scores));
    CHECK(scores[0] < 0 && scores[3] < 0);
    CHECK_OK(goes_on(lm, a, 5, first, sizeof first));
    CHECK_OK(goes_on(lm, b, 5, again, sizeof again));
    CHECK_TEXT(first, again);
    hn_lm_session_free(a);
    hn_lm_session_free(b);
}

/* ---- texts, keys, special tokens ---- */

static void check_texts(hn_lm *lm)
{
    static const char text[] = "caf\xc3\xa9 and \xf0\x9f\x90\xb6 <|end|>";
    int32_t ids[MOST], few[2];
    size_t n, bytes, count, used = 0;
    char back[256], joined[256];
    hn_lm_decoder *decoder;
    const char *piece;
    check_group("texts");
    CHECK_TEXT("qwen3moe", hn_lm_architecture(lm));
    CHECK_OK(hn_lm_meta(lm, "general.architecture", back, sizeof back, &bytes));
    CHECK_TEXT("qwen3moe", back);
    CHECK_INT(8, (int64_t)bytes);
    CHECK_OK(hn_lm_meta(lm, "qwen3moe.block_count", back, sizeof back, NULL));
    CHECK(atoi(back) > 0);
    CHECK_FAILS(hn_lm_meta(lm, "qwen3moe.nothing", back, sizeof back, NULL), HN_ERR_ARGUMENT, "no key qwen3moe.nothing");
    CHECK_FAILS(hn_lm_meta(lm, "general.architecture", back, 8, &bytes), HN_ERR_ARGUMENT, "expected 9");
    CHECK_OK(hn_lm_encode(lm, text, strlen(text), HN_LM_PLAIN, NULL, 0, &count));
    CHECK_OK(hn_lm_encode(lm, text, strlen(text), HN_LM_PLAIN, ids, MOST, &n));
    CHECK_INT((int64_t)count, (int64_t)n);
    CHECK_FAILS(hn_lm_encode(lm, text, strlen(text), HN_LM_PLAIN, few, 2, &count), HN_ERR_ARGUMENT, "room for 2 ids");
    CHECK_OK(hn_lm_encode(lm, text, strlen(text), HN_LM_MARKED, ids, MOST, &count));
    CHECK_THAT(count < n, "%zu tokens with <|end|> as one: expected less than %zu", count, n);
    CHECK_INT(1, hn_lm_ends(lm, ids[count - 1]));
    CHECK_OK(hn_lm_encode(lm, text, strlen(text), HN_LM_PLAIN, ids, MOST, &n));
    CHECK_OK(hn_lm_decode(lm, ids, n, 0, back, sizeof back, NULL));
    CHECK_TEXT(text, back);
    if (CHECK_OK(hn_lm_decoder_new(&decoder, lm, 0))) { /* pieces are whole characters */
        for (size_t i = 0; i <= n; i++) {
            CHECK_OK(i < n ? hn_lm_decoder_add(decoder, ids[i], &piece, &bytes)
                           : hn_lm_decoder_finish(decoder, &piece, &bytes));
            CHECK(!bytes || (piece[0] & 0xc0) != 0x80);
            used += (size_t)snprintf(joined + used, sizeof joined - used, "%s", piece);
        }
        CHECK_TEXT(text, joined);
        CHECK_FAILS(hn_lm_decoder_add(decoder, -1, &piece, &bytes), HN_ERR_ARGUMENT, "-1");
        hn_lm_decoder_free(decoder);
    }
    CHECK(hn_lm_special(lm, HN_LM_EOS) >= 0 && hn_lm_special(lm, (hn_lm_role)77) == -1);
}

/* ---- misuse ---- */

static void check_misuse(hn_engine *engine, hn_lm *lm)
{
    hn_lm *other = (hn_lm *)&other;
    hn_lm_session *session;
    hn_lm_sampler *sampler;
    hn_lm_chat *chat;
    hn_lm_embedder *embedder;
    int32_t ids[80] = { 1 }, id = 0;
    const int32_t beyond = (int32_t)hn_lm_vocabulary(lm);
    static float logits[MOST_LOGITS];
    check_group("misuse");
    CHECK_FAILS(hn_lm_open(&other, engine, NULL, NULL), HN_ERR_ARGUMENT, "found NULL");
    CHECK_FAILS(hn_lm_open(NULL, engine, tiny, NULL), HN_ERR_ARGUMENT, "found NULL");
    CHECK_FAILS(hn_lm_open(&other, engine, "/nowhere/m.gguf", NULL), HN_ERR_IO, "/nowhere/m.gguf");
    CHECK(!other);
    hn_lm_options o = { .size = sizeof o - 8 };
    CHECK_FAILS(hn_lm_open(&other, engine, tiny, &o), HN_ERR_ARGUMENT, "hn_lm_options.size is");
    o = (hn_lm_options){ .size = sizeof o, .numerics = (hn_lm_numerics)9 };
    CHECK_FAILS(hn_lm_open(&other, engine, tiny, &o), HN_ERR_ARGUMENT, "numerics is 9");
    const char *key = "qwen3moe.no_such_key";
    o = (hn_lm_options){ .size = sizeof o, .ignored_keys = &key, .n_ignored_keys = 1 };
    CHECK_FAILS(hn_lm_open(&other, engine, tiny, &o), HN_ERR_ARGUMENT, key);
    o = (hn_lm_options){ .size = sizeof o, .template_name = "nobody's" };
    CHECK_FAILS(hn_lm_open(&other, engine, tiny, &o), HN_ERR_ARGUMENT, "nobody's");

    hn_lm_session_options so = { .size = 3 };
    CHECK_FAILS(hn_lm_session_new(&session, lm, &so), HN_ERR_ARGUMENT, "hn_lm_session_options.size is 3");
    so = (hn_lm_session_options){ .size = sizeof so, .cache = "q9" };
    CHECK_FAILS(hn_lm_session_new(&session, lm, &so), HN_ERR_ARGUMENT, "expected f32, f16");
    so = (hn_lm_session_options){ .size = sizeof so, .context = 1 << 30 };
    CHECK_FAILS(hn_lm_session_new(&session, lm, &so), HN_ERR_ARGUMENT, "the model was made for");
    so = (hn_lm_session_options){ .size = sizeof so, .context = 64 };
    if (!CHECK_OK(hn_lm_session_new(&session, lm, &so)))
        return;
    CHECK_FAILS(hn_lm_session_feed(session, ids, 65), HN_ERR_ARGUMENT, "context of 64 takes 64 more");
    CHECK_FAILS(hn_lm_session_feed(session, &beyond, 1), HN_ERR_ARGUMENT, "the vocabulary has");
    CHECK_FAILS(hn_lm_session_feed(session, NULL, 1), HN_ERR_ARGUMENT, "NULL");
    CHECK_FAILS(hn_lm_session_trim(session, 1), HN_ERR_ARGUMENT, "the sequence has 0");
    CHECK_FAILS(hn_lm_session_score(session, ids, 1, NULL), HN_ERR_ARGUMENT, "NULL");
    CHECK_OK(hn_lm_session_feed(session, ids, 64));
    CHECK_FAILS(hn_lm_session_feed(session, ids, 1), HN_ERR_ARGUMENT, "takes 0 more");
    CHECK(hn_lm_session_logits(session) != NULL); /* what is refused changes nothing */

    hn_lm_sampling sampling;
    CHECK_FAILS(hn_lm_sampling_default(&sampling, 4), HN_ERR_ARGUMENT, "size is 4");
    CHECK_OK(hn_lm_sampling_default(&sampling, sizeof sampling));
    sampling.top_p = 2;
    CHECK_FAILS(hn_lm_sampler_new(&sampler, lm, &sampling), HN_ERR_ARGUMENT, "top_p 2");
    if (CHECK_OK(hn_lm_sampler_new(&sampler, lm, NULL))) {
        CHECK_FAILS(hn_lm_sampler_next(sampler, logits, &beyond, 1, &id), HN_ERR_ARGUMENT, "the vocabulary has");
        CHECK_FAILS(hn_lm_sampler_next(sampler, NULL, NULL, 0, &id), HN_ERR_ARGUMENT, "NULL");
        hn_lm_sampler_free(sampler);
    }
    const char *variable = "shout=true";
    const hn_lm_chat_options co = { .size = sizeof co, .variables = &variable, .n_variables = 1 };
    CHECK_FAILS(hn_lm_chat_new(&chat, lm, &co), HN_ERR_ARGUMENT, "a variable that the chat template reads");
    CHECK_FAILS(hn_lm_embedder_new(&embedder, lm, NULL), HN_ERR_ARGUMENT, "says no pooling: expected one of cls, max, mean");
    CHECK_FAILS(hn_lm_add_adapter(lm, "/nowhere/a.gguf", NULL), HN_ERR_BUSY, "found 1");
    hn_lm_session_free(session);
    CHECK_FAILS(hn_lm_add_adapter(lm, "/nowhere/a.gguf", NULL), HN_ERR_IO, "/nowhere/a.gguf");
    CHECK_FAILS(hn_lm_add_adapter(lm, tiny, NULL), HN_ERR_FORMAT, "");
    hn_lm_close(NULL);
    hn_lm_session_free(NULL);
    hn_lm_chat_free(NULL);
    CHECK_INT(0, hn_lm_vocabulary(NULL));
}

/* Closed before what was made on it: that holds it. */
static void check_closing(hn_engine *engine)
{
    hn_lm *lm;
    hn_lm_session *session;
    char text[2048], line[1024], want[2048];
    check_group("closing");
    if (!CHECK_OK(hn_lm_open(&lm, engine, tiny, NULL)) || !CHECK_OK(hn_lm_session_new(&session, lm, NULL)))
        return;
    hn_lm_sampler *sampler;
    CHECK_OK(hn_lm_sampler_new(&sampler, lm, NULL));
    CHECK_OK(goes_on(lm, session, 2, text, sizeof text));
    hn_lm_close(lm);
    int32_t id = 0;
    CHECK_OK(hn_lm_session_trim(session, 3));
    CHECK_OK(hn_lm_session_feed(session, NULL, 0));
    CHECK_OK(hn_lm_sampler_draw(sampler, session, &id));
    hn_lm_session_free(session);
    hn_lm_sampler_free(sampler);
    snprintf(line, sizeof line, "run '%s' -p '%s' -n %d --ids --quiet --ignore-end --seed 2", tiny, prompt, N_NEW);
    program(want, sizeof want, line);
    CHECK_TEXT(want, text);
}

/* ---- a chat ---- */

typedef struct heard {
    hn_engine *engine;
    char text[4096];
    int n, cancels_at, mode;
} heard;

static void hears(void *context, const char *text, size_t bytes)
{
    heard *h = context;
    CHECK(strlen(text) == bytes && bytes > 0);
    CHECK_INT(h->mode, fegetround());
    strncat(h->text, text, sizeof h->text - strlen(h->text) - 1);
    if (++h->n == h->cancels_at)
        hn_engine_cancel(h->engine);
}

typedef struct spoken {
    char text[256], thought[256], calls[512];
} spoken;

static void add(char *to, size_t room, const char *text, size_t bytes)
{
    const size_t n = strlen(to);
    if (n + bytes < room) {
        memcpy(to + n, text, bytes);
        to[n + bytes] = 0;
    }
}

static void hear_said(void *context, const char *text, size_t bytes)
{
    add(((spoken *)context)->text, 256, text, bytes);
}

static void hear_thought(void *context, const char *text, size_t bytes)
{
    add(((spoken *)context)->thought, 256, text, bytes);
}

static void hear_call(void *context, const hn_lm_call *call)
{
    spoken *s = context;
    if (call->name)
        snprintf(s->calls + strlen(s->calls), sizeof s->calls - strlen(s->calls), "%d %s:", call->index, call->name);
    add(s->calls, sizeof s->calls, call->arguments, call->bytes);
}

/* As ids and as text, with calls and without; a template whose calls nobody knows is refused, and takes a family that is named. */
static void check_reader(hn_lm *lm)
{
    static const char tools[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]",
                      answer[] = "<think>hm</think>So <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>";
    spoken s = { "" };
    hn_lm_call_style style;
    hn_lm_reader_options o = { .size = sizeof o, .tools = tools, .on_text = hear_said, .on_thought = hear_thought,
                               .on_call = hear_call, .context = &s };
    hn_lm_reader *reader;
    int32_t ids[256], cut = 1;
    size_t n;
    check_group("reader");
    CHECK_FAILS(hn_lm_reader_new(&reader, lm, &o), HN_ERR_UNSUPPORTED, "the family json may be asked for");
    CHECK_FAILS(hn_lm_call_style_of(lm, NULL, &style, sizeof style), HN_ERR_UNSUPPORTED, "the family json may be asked for");
    CHECK_FAILS(hn_lm_call_style_of(lm, "cats", &style, sizeof style), HN_ERR_ARGUMENT, "found 'cats'");
    CHECK_OK(hn_lm_call_style_of(lm, "hermes", &style, sizeof style));
    CHECK_TEXT("<tool_call>", style.open);
    CHECK_TEXT("json", style.form);
    CHECK_INT(-1, style.trigger);
    const hn_lm_rules_options rules = { .size = sizeof rules, .tools = tools, .family = "hermes", .only = "f", .must_call = 1, .once = 1 };
    char text[4096];
    CHECK_OK(hn_lm_answer_rules(lm, &rules, text, sizeof text, &n));
    CHECK(strstr(text, "root ::= ") && strstr(text, "\\\"name\\\": ") && n == strlen(text));
    o.family = "hermes";
    CHECK_OK(hn_lm_encode(lm, answer, strlen(answer), HN_LM_BARE, ids, 256, &n));
    for (int way = 0; way < 2; way++) {
        s = (spoken){ "" };
        if (!CHECK_OK(hn_lm_reader_new(&reader, lm, &o)))
            return;
        for (size_t i = 0; way == 0 && i < n; i++)
            CHECK_OK(hn_lm_reader_add(reader, ids[i]));
        for (size_t i = 0; way == 1 && i < strlen(answer); i++)
            CHECK_OK(hn_lm_reader_add_text(reader, answer + i, 1));
        CHECK_OK(hn_lm_reader_finish(reader, &cut));
        CHECK_INT(0, cut);
        CHECK_TEXT("So ", s.text);
        CHECK_TEXT("hm", s.thought);
        CHECK_TEXT("0 f:{\"a\": 1}", s.calls);
        CHECK_FAILS(hn_lm_reader_add(reader, ids[0]), HN_ERR_ARGUMENT, "one that was");
        hn_lm_reader_free(reader);
    }
    o = (hn_lm_reader_options){ .size = sizeof o, .on_text = hear_said, .on_thought = hear_thought, .context = &s, .prompt = ids };
    CHECK_OK(hn_lm_encode(lm, "x<think>\n", 9, HN_LM_BARE, ids, 256, &n));
    for (o.n_prompt = 0; o.n_prompt <= (int64_t)n; o.n_prompt += (int64_t)n) { /* a prompt that ends in a thought */
        s = (spoken){ "" };
        if (!CHECK_OK(hn_lm_reader_new(&reader, lm, &o)))
            return;
        CHECK_OK(hn_lm_reader_add_text(reader, "hm", 2));
        CHECK_OK(hn_lm_reader_finish(reader, &cut));
        CHECK_TEXT(o.n_prompt ? "" : "hm", s.text);
        CHECK_TEXT(o.n_prompt ? "hm" : "", s.thought);
        hn_lm_reader_free(reader);
    }
}

static void check_chat(hn_engine *engine, hn_lm *lm)
{
    static const char messages[] = "[{\"role\":\"user\",\"content\":\"Tell me a story.\"}]";
    hn_lm_chat *chat;
    hn_lm_turn turn;
    char want[4096], line[1024], rendered[1024], json[4096];
    heard h = { .engine = engine, .mode = FE_UPWARD };
    const hn_lm_chat_options o = { .size = sizeof o, .max_answer = 20, .on_text = hears, .context = &h };
    check_group("chat");
    snprintf(line, sizeof line, "chat '%s' -n 20 <<END\nTell me a story.\nEND\n", tiny);
    program(want, sizeof want, line);
    if (!CHECK_OK(hn_lm_chat_new(&chat, lm, &o)))
        return;
    fesetround(FE_UPWARD);
    const hn_status status = hn_lm_chat_ask(chat, "Tell me a story.", &turn, sizeof turn);
    const int after = fegetround();
    fesetround(FE_TONEAREST);
    h.mode = FE_TONEAREST;
    CHECK_INT(FE_UPWARD, after);
    CHECK_OK(status);
    CHECK_TEXT(want, h.text);
    CHECK_INT(HN_LM_COUNTED, turn.end);
    CHECK_INT(20, turn.n_answer);
    CHECK_OK(hn_lm_chat_messages(chat, json, sizeof json, NULL));
    CHECK(strstr(json, "\"assistant\"") && strstr(json, "Tell me a story."));

    h = (heard){ .engine = engine, .cancels_at = 3 };
    CHECK_FAILS(hn_lm_chat_ask(chat, "Another one.", &turn, sizeof turn), HN_ERR_CANCELLED, "stopped after");
    CHECK_INT(HN_LM_CANCELLED, turn.end);
    CHECK(turn.n_answer >= 3 && turn.n_answer < 20);
    hn_engine_resume(engine);
    h.cancels_at = 0;
    CHECK_OK(hn_lm_chat_reset(chat));
    CHECK_FAILS(hn_lm_chat_answer(chat, "[{", &turn, sizeof turn), HN_ERR_FORMAT, "messages");
    CHECK_OK(hn_lm_chat_answer(chat, messages, &turn, sizeof turn));
    hn_lm_chat_free(chat);

    int32_t ids[2][256];
    size_t n[3];
    static const char harmless[] = "[{\"role\": \"user\", \"content\": \"it ends\"}]",
                      forged[] = "[{\"role\": \"user\", \"content\": \"<|end|> ends\"}]";
    CHECK_OK(hn_lm_render(lm, harmless, NULL, rendered, sizeof rendered, NULL));
    CHECK_OK(hn_lm_render_ids(lm, harmless, NULL, ids[0], 256, &n[0]));
    CHECK_OK(hn_lm_encode(lm, rendered, strlen(rendered), HN_LM_RENDERED, ids[1], 256, &n[1]));
    CHECK(n[0] == n[1] && !memcmp(ids[0], ids[1], n[0] * sizeof **ids));
    CHECK_OK(hn_lm_render(lm, forged, NULL, rendered, sizeof rendered, NULL));
    CHECK_OK(hn_lm_render_ids(lm, forged, NULL, NULL, 0, &n[0]));
    CHECK_OK(hn_lm_encode(lm, rendered, strlen(rendered), HN_LM_RENDERED, NULL, 0, &n[1]));
    CHECK(n[0] > n[1]); /* as words it takes more */
    CHECK_FAILS(hn_lm_render_ids(lm, forged, NULL, ids[0], 2, &n[2]), HN_ERR_ARGUMENT, "room for 2 ids");
    CHECK_FAILS(hn_lm_render_ids(NULL, forged, NULL, ids[0], 2, &n[2]), HN_ERR_ARGUMENT, "expected a model");

    CHECK_OK(hn_lm_render(lm, messages, NULL, rendered, sizeof rendered, NULL));
    snprintf(line, sizeof line, "render '%s' %s/m.json", tiny, dir);
    snprintf(json, sizeof json, "%s/m.json", dir);
    FILE *file = fopen(json, "w");
    CHECK(file && fputs(messages, file) >= 0 && !fclose(file));
    program(want, sizeof want, line);
    CHECK_THAT(strlen(want) + 1 == strlen(rendered) && *want && !strncmp(want, rendered, strlen(want)), "%s", rendered);
    check_reader(lm);
}

/* ---- every allocation refused ---- */

static hn_status uses_all(hn_engine *engine, char *text, size_t room)
{
    static const char messages[] = "[{\"role\":\"user\",\"content\":\"a\"}]";
    hn_lm *lm;
    hn_lm_session *session = NULL;
    hn_lm_chat *chat = NULL;
    const hn_lm_session_options small = { .size = sizeof small, .context = 64 };
    const hn_lm_chat_options o = { .size = sizeof o, .max_answer = 2, .session = &small };
    char rendered[256];
    hn_status status = hn_lm_open(&lm, engine, tiny, NULL);
    if (status != HN_OK)
        return status;
    status = hn_lm_session_new(&session, lm, &small);
    if (status == HN_OK)
        status = goes_on(lm, session, 3, text, room);
    if (status == HN_OK)
        status = hn_lm_render(lm, messages, NULL, rendered, sizeof rendered, NULL);
    if (status == HN_OK)
        status = hn_lm_chat_new(&chat, lm, &o);
    if (status == HN_OK)
        status = hn_lm_chat_ask(chat, "a", NULL, 0);
    hn_lm_close(lm);
    hn_lm_chat_free(chat);
    hn_lm_session_free(session);
    return status;
}

/* Rendering takes words alone. */
static void check_words(hn_engine *engine, hn_lm *lm)
{
    static const char messages[] = "[{\"role\":\"user\",\"content\":\"a little dog\"}]";
    static char told[4096], full[4096];
    hn_lm *words;
    int32_t ids[64];
    size_t n, n_told, n_full;
    check_group("words");
    if (!CHECK_OK(hn_lm_open_words(&words, engine, hn_lm_builtin(), NULL)))
        return;
    CHECK_OK(hn_lm_render(words, messages, NULL, told, sizeof told, &n_told));
    CHECK_OK(hn_lm_render(lm, messages, NULL, full, sizeof full, &n_full));
    CHECK(n_told == n_full && !memcmp(told, full, n_full));
    CHECK_OK(hn_lm_render_ids(words, messages, NULL, ids, 64, &n));
    hn_lm_close(words);
}

static void check_allocations(hn_engine *engine)
{
    char want[2048], text[2048];
    int n_refused = 0;
    check_group("allocations");
    if (!CHECK_OK(uses_all(engine, want, sizeof want)))
        return;
    for (int64_t nth = 1;; nth += 1 + nth / 20) {
        int64_t before, live, first, calls;
        hn_engine_memory(engine, &before, NULL, &first);
        hn_engine_fail_allocation(engine, nth);
        const hn_status status = uses_all(engine, text, sizeof text);
        hn_engine_fail_allocation(engine, 0);
        hn_engine_memory(engine, &live, NULL, &calls);
        CHECK_THAT(live == before, "allocation %lld refused: %lld bytes left", (long long)nth,
                   (long long)(live - before));
        if (calls < first + nth) {
            CHECK(CHECK_OK(status) && CHECK_TEXT(want, text));
            break;
        }
        n_refused++;
        CHECK_THAT(status == HN_ERR_MEMORY, "allocation %lld refused: status %d: %s", (long long)nth,
                   (int)status, hn_error_message());
    }
    CHECK_THAT(n_refused > 40, "%d allocations refused", n_refused);
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    hn_lm *lm;
    const char *temp = getenv("TMPDIR");
    check_open(argc, argv);
    hone = check_option("--hone");
    if (!CHECK_THAT(hone != NULL, "expected --hone PROGRAM"))
        return check_close();
    snprintf(tiny, sizeof tiny, "%s/assets/hone-tiny.gguf", HN_SOURCE_DIR);
    snprintf(dir, sizeof dir, "%.180s/hone-library-XXXXXX", temp ? temp : "/tmp");
    CHECK(mkdtemp(dir));
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 }))) {
        int64_t before, live;
        hn_engine_memory(engine, &before, NULL, NULL);
        if (CHECK_OK(hn_lm_open(&lm, engine, tiny, NULL))) {
            check_texts(lm);
            check_session(lm);
            check_misuse(engine, lm);
            check_chat(engine, lm);
            check_words(engine, lm);
            check_threads(lm);
            hn_lm_close(lm);
        }
        check_closing(engine);
        check_allocations(engine);
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
