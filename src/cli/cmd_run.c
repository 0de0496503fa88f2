/* hone run: goes on with a text. What it writes goes to stdout as it comes, the rest to stderr. */
#include "base/os/clock.h"
#include "base/file.h"
#include "base/os/terminal.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/draft_options.h"
#include "cli/ignore_option.h"
#include "cli/input_text.h"
#include "cli/interrupt.h"
#include "cli/lora_options.h"
#include "cli/memory.h"
#include "cli/open_model.h"
#include "cli/sampling_options.h"
#include "cli/session_options.h"
#include "cli/terminal.h"

#include <string.h>

typedef struct run_args {
    const char *prompt, *file;
    int64_t count;
    bool ids, special, quiet, ignore_end, used;
    hn_session_args session;
    hn_machine_args machine;
    hn_lora_args lora;
    hn_sampling_args sampling;
    hn_draft_args draft;
    hn_list ignore;
} run_args;

static const hn_option options[] = {
    HN_TEXT(run_args, prompt, "prompt", "TEXT", "what to go on with"),
    HN_TEXT(run_args, file, "file", "FILE", "the same, from a file; -: from standard input"),
    HN_INT(run_args, count, "count", "N", 1, INT32_MAX, "tokens at most; default 256"),
    HN_GROUP("the session"),
    HN_SESSION_OPTIONS(run_args),
    HN_LORA_OPTIONS(run_args),
    HN_GROUP("what computes it, and how"),
    HN_MACHINE_OPTIONS(run_args, HN_NUMERICS_OF_RUNS),
    HN_GROUP("how the next token is chosen"),
    HN_SAMPLING_OPTIONS(run_args),
    HN_DRAFT_OPTIONS(run_args),
    HN_FLAG(run_args, special, "special", "read <|special|> tokens in the prompt as such"),
    HN_FLAG(run_args, ids, "ids", "print ids, not text"),
    HN_FLAG(run_args, ignore_end, "ignore-end", "go on after the model's own end"),
    HN_FLAG(run_args, quiet, "quiet", "no figures on stderr"),
    HN_FLAG(run_args, used, "used", "how much memory the process used, on stderr"),
    HN_IGNORE_OPTION(run_args),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    HN_LORA_RULES,
    HN_SAMPLING_RULES,
    { NULL, 0, NULL, NULL },
};

static const run_args defaults = { .count = 256, .sampling = HN_SAMPLING_DEFAULTS };

enum { MOST_BYTES = 1 << 28 };

typedef struct state {
    const run_args *args;
    hn_heap *heap;
    hn_opened opened;
    hn_lm_numerics numerics;
    hn_lm *draft; /* the model that guesses; NULL: none */
    hn_lm_session *session;
    hn_lm_grammar *grammar;
    hn_lm_sampler *sampler;
    hn_ids prompt;
    int64_t n; /* tokens after it */
    hn_terminal terminal;
} state;

static hn_status encode(state *s, const char *text, size_t bytes)
{
    const hn_lm_encode_options o = { .size = sizeof o, .no_eos = 1, .special = s->args->special };
    HN_TRY(hn_ids_of(s->opened.lm, s->heap, text, bytes, &o, &s->prompt));
    HN_REQUIRE(s->prompt.n, HN_ERR_ARGUMENT, "the prompt has no tokens");
    return HN_OK;
}

static hn_status read_stdin(state *s)
{
    hn_str text = hn_str_on(s->heap);
    hn_status status = hn_input_text(&text, MOST_BYTES);
    if (status == HN_OK)
        status = encode(s, text.text, text.length);
    hn_str_free(&text);
    return status;
}

static hn_status read_prompt(state *s)
{
    const char *file = s->args->file;
    if (!s->args->prompt && !file && !hn_os_is_terminal(stdin))
        file = "-";
    HN_REQUIRE(!s->args->prompt != !file, HN_ERR_ARGUMENT,
               "expected --prompt or --file, and not both");
    if (s->args->prompt)
        return encode(s, s->args->prompt, strlen(s->args->prompt));
    if (!strcmp(file, "-"))
        return read_stdin(s);
    void *text;
    size_t bytes;
    HN_TRY(hn_file_read(s->heap, file, MOST_BYTES, &text, &bytes));
    const hn_status status = encode(s, text, bytes);
    hn_free(s->heap, text);
    return status;
}

static hn_status print_token(state *s, hn_lm_decoder *decoder, int32_t id)
{
    char number[32];
    const char *text = number;
    size_t bytes;
    if (s->args->ids)
        bytes = (size_t)snprintf(number, sizeof number, s->n > 1 ? " %d" : "%d", id);
    else
        HN_TRY(hn_lm_decoder_add(decoder, id, &text, &bytes));
    hn_terminal_write(&s->terminal, text, bytes);
    return HN_OK;
}

/* What comes after these ids, which are added to the session. */
static hn_status next(state *s, const int32_t *ids, size_t n, int32_t *id, bool *is_done)
{
    HN_TRY(hn_lm_session_feed(s->session, ids, n));
    HN_TRY(hn_lm_sampler_draw(s->sampler, s->session, id));
    *is_done = !s->args->ignore_end && hn_lm_ends(s->opened.lm, *id);
    return HN_OK;
}

static hn_status report(const state *s, int64_t first_ns, int64_t later_ns)
{
    char guessed[80];
    int64_t accepted, rejected;
    HN_TRY(hn_lm_session_drafted(s->session, &accepted, &rejected));
    hn_draft_tell(&s->args->draft, accepted, rejected, guessed, sizeof guessed);
    const double first = (double)first_ns * 1e-9, later = (double)later_ns * 1e-9;
    fprintf(stderr, "prompt: %zu tokens, %.1f/s; then %lld, %.1f/s%s; %s\n", s->prompt.n,
            first > 0 ? (double)s->prompt.n / first : 0, (long long)s->n,
            s->n > 1 && later > 0 ? (double)(s->n - 1) / later : 0, guessed,
            hn_lm_numerics_name(s->numerics));
    return HN_OK;
}

/* What came before is not written again, and a character may begin in it. */
static hn_status begin_text(state *s, hn_lm_decoder **decoder)
{
    const char *text;
    HN_TRY(hn_lm_decoder_new(decoder, s->opened.lm, 0));
    for (size_t i = 0; i < s->prompt.n; i++)
        HN_TRY(hn_lm_decoder_add(*decoder, s->prompt.at[i], &text, NULL));
    return HN_OK;
}

/* Until the model ends, the count is reached, the context is full, or Ctrl-C. */
static hn_status go_on(state *s, hn_lm_decoder *decoder, int64_t *first, int64_t *later)
{
    const int64_t room = hn_lm_session_context(s->session) - (int64_t)s->prompt.n;
    const int64_t most = s->args->count < room ? s->args->count : room;
    const int32_t *ids = s->prompt.at;
    size_t n = s->prompt.n;
    int32_t id;
    bool is_done = false;
    int64_t since = hn_clock_ns();
    hn_status status = HN_OK;
    while (status == HN_OK && !is_done && s->n < most && !hn_interrupt_is_asked()) {
        status = next(s, ids, n, &id, &is_done);
        if (!*first) {
            *first = hn_clock_ns() - since;
            since += *first;
        }
        if (status == HN_OK && !is_done) {
            s->n++;
            status = print_token(s, decoder, id);
        }
        ids = &id;
        n = 1;
    }
    *later = hn_clock_ns() - since;
    return status;
}

static hn_status finish_text(state *s, hn_lm_decoder *decoder, hn_status status)
{
    const char *text = "";
    size_t bytes = 0;
    if (status == HN_OK && !s->args->ids)
        status = hn_lm_decoder_finish(decoder, &text, &bytes);
    hn_terminal_write(&s->terminal, text, bytes);
    hn_terminal_write(&s->terminal, "\n", 1);
    return status;
}

static hn_status generate(state *s)
{
    hn_lm_decoder *decoder = NULL;
    int64_t first = 0, later = 0;
    const int64_t context = hn_lm_session_context(s->session);
    HN_REQUIRE((int64_t)s->prompt.n < context, HN_ERR_ARGUMENT,
               "the prompt has %zu tokens: a context of %lld leaves no room to go on", s->prompt.n,
               (long long)context);
    hn_interrupt_begin(true);
    hn_status status = begin_text(s, &decoder);
    if (status == HN_OK)
        status = go_on(s, decoder, &first, &later);
    status = finish_text(s, decoder, status);
    hn_lm_decoder_free(decoder);
    if (hn_interrupt_is_asked() && (status == HN_OK || status == HN_ERR_CANCELLED))
        status = hn_fail(HN_ERR_CANCELLED, "interrupted");
    hn_interrupt_end();
    if (status == HN_OK && !s->args->quiet)
        status = report(s, first, later);
    return status;
}

static hn_status make_session(state *s, const hn_lm_sampling *sampling)
{
    hn_lm_session_options o = hn_session_args_options(&s->args->session);
    hn_lm_draft_options draft;
    bool drafts;
    o.mapped = o.mapped || !hn_lm_worth_copying(s->opened.lm, s->args->count);
    HN_TRY(hn_draft_open(&s->args->draft, &s->opened, &s->args->machine, sampling, &s->draft, &draft, &drafts));
    return drafts ? hn_lm_session_new_drafting(&s->session, s->opened.lm, &o, &draft)
                  : hn_lm_session_new(&s->session, s->opened.lm, &o);
}

static hn_status make_both(state *s)
{
    hn_lm_sampling o;
    hn_lm_bias bias[HN_MAX_LIST];
    HN_TRY(hn_sampling_read(&s->args->sampling, bias, &o));
    HN_TRY(hn_sampling_grammar(&s->args->sampling, s->opened.engine, &s->grammar));
    HN_REQUIRE(!s->grammar || !s->args->ignore_end, HN_ERR_ARGUMENT,
               "--ignore-end, and a grammar, whose text ends where the model says that it is done");
    o.grammar = s->grammar;
    HN_TRY(hn_lm_sampler_new(&s->sampler, s->opened.lm, &o));
    return make_session(s, &o);
}

static hn_status use_session(state *s)
{
    HN_TRY(make_both(s));
    HN_TRY(hn_session_args_restore(&s->args->session, s->session));
    HN_TRY(hn_lm_session_trim(s->session, 0)); /* what was restored is known still */
    const hn_status status = generate(s);
    if (status == HN_OK || status == HN_ERR_CANCELLED) /* what was computed is not lost */
        HN_TRY(hn_session_args_save(&s->args->session, s->session));
    HN_TRY(status);
    return s->args->used ? hn_memory_print_used(stderr) : HN_OK;
}

static hn_status run_model(state *s)
{
    HN_TRY(hn_machine_numerics(&s->args->machine, &s->numerics));
    HN_TRY(read_prompt(s));
    HN_TRY(hn_lora_apply(&s->args->lora, s->opened.lm, s->numerics));
    return use_session(s);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const run_args *args = parsed;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    state s = { .args = args, .heap = &heap, .terminal = hn_terminal_on(out) };
    HN_TRY(hn_opened_open(&s.opened, HN_OPEN_ALL, operands[0], &args->machine, &args->ignore, NULL));
    const hn_status status = run_model(&s);
    hn_lm_session_free(s.session);
    hn_lm_sampler_free(s.sampler);
    hn_lm_grammar_free(s.grammar);
    hn_lm_close(s.draft);
    hn_opened_close(&s.opened);
    hn_free(&heap, s.prompt.at);
    return status;
}

const hn_command hn_cmd_run = {
    .name = "run",
    .operands = "MODEL",
    .summary = "go on with a text",
    .example = "run m.gguf --prompt \"Once upon a time\"",
    .options = options,
    .rules = rules,
    .letters = "p:prompt f:file n:count",
    .defaults = &defaults,
    .args_size = sizeof(run_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
