/* Masks of grammars: at every state of random walks a token is allowed if and only if all its bytes are, one after the other, and
 * none is forgotten; what is taken back was never there; texts end where the grammar says so, and are what it asks for; and
 * requests with grammars, beside others, guessed ahead and sent back, have the tokens that each has alone.
 * --vocab FOLDER: where vocabularies (ggml-vocab-NAME.gguf) are; --quick: not on these. */
#include "base/json.h"
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hn_engine *engine;

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

typedef struct source {
    const char *name;
    hn_lm_grammar_kind kind;
    const char *text, *trigger;
} source;

static const source sources[] = {
    { "any JSON", HN_LM_JSON_SCHEMA, "{}", NULL },
    { "a person", HN_LM_JSON_SCHEMA,
      "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":130},"
      "\"tags\":{\"type\":\"array\",\"items\":{\"enum\":[\"red\",\"green\",\"re\"]},\"maxItems\":3}},\"required\":[\"name\",\"age\"]}", NULL },
    { "short texts", HN_LM_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":5},\"minItems\":2}", NULL },
    { "a tree", HN_LM_JSON_SCHEMA,
      "{\"type\":\"object\",\"properties\":{\"c\":{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}},\"d\":{\"type\":\"string\",\"format\":\"date\"}},"
      "\"additionalProperties\":false}", NULL },
    { "an expression", HN_LM_REGEX, "([a-z]+[0-9]{1,3}|[\\p{L} ]{2,6};)*", NULL },
    { "ambiguous sums", HN_LM_GBNF, "root ::= s\ns ::= \"a\" s \"b\" | \"a\" s \"c\" | t\nt ::= ( [x-z] | t2 ){1,4}\nt2 ::= \"xy\" | \"\\u00e9\"", NULL },
    { "a bounded text before a narrower one", HN_LM_REGEX, "[^\"x]{3}[a-m]*(;[^!]{2,9}[\\p{L} ]*)?", NULL },
    { "what comes after a mark", HN_LM_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"type\":\"boolean\"}}", "<<" },
};
enum { N_SOURCES = sizeof sources / sizeof *sources, TURNS = N_SOURCES + 1 /* one without */, MOST_TOKENS = 40 };

static hn_lm_grammar *compile(const source *s)
{
    hn_lm_grammar *g = NULL;
    const hn_lm_grammar_options o = { .size = sizeof o, .triggers = &s->trigger, .n_triggers = s->trigger != NULL };
    CHECK_OK(hn_lm_grammar_new(&g, engine, s->kind, s->text, strlen(s->text), &o));
    return g;
}

static bool has_bit(const uint64_t *bits, int32_t id) { return bits[id / 64] >> id % 64 & 1; }

/* Every token alone, by its bytes. */
static bool mask_is_right(hn_lm *lm, hn_lm_matcher *m, const hn_lm_mask *mask)
{
    const int32_t vocab = (int32_t)(mask->words * 64);
    int64_t n = 0, wrong = 0;
    for (int32_t id = 0; id < vocab; id++) {
        size_t taken = 0;
        const bool is_known = id < hn_lm_tokens(lm);
        if (is_known && CHECK_OK(hn_lm_matcher_advance(m, &id, 1, &taken)) && taken)
            hn_lm_matcher_rollback(m, 1);
        n += taken == 1;
        wrong += (taken == 1) != has_bit(mask->bits, id);
    }
    return CHECK_INT(0, wrong) && CHECK_INT(n, mask->n_allowed);
}

static bool same_mask(const hn_lm_mask *a, const uint64_t *bits, int64_t n_allowed)
{
    return CHECK_INT(n_allowed, a->n_allowed) && CHECK(!memcmp(a->bits, bits, (size_t)a->words * sizeof *bits));
}

static int32_t pick(const hn_lm_mask *mask, uint64_t *state)
{
    uint32_t skip = draw(state, (uint32_t)mask->n_allowed);
    int32_t id = 0;
    for (;; id++)
        if (has_bit(mask->bits, id) && !skip--)
            return id;
}

/* A matcher that went astray and back has the masks of one that never did. */
static void rolls_back(hn_lm *lm, hn_lm_grammar *g, hn_lm_matcher *m, const hn_lm_mask *mask, uint64_t *state)
{
    uint64_t *bits = malloc((size_t)mask->words * sizeof *bits);
    const int64_t n_allowed = mask->n_allowed;
    memcpy(bits, mask->bits, (size_t)mask->words * sizeof *bits);
    hn_lm_mask now = *mask;
    size_t n = 0, taken = 1, length;
    for (; n < 5 && taken; n += taken) {
        const int32_t id = pick(&now, state);
        CHECK_OK(hn_lm_matcher_advance(m, &id, 1, &taken));
        if (hn_lm_ends(lm, id)) {
            CHECK_FAILS(hn_lm_matcher_mask(m, &now, sizeof now), HN_ERR_ARGUMENT, "allows no token after");
            n += taken;
            break;
        }
        if (!CHECK_OK(hn_lm_matcher_mask(m, &now, sizeof now)))
            break;
    }
    CHECK_OK(hn_lm_matcher_rollback(m, n));
    if (CHECK_OK(hn_lm_matcher_mask(m, &now, sizeof now)))
        same_mask(&now, bits, n_allowed);
    hn_lm_matcher *fresh = NULL;
    const int32_t *ids = hn_lm_matcher_ids(m, &length);
    if (CHECK_OK(hn_lm_matcher_new(&fresh, lm, g)) && CHECK_OK(hn_lm_matcher_advance(fresh, ids, length, &taken)) &&
        CHECK_INT((int64_t)length, (int64_t)taken) && CHECK_OK(hn_lm_matcher_mask(fresh, &now, sizeof now)))
        same_mask(&now, bits, n_allowed);
    hn_lm_matcher_free(fresh);
    free(bits);
}

static void walks(hn_lm *lm, const source *s, uint64_t seed, int n_checked)
{
    hn_lm_grammar *g = compile(s);
    hn_lm_matcher *m = NULL;
    uint64_t state = seed;
    if (!g || !CHECK_OK(hn_lm_matcher_new(&m, lm, g)))
        return;
    for (int i = 0; i < MOST_TOKENS; i++) {
        hn_lm_mask mask;
        size_t taken = 0;
        if (!CHECK_OK(hn_lm_matcher_mask(m, &mask, sizeof mask)))
            break;
        if (i < n_checked && !mask_is_right(lm, m, &mask)) {
            printf("  %s: after %d tokens\n", s->name, i);
            break;
        }
        CHECK_INT(mask.n_allowed == 1, mask.only >= 0);
        if (i % 8 == 3 && i < n_checked) {
            rolls_back(lm, g, m, &mask, &state);
            CHECK_OK(hn_lm_matcher_mask(m, &mask, sizeof mask));
        }
        const int32_t id = pick(&mask, &state);
        CHECK_OK(hn_lm_matcher_advance(m, &id, 1, &taken));
        CHECK_INT(1, (int64_t)taken);
        if (hn_lm_ends(lm, id))
            break;
    }
    hn_lm_matcher_free(m);
    hn_lm_grammar_free(g);
}

/* ---- in requests ---- */

enum { N_REQUESTS = 24, MOST = 190 };

typedef struct asked {
    int32_t ids[MOST], n;
    double log_probability[MOST];
    hn_lm_end end;
    hn_status status;
    int64_t number, n_returned;
    bool has_ended;
} asked;

static asked all[N_REQUESTS];

static void hear_token(void *context, const hn_lm_drawn *t)
{
    asked *a = context;
    if (CHECK(a->n < MOST)) {
        a->log_probability[a->n] = t->log_probability;
        a->ids[a->n++] = t->id;
    }
}

static void hear_end(void *context, const hn_lm_ended *e)
{
    asked *a = context;
    a->has_ended = true;
    a->end = e->end;
    a->status = e->status;
    a->n_returned = e->n_returned;
}

static hn_lm_sampling sampling_of(int i)
{
    hn_lm_sampling o;
    hn_lm_sampling_default(&o, sizeof o);
    o.seed = (uint64_t)i;
    o.temperature = i % 3 ? 1.0f : 0.0f;
    return o;
}

/* Alone, in a session of its own, with a sampler that has the grammar. */
static void say_alone(hn_lm *lm, int i, const int32_t *prompt, size_t n, hn_lm_grammar *g, asked *to)
{
    hn_lm_session *session = NULL;
    hn_lm_sampler *sampler = NULL;
    hn_lm_sampling o = sampling_of(i);
    o.grammar = g;
    memset(to, 0, sizeof *to);
    to->end = HN_LM_COUNTED;
    if (!CHECK_OK(hn_lm_session_new(&session, lm, NULL)) || !CHECK_OK(hn_lm_sampler_new(&sampler, lm, &o)) ||
        !CHECK_OK(hn_lm_session_feed(session, prompt, n)))
        return;
    while (to->n < MOST) {
        int32_t id;
        if (!CHECK_OK(hn_lm_sampler_draw(sampler, session, &id)))
            break;
        if (hn_lm_ends(lm, id)) {
            to->end = HN_LM_DONE;
            break;
        }
        to->ids[to->n++] = id;
        CHECK_OK(hn_lm_session_feed(session, &id, 1));
    }
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
}

/* That what was said is of the kind that was asked for: JSON that is whole, where it ended. */
static void check_said(hn_lm *lm, const source *s, const asked *a)
{
    char text[4096];
    size_t bytes = 0;
    hn_heap heap;
    hn_json_text *json = NULL;
    if (s->kind != HN_LM_JSON_SCHEMA || s->trigger || a->end != HN_LM_DONE ||
        !CHECK_OK(hn_lm_decode(lm, a->ids, (size_t)a->n, 1, text, sizeof text, &bytes)))
        return;
    hn_heap_init(&heap, NULL);
    const hn_status status = hn_json_read(&heap, "what was said", text, bytes, &json);
    /* the reader refuses halves of characters and keys that are there twice, which the grammar of {} has */
    CHECK(status == HN_OK || strstr(hn_error_message(), "twice") != NULL);
    if (status != HN_OK)
        printf("  %s: %s: %s\n", s->name, text, hn_error_message());
    hn_json_free(json);
}

static void serves(hn_lm *lm, bool drafts, int64_t blocks, int64_t *forced, int64_t *returned)
{
    static hn_lm_grammar *g[N_SOURCES];
    static asked alone[N_REQUESTS];
    hn_lm_batch *batch = NULL;
    hn_lm_scheduler *scheduler = NULL;
    const hn_lm_batch_options bo = { .size = sizeof bo, .sequences = 8, .context = 256, .tokens = 32, .rows = 12, .blocks = blocks };
    const hn_lm_draft_options d = { .size = sizeof d, .fixed = 1, .ngram_least = 1 };
    const hn_lm_scheduler_options so = { .size = sizeof so, .draft = drafts ? &d : NULL };
    const int32_t prompt[] = { 5, 9, 14, 5, 9, 14, 5, 9, 3, 5, 9 };
    for (int i = 0; i < N_SOURCES; i++)
        g[i] = compile(&sources[i]);
    if (!CHECK_OK(hn_lm_batch_new(&batch, lm, &bo)) || !CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, &so)))
        return;
    memset(all, 0, sizeof all);
    for (int i = 0; i < N_REQUESTS; i++) {
        hn_lm_sampling o = sampling_of(i);
        hn_lm_grammar *own = i % TURNS < N_SOURCES ? g[i % TURNS] : NULL;
        const size_t n = (size_t)(4 + i % 7);
        say_alone(lm, i, prompt, n, own, &alone[i]);
        const hn_lm_request r = { .size = sizeof r, .ids = prompt, .n = n, .sampling = &o, .most = MOST, .scores = 1,
                                  .on_token = hear_token, .on_end = hear_end, .context = &all[i], .grammar = own };
        CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &all[i].number));
    }
    for (int i = 0; i < N_SOURCES; i++)
        hn_lm_grammar_free(g[i]); /* requests hold them */
    for (int64_t left = 1; left;)
        if (!CHECK_OK(hn_lm_scheduler_step(scheduler, &left)))
            break;
    for (int i = 0; i < N_REQUESTS; i++) {
        CHECK(all[i].has_ended);
        CHECK_INT(HN_OK, all[i].status);
        CHECK_INT(alone[i].n, all[i].n);
        CHECK_INT(alone[i].end, all[i].end);
        CHECK(!memcmp(alone[i].ids, all[i].ids, (size_t)alone[i].n * sizeof *alone[i].ids));
        if (i % TURNS < N_SOURCES)
            check_said(lm, &sources[i % TURNS], &all[i]);
        *returned += all[i].n_returned;
    }
    hn_lm_scheduler_counts counts;
    CHECK_OK(hn_lm_scheduler_count(scheduler, &counts, sizeof counts));
    *forced += counts.accepted;
    hn_lm_scheduler_free(scheduler);
    hn_lm_batch_free(batch);
}

static void refuses(hn_lm *lm)
{
    hn_lm_grammar *g = NULL;
    hn_lm_matcher *m = NULL;
    size_t taken;
    CHECK_OK(hn_lm_grammar_new(&g, engine, HN_LM_GBNF, "root ::= <nosuch>", 17, NULL));
    CHECK_FAILS(hn_lm_matcher_new(&m, lm, g), HN_ERR_ARGUMENT, "names token \"<nosuch>\"");
    hn_lm_grammar_free(g);
    CHECK_OK(hn_lm_grammar_new(&g, engine, HN_LM_REGEX, "a", 1, NULL));
    CHECK_OK(hn_lm_matcher_new(&m, lm, g));
    CHECK_FAILS(hn_lm_matcher_rollback(m, 1), HN_ERR_ARGUMENT, "it has gone on by 0");
    CHECK_FAILS(hn_lm_matcher_advance(m, &(int32_t){ -1 }, 1, &taken), HN_ERR_ARGUMENT, "the vocabulary has");
    hn_lm_matcher_free(m);
    hn_lm_grammar_free(g);
}

static void on_vocabulary(const char *folder, const char *name)
{
    char path[1024];
    hn_lm *lm = NULL;
    snprintf(path, sizeof path, "%s/ggml-vocab-%s.gguf", folder, name);
    if (access(path, R_OK)) {
        check_skip(path, "the vocabulary is not here");
        return;
    }
    if (!CHECK_OK(hn_lm_open_words(&lm, engine, path, NULL)))
        return;
    for (int i = 0; i < N_SOURCES; i++)
        walks(lm, &sources[i], (uint64_t)i + 1, 4);
    hn_lm_close(lm);
}

int main(int argc, char **argv)
{
    const char *folder = HN_SOURCE_DIR "/../shared/data/vocab";
    int64_t forced = 0, returned = 0, live;
    hn_lm *lm = NULL;
    check_open(argc, argv);
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--vocab"))
            folder = argv[i + 1];
    if (!CHECK_OK(hn_engine_new(&engine, NULL)) || !CHECK_OK(hn_lm_open(&lm, engine, hn_lm_builtin(), NULL)))
        return check_close();
    for (uint64_t seed = 1; seed <= 6; seed++)
        for (int i = 0; i < N_SOURCES; i++)
            walks(lm, &sources[i], seed * 77, MOST_TOKENS);
    refuses(lm);
    serves(lm, false, 0, &forced, &returned);
    serves(lm, true, 6, &forced, &returned);
    CHECK(forced > 0);
    CHECK(returned > 0);
    hn_lm_close(lm);
    static const char *const names[] = { "qwen2", "llama-bpe", "llama-spm" };
    for (size_t i = 0; i < sizeof names / sizeof *names && !check_flag("--quick"); i++)
        on_vocabulary(folder, names[i]);
    hn_engine_memory(engine, &live, NULL, NULL);
    printf("forced or guessed %lld, sent back %lld, bytes left %lld\n", (long long)forced, (long long)returned, (long long)live);
    hn_engine_free(engine);
    return check_close();
}
