/* hone run: goes on with a text. What it writes goes to stdout as it comes, the rest to stderr. */
#include "base/os/clock.h"
#include "base/file.h"
#include "base/os/terminal.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/interrupt.h"
#include "cli/lora_options.h"
#include "cli/machine_options.h"
#include "cli/memory.h"
#include "cli/sampling_options.h"
#include "cli/session_options.h"
#include "cli/terminal.h"
#include "models/open_tokenizer.h"

#include <string.h>

typedef struct run_args {
    const char *prompt, *file;
    int64_t count;
    bool ids, special, quiet, ignore_end, memory;
    hn_session_args session;
    hn_machine_args machine;
    hn_lora_args lora;
    hn_sampling_args sampling;
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
    HN_FLAG(run_args, special, "special", "read <|special|> tokens in the prompt as such"),
    HN_FLAG(run_args, ids, "ids", "print ids, not text"),
    HN_FLAG(run_args, ignore_end, "ignore-end", "go on after the model's own end"),
    HN_FLAG(run_args, quiet, "quiet", "no figures on stderr"),
    HN_FLAG(run_args, memory, "memory", "what the process used, on stderr"),
    HN_IGNORE_OPTION(run_args),
    HN_OPTION_END,
};

static const run_args defaults = { .count = 256, .sampling = HN_SAMPLING_DEFAULTS };

enum { MOST_BYTES = 1 << 28 };

typedef struct state {
    const run_args *args;
    hn_heap *heap;
    hn_tokenizer *tok;
    hn_model *model;
    hn_adapters adapters;
    hn_machine machine;
    hn_session *session;
    hn_sampler *sampler;
    hn_logit_bias bias[HN_MAX_LIST];
    int32_t *tokens;
    int64_t n, n_prompt;
    hn_terminal terminal;
} state;

static hn_status encode(state *s, const char *text, size_t bytes)
{
    hn_encoding encoding = { 0 };
    const hn_encode_options o = { .add_eos = HN_NO, .parse_special = s->args->special };
    hn_status status = hn_tokenizer_encode(s->tok, text, bytes, &o, &encoding);
    if (status == HN_OK && !encoding.n)
        status = hn_fail(HN_ERR_ARGUMENT, "the prompt has no tokens");
    if (status == HN_OK) {
        const size_t room = encoding.n + (size_t)s->args->count;
        s->tokens = hn_alloc_array(s->heap, HN_TAG_TEXT, room, sizeof *s->tokens);
        status = s->tokens ? HN_OK : HN_ERR_MEMORY;
    }
    if (status == HN_OK)
        memcpy(s->tokens, encoding.ids, encoding.n * sizeof *s->tokens);
    s->n = s->n_prompt = (int64_t)encoding.n;
    hn_encoding_free(&encoding);
    return status;
}

static hn_status read_stdin(state *s)
{
    char part[4096];
    hn_str text = hn_str_on(s->heap);
    for (size_t n; (n = fread(part, 1, sizeof part, stdin)) > 0 && text.length <= MOST_BYTES;)
        hn_str_add_bytes(&text, part, n);
    hn_status status = hn_str_status(&text);
    if (status == HN_OK && ferror(stdin))
        status = hn_fail(HN_ERR_IO, "standard input: cannot be read");
    if (status == HN_OK && text.length > MOST_BYTES)
        status = hn_fail(HN_ERR_FORMAT, "standard input: more than %d bytes", MOST_BYTES);
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

static hn_status print_token(state *s, hn_decoder *decoder, hn_str *text)
{
    hn_str_clear(text);
    if (s->args->ids)
        hn_str_print(text, s->n > s->n_prompt + 1 ? " %d" : "%d", s->tokens[s->n - 1]);
    else if (s->tokens[s->n - 1] < hn_tokenizer_size(s->tok)) /* vocabularies are padded */
        HN_TRY(hn_decoder_add(decoder, s->tokens[s->n - 1], text));
    hn_terminal_write(&s->terminal, text->text, text->length);
    return HN_OK;
}

static hn_status next(state *s, bool *is_done)
{
    int32_t token;
    const hn_run_options run = { .cancel = hn_interrupt_flag() };
    HN_TRY(hn_session_sync(s->session, s->tokens, s->n, &run));
    HN_TRY(hn_sampler_next(s->sampler, hn_session_logits(s->session), s->tokens, s->n, &token));
    *is_done = !s->args->ignore_end && hn_tokenizer_ends(s->tok, token);
    if (!*is_done)
        s->tokens[s->n++] = token;
    return HN_OK;
}

static void report(const state *s, int64_t first_ns, int64_t later_ns)
{
    const int64_t n = s->n - s->n_prompt;
    const double first = (double)first_ns * 1e-9, later = (double)later_ns * 1e-9;
    fprintf(stderr, "prompt: %lld tokens, %.1f/s; then %lld, %.1f/s; %s\n", (long long)s->n_prompt,
            first > 0 ? (double)s->n_prompt / first : 0, (long long)n,
            n > 1 && later > 0 ? (double)(n - 1) / later : 0,
            hn_numerics_name(s->machine.run.numerics));
}

/* Until the model ends, the count is reached, the context is full, or Ctrl-C. */
static hn_status generate(state *s)
{
    HN_REQUIRE(s->n_prompt < hn_session_context(s->session), HN_ERR_ARGUMENT,
               "the prompt has %lld tokens: a context of %lld leaves no room to go on",
               (long long)s->n_prompt, (long long)hn_session_context(s->session));
    hn_decoder decoder = hn_decoder_on(s->tok, true);
    hn_str text = hn_str_on(s->heap);
    hn_status status = HN_OK;
    bool is_done = false;
    hn_interrupt_begin(true);
    for (int64_t i = 0; i < s->n_prompt && status == HN_OK; i++) /* what came before */
        status = hn_decoder_add(&decoder, s->tokens[i], &text);
    int64_t since = hn_clock_ns(), first = 0;
    while (status == HN_OK && !is_done && s->n < s->n_prompt + s->args->count &&
           s->n < hn_session_context(s->session) && !hn_interrupt_is_asked()) {
        status = next(s, &is_done);
        if (!first) {
            first = hn_clock_ns() - since;
            since += first;
        }
        if (status == HN_OK && !is_done)
            status = print_token(s, &decoder, &text);
    }
    hn_str_clear(&text);
    if (status == HN_OK && !s->args->ids)
        status = hn_decoder_finish(&decoder, &text);
    hn_str_add_char(&text, '\n');
    hn_terminal_write(&s->terminal, text.text, text.length);
    hn_str_free(&text);
    if (hn_interrupt_is_asked() && (status == HN_OK || status == HN_ERR_CANCELLED))
        status = hn_fail(HN_ERR_CANCELLED, "interrupted");
    hn_interrupt_end();
    if (status == HN_OK && !s->args->quiet)
        report(s, first, hn_clock_ns() - since);
    return status;
}

static hn_status make_sampler(state *s)
{
    hn_sampler_options o;
    HN_TRY(hn_sampling_read(&s->args->sampling, s->bias, &o));
    return hn_sampler_new(&s->sampler, s->heap, (int32_t)hn_model_hparams(s->model)->n_vocab,
                          &o);
}

static hn_status go_on(state *s, const hn_session_options *o)
{
    HN_TRY(hn_session_new(&s->session, s->heap, s->model, s->machine.run, o));
    HN_TRY(hn_session_args_restore(&s->args->session, s->session));
    const hn_status status = generate(s);
    if (status == HN_OK || status == HN_ERR_CANCELLED) /* what was computed is not lost */
        HN_TRY(hn_session_args_save(&s->args->session, s->session));
    HN_TRY(status);
    return s->args->memory ? hn_memory_print_used(stderr) : HN_OK;
}

static hn_status run_model(state *s, const char *path)
{
    hn_session_options o;
    HN_TRY(hn_session_args_read(&s->args->session, &o));
    HN_TRY(hn_machine_open(&s->machine, s->heap, &s->args->machine));
    HN_TRY(hn_open_tokenizer(s->heap, path, &s->tok));
    HN_TRY(read_prompt(s));
    const hn_ignored ignored = hn_ignored_of(&s->args->ignore);
    HN_TRY(hn_model_open(s->heap, path, &ignored, &s->model));
    HN_TRY(hn_check_vocabulary(s->tok, s->model));
    HN_TRY(make_sampler(s));
    const hn_adapter_use use = { .model = s->model, .run = s->machine.run };
    HN_TRY(hn_lora_open(&s->args->lora, s->heap, &use, &s->adapters));
    o.adapters = &s->adapters;
    o.packs = hn_session_args_pack(&s->args->session, s->model, s->args->count);
    return go_on(s, &o);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    state s = { .args = parsed, .heap = &heap, .terminal = hn_terminal_on(out) };
    const hn_status status = run_model(&s, operands[0]);
    hn_session_free(s.session);
    hn_adapters_close(&s.adapters);
    hn_machine_close(&s.machine);
    hn_sampler_free(s.sampler);
    hn_model_close(s.model);
    hn_tokenizer_free(s.tok);
    hn_free(&heap, s.tokens);
    return status;
}

const hn_command hn_cmd_run = {
    .name = "run",
    .operands = "MODEL",
    .summary = "go on with a text",
    .example = "run m.gguf --prompt \"Once upon a time\"",
    .options = options,
    .letters = "p:prompt f:file n:count",
    .defaults = &defaults,
    .args_size = sizeof(run_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
