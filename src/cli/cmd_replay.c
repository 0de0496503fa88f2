/* hone replay: an answer of `hone serve` made again by its recipe: alone, in a process of its own, without a cache, on one thread;
 * and held to what was told, text and log-probabilities, to the bit. */
#include "base/file.h"
#include "base/sha256.h"
#include "cli/ignore_option.h"
#include "cli/lora_options.h"
#include "cli/open_model.h"
#include "cli/template_options.h"
#include "cli/told_answer.h"
#include "cli/told_scores.h"
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
    HN_ENGINE_OPTIONS(replay_args),
    HN_MEMORY_OPTION(replay_args),
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
    hn_told_tokens tokens;  /* its; of a prompt that is told, before them its ids from the second on */
    size_t n_prompt;        /* how many these are */
    int32_t *ids;           /* the prompt's */
    size_t n_ids;
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
    HN_REQUIRE(!strcmp(found, r->recipe.weights), HN_ERR_FORMAT, "%s: expected the model %.64s, found %.64s", path, r->recipe.weights, found);
    return HN_OK;
}

/* Thoughts and calls are read as it has them, and the prompt's ids are its. */
static hn_status check_template(replay *r, const char *path)
{
    char found[65];
    const char *expected = r->recipe.template;
    if (!expected)
        return HN_OK;
    HN_TRY(hn_lm_chat_template(r->opened.lm, r->recipe.tools ? "with tools digest" : "digest", found, sizeof found, NULL));
    HN_REQUIRE(!strcmp(found, expected), HN_ERR_FORMAT, "%s: expected the template %.64s, found %.64s: say which by --template", path, expected,
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
    HN_REQUIRE(!strcmp(found, expected), HN_ERR_FORMAT, "%s: expected the adapter %.64s, found %.64s", file, expected, found);
    return hn_lm_add_adapter(r->opened.lm, file, &o);
}

/* ---- making it again ---- */

/* One that may come next: what is told of it. */
typedef struct foretold {
    double score;
    hn_lm_likely likeliest[HN_MOST_LIKELIEST];
    int32_t n_likeliest;
} foretold;

/* What of the text is `begin` on is a token's. */
static hn_status keep(replay *r, int32_t id, size_t begin, const foretold *of)
{
    const hn_told_token t = { id, of->n_likeliest, of->score, begin, r->h.uncut };
    return hn_told_add(&r->tokens, &t, of->likeliest);
}

static hn_status hear(replay *r, int32_t id, const foretold *of)
{
    size_t to;
    const size_t begin = r->h.text.length;
    HN_TRY(hn_hearing_add(&r->h, id, &to));
    r->h.told = to;
    return keep(r, id, begin, of);
}

/* As the model has it, */
static hn_status foretell(const replay *r, const hn_lm_session *session, int32_t id, foretold *out)
{
    out->n_likeliest = r->tokens.likeliest;
    HN_TRY(hn_lm_session_likeliest(session, out->likeliest, &out->n_likeliest));
    return hn_lm_session_foretell(session, id, &out->score);
}

/* or as it was drawn. */
static hn_status foretell_drawn(const replay *r, const hn_lm_session *session, hn_lm_sampler *sampler, int32_t id, foretold *out)
{
    size_t n;
    if (!r->recipe.scores_drawn)
        return foretell(r, session, id, out);
    const int32_t *ids = hn_lm_session_ids(session, &n);
    out->n_likeliest = r->tokens.likeliest;
    return hn_lm_sampler_foretell(sampler, hn_lm_session_logits(session), ids, n, id, &out->score, out->likeliest, &out->n_likeliest);
}

/* Of a prompt that is told with scores, each id after those before it. */
static hn_status feed_prompt(replay *r, hn_lm_session *session)
{
    r->tokens.n = r->n_prompt = 0;
    if (!r->recipe.echo || !r->recipe.scores)
        return hn_lm_session_feed(session, r->ids, r->n_ids);
    for (size_t i = 0; i < r->n_ids; i++) {
        foretold of;
        HN_TRY(i ? foretell(r, session, r->ids[i], &of) : HN_OK);
        HN_TRY(i ? keep(r, r->ids[i], 0, &of) : HN_OK);
        HN_TRY(hn_lm_session_feed(session, &r->ids[i], 1));
    }
    r->n_prompt = r->tokens.n;
    return HN_OK;
}

/* The token by which the model ends is told with a prompt and scores. */
static bool says_end(const hn_recipe *p) { return p->echo && p->scores && !p->grammar; }

/* Tokens that a stop cut off are not told. */
static void drop_cut(replay *r)
{
    const size_t at = r->h.text.length;
    while (r->tokens.n > r->n_prompt && hn_told_at(&r->tokens, r->tokens.n - 1)->end > at && hn_told_at(&r->tokens, r->tokens.n - 1)->begin >= at)
        r->tokens.n--;
}

static hn_status generate(replay *r, hn_lm_session *session, hn_lm_sampler *sampler)
{
    const hn_recipe *p = &r->recipe;
    const int64_t room = p->context - (int64_t)r->n_ids, most = p->draws_none ? 0 : p->most && p->most < room ? p->most : room;
    for (int64_t i = 0; i < most && !r->h.stopped_by; i++) {
        int32_t id;
        foretold of;
        HN_TRY(hn_lm_sampler_draw(sampler, session, &id));
        HN_TRY(foretell_drawn(r, session, sampler, id, &of));
        if (!p->goes_on && hn_lm_ends(r->opened.lm, id)) {
            HN_TRY(says_end(p) ? keep(r, id, r->h.text.length, &of) : HN_OK);
            break;
        }
        HN_TRY(hear(r, id, &of));
        if (i + 1 < most && !r->h.stopped_by)
            HN_TRY(hn_lm_session_feed(session, &id, 1));
    }
    HN_TRY(hn_hearing_finish(&r->h));
    drop_cut(r);
    return HN_OK;
}

static hn_status take_ids(replay *r, const hn_json *prompt)
{
    hn_free(&r->heap, r->ids);
    r->ids = hn_alloc_array(&r->heap, HN_TAG_TEXT, hn_json_count(prompt) + 1, sizeof *r->ids);
    r->n_ids = 0;
    if (!r->ids)
        return HN_ERR_MEMORY;
    for (const hn_json *v = hn_json_first(prompt); v; v = v->next) {
        int64_t id;
        HN_TRY(hn_json_want_int(v, "prompts", &id));
        r->ids[r->n_ids++] = id < 0 || id > INT32_MAX ? -1 : (int32_t)id;
    }
    return HN_OK;
}

static hn_status open_hearing(replay *r)
{
    const hn_recipe *p = &r->recipe;
    hn_hearing_close(&r->h);
    const hn_heard_chat chat = { r->ids, r->n_ids, p->tools, p->calls };
    return p->is_chat ? hn_hearing_open_chat(&r->h, &r->heap, r->opened.lm, &p->stops, NULL, &chat)
                      : hn_hearing_open_text(&r->h, &r->heap, r->opened.lm, &p->stops, NULL);
}

static hn_status make_choice(replay *r, const hn_json *prompt, int32_t number)
{
    hn_lm_session *session = NULL;
    hn_lm_sampler *sampler = NULL;
    const hn_lm_session_options o = { .size = sizeof o, .context = r->recipe.context, .cache = r->recipe.cache };
    hn_lm_sampling sampling = r->recipe.sampling;
    sampling.seed = hn_choice_seed(sampling.seed, number);
    sampling.grammar = r->grammar;
    hn_status status = take_ids(r, prompt);
    if (status == HN_OK)
        status = hn_lm_session_new(&session, r->opened.lm, &o);
    if (status == HN_OK)
        status = hn_lm_sampler_new(&sampler, r->opened.lm, &sampling);
    if (status == HN_OK)
        status = open_hearing(r);
    if (status == HN_OK)
        status = feed_prompt(r, session);
    if (status == HN_OK)
        status = generate(r, session, sampler);
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
    return status;
}

/* ---- comparing ---- */

/* As JSON has it, where what is no UTF-8 is U+FFFD, and to the last byte: a model may say NUL. `told` is a string,
 * or NULL or null for "". `what` is "text" and so on. */
static hn_status compare_text(replay *r, const char *what, const hn_str *made, const hn_json *told)
{
    const char *said = hn_json_string(told);
    const size_t n = hn_json_bytes(told);
    HN_REQUIRE(!told || told->kind == HN_JSON_NULL || told->kind == HN_JSON_STRING, HN_ERR_FORMAT, "the %s: expected a string", what);
    const hn_json raw = hn_json_of_string(made->text, made->length);
    hn_str written = hn_str_on(&r->heap);
    hn_json_text *read = NULL;
    hn_json_writer w = hn_json_write_to(&written);
    hn_json_add_scalar(&w, &raw);
    hn_status status = hn_json_read(&r->heap, "text", written.text, written.length, &read);
    const char *is = read ? hn_json_string(hn_json_root(read)) : "";
    const size_t n_is = read ? hn_json_bytes(hn_json_root(read)) : 0;
    if (status == HN_OK && (n_is != n || memcmp(is, said, n) != 0)) {
        size_t at = 0;
        while (at < n && at < n_is && is[at] == said[at])
            at++;
        status = hn_fail(HN_ERR_PROOF, "the %s differs from byte %zu on: told \"%.40s\", made \"%.40s\"", what, at, said + at, is + at);
    }
    hn_json_free(read);
    hn_str_free(&written);
    return status;
}

/* null: none were asked for. */
static hn_status compare_scores(replay *r, size_t prompt, const hn_json *told)
{
    const hn_json *echo = hn_json_at(r->recipe.echo, prompt);
    const hn_made_scores made = { .heap = &r->heap, .lm = r->opened.lm, .tokens = &r->tokens, .n_prompt = r->n_prompt, .prompt = r->ids,
                                  .prompt_ids = r->n_ids, .echo = echo, .text = r->h.text.length };
    const bool is_there = told && told->kind != HN_JSON_NULL, ranks = r->recipe.n_told < r->recipe.n_each; /* by scores that need not be told */
    HN_REQUIRE(is_there || !r->recipe.scores || ranks || r->made, HN_ERR_FORMAT, "logprobs: expected them, for the recipe has scores");
    return is_there ? hn_compare_scores(&made, told) : HN_OK;
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
        const hn_json as_told = hn_json_of_string(a.text, a.length);
        status = compare_text(r, "call", &b, &as_told);
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
    *is_cut = false;
    if (is_object)
        HN_TRY(compare_object(r, arguments, &made->arguments, is_cut));
    if (*is_cut)
        return HN_OK; /* it is not told then */
    HN_TRY(compare_text(r, "name of a call", &made->name, hn_json_get(function, "name")));
    return is_object ? HN_OK : compare_text(r, "call", &made->arguments, arguments);
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
static hn_status compare_said(replay *r, size_t prompt, const hn_json *told)
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
    const hn_json *text = message ? hn_json_get(message, "content") : hn_json_get(choice, "text");
    HN_REQUIRE(!message == !r->recipe.is_chat, HN_ERR_FORMAT, "a choice: expected %s", r->recipe.is_chat ? "a message" : "a text");
    HN_REQUIRE(message || text, HN_ERR_FORMAT, "text: expected a string, found nothing");
    HN_TRY(compare_said(r, prompt, text));
    HN_TRY(compare_text(r, "thought", &r->h.thought, hn_json_get(message, "reasoning_content")));
    HN_TRY(compare_calls(r, hn_json_get(message, "tool_calls")));
    return compare_scores(r, prompt, hn_json_get(choice, "logprobs"));
}

/* Which of a prompt's choices were told, in their order: all, or the best of them, which takes making them. */
static hn_status rank(replay *r, const hn_json *prompt, int32_t order[HN_MOST_CHOICES])
{
    double merits[HN_MOST_CHOICES] = { 0 };
    const int32_t n = r->recipe.n_each;
    for (int32_t k = 0; k < n && r->recipe.n_told < n; k++) {
        double sum = 0;
        HN_TRY(make_choice(r, prompt, k));
        for (size_t i = r->n_prompt; i < r->tokens.n; i++)
            sum += hn_told_at(&r->tokens, i)->log_probability;
        merits[k] = hn_choice_merit(sum, r->tokens.n - r->n_prompt);
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
        fprintf(out, "choice %zu: %zu tokens, %zu bytes: the same\n", i, r->tokens.n - r->n_prompt, r->h.text.length);
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
    r->tokens = (hn_told_tokens){ .heap = &r->heap, .likeliest = r->recipe.scores ? r->recipe.likeliest : 0 };
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
    hn_told_free(&r.tokens);
    hn_free(&r.heap, r.ids);
    return status;
}

const hn_command hn_cmd_replay = {
    .name = "replay",
    .operands = "[MODEL] ANSWER.json",
    .summary = "make an answer of `hone serve` again, alone, and compare",
    .details = "ANSWER.json is what the server replied to a request with \"recipe\": true. It is made again by its recipe, in\n"
               "this process alone, without a cache and on one thread: text and log-probabilities, those of the likeliest too,\n"
               "have the same bits, or the first difference is named. Without MODEL it is the model that is built in.\n",
    .example = "replay model.gguf answer.json",
    .options = options,
    .args_size = sizeof(replay_args),
    .min_operands = 1,
    .max_operands = 2,
    .run = run,
};
