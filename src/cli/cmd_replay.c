/* hone replay: an answer of `hone serve` made again by its recipe: alone, in a process of its own, without a cache, on one thread;
 * and held to what was told, text and log-probabilities, to the bit. */
#include "base/file.h"
#include "base/sha256.h"
#include "cli/ignore_option.h"
#include "cli/lora_options.h"
#include "cli/open_model.h"
#include "cli/template_options.h"
#include "cli/told_answer.h"
#include "hone/hone.h"
#include "server/hearing.h"
#include "server/recipe.h"

#include <string.h>

typedef struct replay_args {
    const char *lora;
    bool force;
    hn_template_args template;
    hn_machine_args machine;
    hn_list ignore;
} replay_args;

static const hn_option options[] = {
    HN_TEXT(replay_args, lora, "lora", "FILE", "the adapter that the answer was made with"),
    HN_FLAG(replay_args, force, "force", "take an adapter of another base, tokenizer or template"),
    HN_TEMPLATE_OPTIONS(replay_args, template, "this chat template", ""),
    HN_PLACE_OPTIONS(replay_args),
    HN_IGNORE_OPTION(replay_args),
    HN_OPTION_END,
};

typedef struct replay {
    const replay_args *args;
    hn_heap heap;
    hn_opened opened;
    hn_json_text *answer, *made; /* made: its choices, where it was told in another form */
    hn_recipe recipe;
    hn_lm_grammar *grammar;
    hn_hearing h;           /* one choice, made again */
    double *scores;         /* of its tokens; of a prompt that is told, before them those of its ids from the second on */
    size_t *begins, *ends;  /* where in the text each begins and ends */
    size_t n_prompt, n_tokens, room; /* n_tokens: with the n_prompt of the prompt */
} replay;

/* "mixed.2" is a definition of mixed; another of this release is refused when the model is open. */
static hn_status open_model(replay *r, const char *path)
{
    char mode[32];
    hn_machine_args machine = r->args->machine;
    const size_t n = strcspn(r->recipe.numerics, ".");
    HN_REQUIRE(n < sizeof mode, HN_ERR_FORMAT, "recipe: numerics %.40s: not known", r->recipe.numerics);
    memcpy(mode, r->recipe.numerics, n);
    mode[n] = '\0';
    machine.numerics = mode;
    machine.threads = 1;
    HN_TRY(hn_opened_open(&r->opened, HN_OPEN_ALL, path, &machine, &r->args->ignore, &r->args->template));
    const char *is = hn_lm_numerics_definition(r->opened.lm);
    HN_REQUIRE(!strcmp(is, r->recipe.numerics), HN_ERR_FORMAT, "the answer was made in %s: here it is %s", r->recipe.numerics, is);
    return HN_OK;
}

static hn_status check_weights(replay *r, const char *path)
{
    char found[65];
    HN_TRY(hn_lm_fingerprint(r->opened.lm, found));
    HN_REQUIRE(!strcmp(found, r->recipe.weights), HN_ERR_FORMAT, "%s: expected the model %.16s, found %.16s", path, r->recipe.weights, found);
    return HN_OK;
}

/* Thoughts and calls are read as it has them, and the prompt's ids are its. */
static hn_status check_template(replay *r, const char *path)
{
    char found[65];
    const char *expected = r->recipe.template;
    if (!expected)
        return HN_OK;
    HN_TRY(hn_lm_chat_template(r->opened.lm, "digest", found, sizeof found, NULL));
    HN_REQUIRE(!strcmp(found, expected), HN_ERR_FORMAT, "%s: expected the template %.16s, found %.16s: say which by --template", path, expected,
               found);
    return HN_OK;
}

static hn_status apply_adapter(replay *r)
{
    char found[65];
    const char *file = r->args->lora, *expected = r->recipe.adapter;
    const hn_lm_adapter_options o = { .size = sizeof o, .scale = r->recipe.adapter_scale, .is_forced = r->args->force };
    HN_REQUIRE(!file == !expected, HN_ERR_ARGUMENT, expected ? "the answer was made with an adapter: say which by --lora"
                                                             : "the answer was made without an adapter: found --lora");
    if (!file)
        return HN_OK;
    HN_TRY(hn_sha256_file(file, found));
    HN_REQUIRE(!strcmp(found, expected), HN_ERR_FORMAT, "%s: expected the adapter %.16s, found %.16s", file, expected, found);
    return hn_lm_add_adapter(r->opened.lm, file, &o);
}

/* ---- making it again ---- */

/* Room for one more token. */
static hn_status grow(replay *r)
{
    if (r->n_tokens < r->room)
        return HN_OK;
    const size_t room = r->room ? 2 * r->room : 256;
    double *scores = hn_realloc_array(&r->heap, HN_TAG_TEXT, r->scores, room, sizeof *scores);
    r->scores = scores ? scores : r->scores;
    size_t *begins = hn_realloc_array(&r->heap, HN_TAG_TEXT, r->begins, room, sizeof *begins);
    r->begins = begins ? begins : r->begins;
    size_t *ends = hn_realloc_array(&r->heap, HN_TAG_TEXT, r->ends, room, sizeof *ends);
    r->ends = ends ? ends : r->ends;
    if (!scores || !begins || !ends)
        return HN_ERR_MEMORY;
    r->room = room;
    return HN_OK;
}

/* What of the text is `begin` on is a token's. */
static hn_status keep(replay *r, size_t begin, double score)
{
    HN_TRY(grow(r));
    r->begins[r->n_tokens] = begin;
    r->ends[r->n_tokens] = r->h.uncut;
    r->scores[r->n_tokens++] = score;
    return HN_OK;
}

static hn_status hear(replay *r, int32_t id, double score)
{
    size_t to;
    const size_t begin = r->h.text.length;
    HN_TRY(hn_hearing_add(&r->h, id, &to));
    r->h.told = to;
    return keep(r, begin, score);
}

/* Of a prompt that is told with scores, each id after those before it. */
static hn_status feed_prompt(replay *r, hn_lm_session *session, const int32_t *ids, size_t n)
{
    r->n_tokens = r->n_prompt = 0;
    if (!r->recipe.echo || !r->recipe.scores)
        return hn_lm_session_feed(session, ids, n);
    for (size_t i = 0; i < n; i++) {
        double score = 0;
        HN_TRY(i ? hn_lm_session_score(session, &ids[i], 1, &score) : hn_lm_session_feed(session, ids, 1));
        HN_TRY(i ? keep(r, 0, score) : HN_OK);
    }
    r->n_prompt = r->n_tokens;
    return HN_OK;
}

/* The token by which the model ends is told with a prompt and scores. */
static bool says_end(const hn_recipe *p) { return p->echo && p->scores && !p->grammar; }

/* Tokens that a stop cut off are not told. */
static void drop_cut(replay *r)
{
    const size_t at = r->h.text.length;
    while (r->n_tokens > r->n_prompt && r->ends[r->n_tokens - 1] > at && r->begins[r->n_tokens - 1] >= at)
        r->n_tokens--;
}

/* As the model has it, or as it was drawn. */
static hn_status score_of(const replay *r, const hn_lm_session *session, hn_lm_sampler *sampler, int32_t id, double *score)
{
    size_t n;
    int32_t none = 0;
    if (!r->recipe.scores_drawn)
        return hn_lm_session_foretell(session, id, score);
    const int32_t *ids = hn_lm_session_ids(session, &n);
    return hn_lm_sampler_foretell(sampler, hn_lm_session_logits(session), ids, n, id, score, NULL, &none);
}

static hn_status generate(replay *r, hn_lm_session *session, hn_lm_sampler *sampler, size_t n_prompt)
{
    const hn_recipe *p = &r->recipe;
    const int64_t room = p->context - (int64_t)n_prompt, most = p->draws_none ? 0 : p->most && p->most < room ? p->most : room;
    for (int64_t i = 0; i < most && !r->h.stopped_by; i++) {
        int32_t id;
        double score;
        HN_TRY(hn_lm_sampler_draw(sampler, session, &id));
        HN_TRY(score_of(r, session, sampler, id, &score));
        if (!p->goes_on && hn_lm_ends(r->opened.lm, id)) {
            HN_TRY(says_end(p) ? keep(r, r->h.text.length, score) : HN_OK);
            break;
        }
        HN_TRY(hear(r, id, score));
        if (i + 1 < most && !r->h.stopped_by)
            HN_TRY(hn_lm_session_feed(session, &id, 1));
    }
    HN_TRY(hn_hearing_finish(&r->h));
    drop_cut(r);
    return HN_OK;
}

static hn_status ids_of(replay *r, const hn_json *prompt, int32_t **out)
{
    int32_t *ids = hn_alloc_array(&r->heap, HN_TAG_TEXT, hn_json_count(prompt) + 1, sizeof *ids);
    size_t n = 0;
    *out = ids;
    if (!ids)
        return HN_ERR_MEMORY;
    for (const hn_json *v = hn_json_first(prompt); v; v = v->next) {
        int64_t id;
        HN_TRY(hn_json_want_int(v, "prompts", &id));
        ids[n++] = id < 0 || id > INT32_MAX ? -1 : (int32_t)id;
    }
    return HN_OK;
}

static hn_status open_hearing(replay *r, const int32_t *ids, size_t n)
{
    const hn_recipe *p = &r->recipe;
    hn_hearing_close(&r->h);
    const hn_heard_chat chat = { ids, n, p->tools, p->calls };
    return p->is_chat ? hn_hearing_open_chat(&r->h, &r->heap, r->opened.lm, &p->stops, NULL, &chat)
                      : hn_hearing_open_text(&r->h, &r->heap, r->opened.lm, &p->stops, NULL);
}

static hn_status make_choice(replay *r, const hn_json *prompt, int32_t number)
{
    hn_lm_session *session = NULL;
    hn_lm_sampler *sampler = NULL;
    int32_t *ids = NULL;
    const size_t n = hn_json_count(prompt);
    const hn_lm_session_options o = { .size = sizeof o, .context = r->recipe.context, .cache = r->recipe.cache };
    hn_lm_sampling sampling = r->recipe.sampling;
    sampling.seed = hn_choice_seed(sampling.seed, number);
    sampling.grammar = r->grammar;
    hn_status status = ids_of(r, prompt, &ids);
    if (status == HN_OK)
        status = hn_lm_session_new(&session, r->opened.lm, &o);
    if (status == HN_OK)
        status = hn_lm_sampler_new(&sampler, r->opened.lm, &sampling);
    if (status == HN_OK)
        status = open_hearing(r, ids, n);
    if (status == HN_OK)
        status = feed_prompt(r, session, ids, n);
    if (status == HN_OK)
        status = generate(r, session, sampler, n);
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
    hn_free(&r->heap, ids);
    return status;
}

/* ---- comparing ---- */

/* As JSON has it, where what is no UTF-8 is U+FFFD. `what` is "text" and so on. */
static hn_status compare_text(replay *r, const char *what, const hn_str *made, const char *told)
{
    const hn_json raw = hn_json_of_string(made->text, made->length);
    hn_str written = hn_str_on(&r->heap);
    hn_json_text *read = NULL;
    hn_json_writer w = hn_json_write_to(&written);
    hn_json_add_scalar(&w, &raw);
    hn_status status = hn_json_read(&r->heap, "text", written.text, written.length, &read);
    if (status == HN_OK && strcmp(hn_json_string(hn_json_root(read)), told) != 0) {
        size_t at = 0;
        const char *is = hn_json_string(hn_json_root(read));
        while (is[at] && is[at] == told[at])
            at++;
        status = hn_fail(HN_ERR_PROOF, "the %s differs from byte %zu on: told \"%.40s\", made \"%.40s\"", what, at, told + at, is + at);
    }
    hn_json_free(read);
    hn_str_free(&written);
    return status;
}

/* In either form: {"content": [{"logprob": x}]} or {"token_logprobs": [x]}; null: none were asked for. Before those of a prompt's other ids
 * stands null, for its first. */
static hn_status compare_scores(const replay *r, const hn_json *told)
{
    const hn_json *list = hn_json_get(told, "token_logprobs");
    const bool is_old = list != NULL;
    list = is_old ? list : hn_json_get(told, "content");
    if (!told || told->kind == HN_JSON_NULL)
        return HN_OK;
    HN_REQUIRE(list && list->kind == HN_JSON_ARRAY, HN_ERR_FORMAT, "logprobs: expected content or token_logprobs");
    const hn_json *v = hn_json_first(list);
    size_t n = hn_json_count(list), i = 0;
    if (r->recipe.echo) {
        HN_REQUIRE(v && v->kind == HN_JSON_NULL, HN_ERR_FORMAT, "logprobs: expected null for the prompt's first token");
        v = v->next;
        n--;
    }
    HN_REQUIRE(n == r->n_tokens, HN_ERR_PROOF, "%zu tokens were told, %zu made", n, r->n_tokens);
    for (; v; v = v->next, i++) {
        double value = 0;
        HN_TRY(hn_json_want_double(is_old ? v : hn_json_get(v, "logprob"), "logprob", &value));
        HN_REQUIRE(value == r->scores[i], HN_ERR_PROOF, "the log-probability of token %zu differs: told %.17g, made %.17g", i, value,
                   r->scores[i]);
    }
    return HN_OK;
}

/* null, or not there, is "". */
static hn_status want_text(const hn_json *of, const char *key, const char **out)
{
    const hn_json *v = hn_json_get(of, key);
    *out = "";
    return !v || v->kind == HN_JSON_NULL ? HN_OK : hn_json_want_string(v, key, out);
}

/* Arguments as an object: as both are written anew. *is_cut: what was made is none. */
static hn_status compare_object(replay *r, const hn_json *told, const hn_str *made, bool *is_cut)
{
    hn_json_text *read = NULL;
    hn_str a = hn_str_on(&r->heap), b = hn_str_on(&r->heap);
    hn_json_writer wa = hn_json_write_to(&a), wb = hn_json_write_to(&b);
    *is_cut = hn_json_read(&r->heap, "arguments", made->text, made->length, &read) != HN_OK;
    hn_status status = HN_OK;
    if (!*is_cut && told) {
        hn_json_add_value(&wa, told);
        hn_json_add_value(&wb, hn_json_root(read));
        status = compare_text(r, "call", &b, a.text);
    }
    hn_json_free(read);
    hn_str_free(&a);
    hn_str_free(&b);
    return status;
}

static hn_status compare_call(replay *r, const hn_json *told, const hn_heard_call *made, bool *is_cut)
{
    const hn_json *function = hn_json_get(told, "function"), *arguments = hn_json_get(function, "arguments");
    const bool is_object = r->made && (!arguments || arguments->kind == HN_JSON_OBJECT);
    const char *text;
    *is_cut = false;
    if (is_object)
        HN_TRY(compare_object(r, arguments, &made->arguments, is_cut));
    if (*is_cut)
        return HN_OK; /* it is not told then */
    HN_TRY(want_text(function, "name", &text));
    HN_TRY(compare_text(r, "name of a call", &made->name, text));
    HN_TRY(is_object ? HN_OK : want_text(function, "arguments", &text));
    return is_object ? HN_OK : compare_text(r, "call", &made->arguments, text);
}

static hn_status compare_calls(replay *r, const hn_json *told)
{
    const size_t n = told && told->kind == HN_JSON_ARRAY ? hn_json_count(told) : 0;
    size_t n_made = 0;
    for (int32_t i = 0; i < r->h.n_calls; i++) {
        bool is_cut;
        HN_TRY(compare_call(r, hn_json_at(told, n_made), &r->h.calls[i], &is_cut));
        n_made += !is_cut;
    }
    HN_REQUIRE(n == n_made, HN_ERR_PROOF, "%zu calls of tools were told, %zu made", n, n_made);
    return HN_OK;
}

/* Behind what its prompt says, if that is told. */
static hn_status compare_said(replay *r, size_t prompt, const char *told)
{
    const hn_json *echo = hn_json_at(r->recipe.echo, prompt);
    hn_str both = hn_str_on(&r->heap);
    hn_str_add_bytes(&both, hn_json_string(echo), hn_json_bytes(echo));
    hn_str_add_bytes(&both, r->h.text.text, r->h.text.length);
    hn_status status = hn_str_status(&both);
    if (status == HN_OK)
        status = compare_text(r, "text", &both, told);
    hn_str_free(&both);
    return status;
}

static hn_status compare(replay *r, size_t prompt, const hn_json *choice)
{
    const hn_json *message = hn_json_get(choice, "message");
    const char *text;
    HN_REQUIRE(!message == !r->recipe.is_chat, HN_ERR_FORMAT, "a choice: expected %s", r->recipe.is_chat ? "a message" : "a text");
    HN_TRY(message ? want_text(message, "content", &text) : hn_json_want_string(hn_json_get(choice, "text"), "text", &text));
    HN_TRY(compare_said(r, prompt, text));
    HN_TRY(want_text(message, "reasoning_content", &text));
    HN_TRY(compare_text(r, "thought", &r->h.thought, text));
    HN_TRY(compare_calls(r, hn_json_get(message, "tool_calls")));
    return compare_scores(r, hn_json_get(choice, "logprobs"));
}

/* Which of a prompt's choices were told, in their order: all, or the best of them, which takes making them. */
static hn_status rank(replay *r, const hn_json *prompt, int32_t order[HN_MOST_CHOICES])
{
    double merits[HN_MOST_CHOICES] = { 0 };
    const int32_t n = r->recipe.n_each;
    for (int32_t k = 0; k < n && r->recipe.n_told < n; k++) {
        double sum = 0;
        HN_TRY(make_choice(r, prompt, k));
        for (size_t i = r->n_prompt; i < r->n_tokens; i++)
            sum += r->scores[i];
        merits[k] = hn_choice_merit(sum, r->n_tokens - r->n_prompt);
    }
    hn_choices_rank(merits, n, order);
    return HN_OK;
}

static hn_status replay_choices(replay *r, FILE *out)
{
    const hn_json *choices, *prompt = hn_json_first(r->recipe.prompts);
    const size_t n = (size_t)r->recipe.n_told, expected = hn_json_count(r->recipe.prompts) * n;
    int32_t order[HN_MOST_CHOICES] = { 0 };
    HN_TRY(hn_told_choices(&r->heap, hn_json_root(r->answer), &r->made, &choices));
    HN_REQUIRE(choices && choices->kind == HN_JSON_ARRAY && hn_json_count(choices) == expected, HN_ERR_FORMAT,
               "choices: expected %zu, found %zu", expected, hn_json_count(choices));
    size_t i = 0;
    for (const hn_json *c = hn_json_first(choices); c; c = c->next, i++) {
        if (i && i % n == 0)
            prompt = prompt->next;
        HN_REQUIRE(prompt->kind == HN_JSON_ARRAY, HN_ERR_FORMAT, "recipe: prompts: expected arrays of ids");
        if (i % n == 0)
            HN_TRY(rank(r, prompt, order));
        HN_TRY(make_choice(r, prompt, order[i % n]));
        const hn_status status = compare(r, i / n, c);
        if (status != HN_OK)
            return hn_fail_within(status, "choice %zu: ", i);
        fprintf(out, "choice %zu: %zu tokens, %zu bytes: the same\n", i, r->n_tokens - r->n_prompt, r->h.text.length);
    }
    return HN_OK;
}

static hn_status replay_file(replay *r, const char *path, const char *file, FILE *out)
{
    enum { MOST_BYTES = 1 << 28 };
    void *text;
    size_t bytes;
    HN_TRY(hn_file_read(&r->heap, file, MOST_BYTES, &text, &bytes));
    const hn_status status = hn_json_read(&r->heap, file, text, bytes, &r->answer);
    hn_free(&r->heap, text);
    HN_TRY(status);
    HN_TRY(hn_recipe_read(&r->recipe, &r->heap, hn_json_root(r->answer)));
    HN_TRY(open_model(r, path));
    HN_TRY(check_weights(r, path));
    HN_TRY(apply_adapter(r));
    HN_TRY(check_template(r, path));
    if (r->recipe.grammar)
        HN_TRY(hn_lm_grammar_new(&r->grammar, r->opened.engine, r->recipe.grammar_kind, r->recipe.grammar, strlen(r->recipe.grammar), NULL));
    return replay_choices(r, out);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    replay r = { .args = parsed };
    hn_heap_init(&r.heap, NULL);
    const hn_status status = replay_file(&r, n_operands > 1 ? operands[0] : hn_lm_builtin(), operands[n_operands - 1], out);
    hn_hearing_close(&r.h);
    hn_lm_grammar_free(r.grammar);
    hn_opened_close(&r.opened);
    hn_json_free(r.answer);
    hn_json_free(r.made);
    hn_free(&r.heap, r.recipe.bias);
    hn_free(&r.heap, r.scores);
    hn_free(&r.heap, r.begins);
    hn_free(&r.heap, r.ends);
    return status;
}

const hn_command hn_cmd_replay = {
    .name = "replay",
    .operands = "[MODEL] ANSWER.json",
    .summary = "make an answer of `hone serve` again, alone, and compare",
    .details = "ANSWER.json is what the server replied to a request with \"recipe\": true. It is made again by its recipe, in\n"
               "this process alone, without a cache and on one thread: text and log-probabilities have the same bits, or the\n"
               "first difference is named. Without MODEL it is the model that is built in.\n",
    .example = "replay model.gguf answer.json",
    .options = options,
    .args_size = sizeof(replay_args),
    .min_operands = 1,
    .max_operands = 2,
    .run = run,
};
