/* hone chat: a conversation. Answers go to stdout as they come; everything else that is not the
 * conversation goes to stderr. */
#include "base/file.h"
#include "base/os/signals.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/interrupt.h"
#include "cli/line_input.h"
#include "cli/lora_options.h"
#include "cli/machine_options.h"
#include "cli/sampling_options.h"
#include "cli/session_options.h"
#include "cli/template_options.h"
#include "cli/terminal.h"
#include "hone/model.h"
#include "infer/conversation.h"
#include "models/open_chat.h"
#include "models/open_tokenizer.h"

#include <stdlib.h>
#include <string.h>

typedef struct chat_args {
    const char *system, *tools;
    hn_template_choice template;
    int64_t count;
    bool hide_thinking, verbose;
    hn_list set;
    hn_session_args session;
    hn_machine_args machine;
    hn_lora_args lora;
    hn_sampling_args sampling;
    bool overwrite;
    hn_list ignore;
} chat_args;

static const hn_option options[] = {
    HN_TEXT(chat_args, system, "system", "TEXT", "what comes before the conversation"),
    HN_TEXT(chat_args, tools, "tools", "T.json", "functions that the model may call"),
    HN_TEMPLATE_OPTIONS(chat_args, template, "this template", ""),
    HN_LIST(chat_args, set, "set", "KEY=JSON",
            "a template's variable, as enable_thinking=false"),
    HN_FLAG(chat_args, hide_thinking, "hide-thinking", "show answers only"),
    HN_INT(chat_args, count, "count", "N", 1, INT32_MAX, "tokens of an answer, at most"),
    HN_GROUP("the session"),
    HN_SESSION_OPTIONS(chat_args),
    HN_LORA_OPTIONS(chat_args),
    HN_FLAG(chat_args, overwrite, "overwrite", "let /save replace files that are there already"),
    HN_GROUP("what computes it, and how"),
    HN_MACHINE_OPTIONS(chat_args, HN_NUMERICS_OF_RUNS),
    HN_GROUP("how the next token is chosen"),
    HN_SAMPLING_OPTIONS(chat_args),
    HN_FLAG(chat_args, verbose, "verbose", "figures of each turn on stderr"),
    HN_IGNORE_OPTION(chat_args),
    HN_OPTION_END,
};

static const chat_args defaults = { .sampling = HN_SAMPLING_DEFAULTS };

static const char help_text[] =
    "/reset        forgets the conversation\n"
    "/system TEXT  what comes before it; without a text, nothing\n"
    "/save FILE    writes the conversation there, as JSON\n"
    "/help         this\n"
    "/quit         leaves; so do Ctrl-D, and Ctrl-C twice\n"
    "A backslash at the end of a line goes on with the next; \"\"\" begins and ends a block\n"
    "of lines. Ctrl-C stops an answer. // at the beginning sends a text that begins with /.\n";

typedef struct chat {
    const chat_args *args;
    hn_heap *heap;
    hn_tokenizer *tok;
    hn_model *model;
    hn_adapters adapters;
    hn_machine machine;
    hn_session *session;
    hn_sampler *sampler;
    hn_logit_bias bias[HN_MAX_LIST];
    hn_chat_input input;
    const char *which; /* of its templates; NULL: the default */
    hn_conversation *conversation;
    hn_line_input lines;
    hn_terminal terminal;
    bool was_thinking, has_spoken;
} chat;

/* Thoughts and answers are set apart by an empty line. */
static void hear(void *context, hn_voice voice, const char *text, size_t bytes)
{
    chat *c = context;
    const bool thinks = voice == HN_VOICE_THOUGHT;
    if (thinks && c->args->hide_thinking)
        return;
    if (c->has_spoken && thinks != c->was_thinking) {
        hn_terminal_finish(&c->terminal);
        hn_terminal_write(&c->terminal, "\n", 1);
    }
    hn_terminal_dim(&c->terminal, thinks);
    hn_terminal_write(&c->terminal, text, bytes);
    c->was_thinking = thinks;
    c->has_spoken = true;
}

static void report(const chat *c, const hn_turn *t)
{
    const double prompt = (double)t->prompt_ns * 1e-9, answer = (double)t->answer_ns * 1e-9;
    const int64_t computed = t->n_prompt - t->n_reused;
    if (t->end == HN_TURN_CANCELLED)
        fputs(t->n_answer ? "(stopped)\n" : "(stopped; the question is taken back)\n", stderr);
    if (t->end == HN_TURN_COUNTED)
        fprintf(stderr, "(cut after --count %lld)\n", (long long)c->args->count);
    if (c->args->verbose)
        fprintf(
            stderr,
            "prompt: %lld tokens, %lld reused, %lld computed, %.1f/s; answer: %lld, %.1f/s\n",
            (long long)t->n_prompt, (long long)t->n_reused, (long long)computed,
            prompt > 0 ? (double)computed / prompt : 0, (long long)t->n_answer,
            answer > 0 && t->n_answer > 1 ? (double)(t->n_answer - 1) / answer : 0);
}

static const char way_out[] = "/reset begins anew, --context makes room";

static hn_status ask(chat *c, const char *text)
{
    const hn_ear ear = { hear, c };
    const hn_run_options run = { .cancel = hn_interrupt_flag() };
    hn_turn turn;
    c->has_spoken = false;
    hn_interrupt_begin(false);
    const hn_status status = hn_conversation_ask(c->conversation, text, &run, &ear, &turn);
    hn_interrupt_end();
    const int asked = hn_interrupt_signal();
    if (c->has_spoken || status == HN_OK)
        hn_terminal_finish(&c->terminal);
    if (status != HN_OK && turn.does_not_fit)
        return hn_fail(status,
                       "the conversation takes %lld tokens, and the context is full at "
                       "%lld: %s",
                       (long long)turn.n_prompt, (long long)hn_session_context(c->session),
                       way_out);
    HN_TRY(status);
    HN_REQUIRE(!asked || hn_os_signal_is_interrupt(asked), HN_ERR_CANCELLED, "ended by a signal"); /* Ctrl-C ends an answer */
    report(c, &turn);
    HN_REQUIRE(turn.end != HN_TURN_FULL, HN_ERR_ARGUMENT,
               "the answer was cut: the context is full at %lld tokens: %s",
               (long long)hn_session_context(c->session), way_out);
    return HN_OK;
}

static hn_status save(const chat *c, const char *path)
{
    HN_REQUIRE(*path, HN_ERR_ARGUMENT, "/save: expected a file's name");
    hn_str text = hn_str_on(c->heap);
    hn_status status = hn_conversation_write(c->conversation, &text);
    hn_str_add_char(&text, '\n');
    if (status == HN_OK)
        status = hn_str_status(&text);
    if (status == HN_OK)
        status = hn_file_write((hn_sink){ path, c->args->overwrite ? HN_OVER_OLD : HN_OVER_NOTHING },
                               &(hn_span){ text.text, text.length }, 1);
    hn_str_free(&text);
    if (status == HN_OK)
        fprintf(stderr, "(written to %s)\n", path);
    return status;
}

/* The word's argument if `line` is that command, else NULL. */
static const char *argument_of(const char *line, const char *word)
{
    const size_t n = strlen(word);
    if (strncmp(line, word, n) || (line[n] && line[n] != ' '))
        return NULL;
    return line + n + strspn(line + n, " ");
}

static hn_status obey(chat *c, const char *line, bool *leaves)
{
    const char *text;
    if ((text = argument_of(line, "/save")))
        return save(c, text);
    if ((text = argument_of(line, "/system")))
        return hn_conversation_set_system(c->conversation, *text ? text : NULL);
    if (!strcmp(line, "/reset"))
        hn_conversation_reset(c->conversation);
    else if (!strcmp(line, "/help"))
        fputs(help_text, stderr);
    else if (!strcmp(line, "/quit"))
        *leaves = true;
    else
        return hn_fail(HN_ERR_ARGUMENT, "%.60s: no such command; /help lists them", line);
    return HN_OK;
}

static hn_status say(chat *c, const char *text, bool is_block, bool *leaves)
{
    if (!text[strspn(text, " \t\n")])
        return HN_OK;
    if (is_block || *text != '/')
        return ask(c, text);
    return text[1] == '/' ? ask(c, text + 1) : obey(c, text, leaves);
}

/* In front of a person a mistake is told and the conversation goes on; a script ends with it.
 */
static hn_status talk(chat *c)
{
    hn_str text = hn_str_on(c->heap);
    hn_status status = HN_OK;
    bool leaves = false, was_interrupted = false;
    while (!leaves && status == HN_OK) {
        hn_line_event event;
        bool is_block;
        status = hn_line_input_message(&c->lines, &text, &is_block, &event);
        if (status != HN_OK || event == HN_LINE_ENDED)
            break;
        if (event == HN_LINE_INTERRUPTED) {
            leaves = was_interrupted && !text.length;
            was_interrupted = true;
            if (!leaves && !text.length)
                fputs("(Ctrl-C again leaves)\n", stderr);
            continue;
        }
        was_interrupted = false;
        status = say(c, text.text, is_block, &leaves);
        if (status != HN_OK && status != HN_ERR_CANCELLED && c->lines.is_terminal) {
            fprintf(stderr, "%s\n", hn_error_message());
            status = HN_OK;
        }
    }
    hn_str_free(&text);
    return status;
}

static hn_status converse(chat *c)
{
    hn_conversation_options o = { .template_name = c->which,
                                  .vars = c->input.vars,
                                  .n_vars = (size_t)c->input.n_vars,
                                  .max_answer = c->args->count };
    const hn_conversation_parts parts = { c->tok, c->input.chat, c->session, c->sampler };
    HN_TRY(hn_chat_input_json(&c->input, c->args->tools, &o.tools));
    HN_TRY(hn_conversation_new(&c->conversation, c->heap, &parts, &o));
    HN_TRY(hn_conversation_set_system(c->conversation, c->args->system));
    HN_TRY(hn_line_input_open(&c->lines, c->heap));
    if (c->lines.is_terminal)
        fputs("/help tells what can be typed\n", stderr);
    return talk(c);
}

static hn_status open_texts(chat *c, const char *path)
{
    HN_TRY(hn_open_tokenizer(c->heap, path, &c->tok));
    HN_TRY(hn_chat_input_open(&c->input, path));
    return hn_chat_input_choose(&c->input, &c->args->template, &c->which);
}

/* Adapters were tried before this: what they were trained with is what a conversation is written by. */
static hn_status settle_template(chat *c, const char *path)
{
    HN_TRY(hn_chat_input_set(&c->input, c->args->set.at, c->args->set.n));
    const hn_conversation_style style = { .input = &c->input, .set = c->args->set.at, .model = path,
                                          .which = c->which, .adapters = &c->adapters,
                                          .tools_or_null = c->args->tools };
    return hn_conversation_settle(&style, &c->which);
}

static hn_status run_model(chat *c, const char *path)
{
    hn_sampler_options sampling;
    hn_session_options o;
    HN_TRY(hn_sampling_read(&c->args->sampling, c->bias, &sampling));
    HN_TRY(hn_session_args_read(&c->args->session, &o));
    HN_TRY(hn_machine_open(&c->machine, c->heap, &c->args->machine));
    HN_TRY(open_texts(c, path));
    const hn_ignored ignored = hn_ignored_of(&c->args->ignore);
    HN_TRY(hn_model_open(c->heap, path, &ignored, &c->model));
    HN_TRY(hn_check_vocabulary(c->tok, c->model));
    const int32_t n_vocab = (int32_t)hn_model_hparams(c->model)->n_vocab;
    HN_TRY(hn_sampler_new(&c->sampler, c->heap, n_vocab, &sampling));
    char template[65];
    hn_chat_format_digest(c->input.chat, c->which, template);
    const hn_adapter_use use = { .model = c->model, .run = c->machine.run, .template = c->which ? template : NULL };
    HN_TRY(hn_lora_open(&c->args->lora, c->heap, &use, &c->adapters));
    HN_TRY(settle_template(c, path));
    o.adapters = &c->adapters;
    o.packs = hn_session_args_pack(&c->args->session, c->model, INT64_MAX);
    HN_TRY(hn_session_new(&c->session, c->heap, c->model, c->machine.run, &o));
    HN_TRY(hn_session_args_restore(&c->args->session, c->session));
    const hn_status status = converse(c);
    hn_line_input_close(&c->lines);
    if (status == HN_OK || status == HN_ERR_CANCELLED)
        HN_TRY(hn_session_args_save(&c->args->session, c->session));
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    chat c = { .args = parsed,
               .heap = &heap,
               .input = { .heap = &heap },
               .terminal = hn_terminal_on(out) };
    if (!n_operands)
        fputs("no MODEL was given: this is the one that is built in, which tells stories "
              "(`hone help chat`)\n", stderr);
    const hn_status status = run_model(&c, n_operands ? operands[0] : hn_lm_builtin());
    hn_conversation_free(c.conversation);
    hn_session_free(c.session);
    hn_adapters_close(&c.adapters);
    hn_machine_close(&c.machine);
    hn_sampler_free(c.sampler);
    hn_model_close(c.model);
    hn_chat_input_close(&c.input);
    hn_tokenizer_free(c.tok);
    return status;
}

const hn_command hn_cmd_chat = {
    .name = "chat",
    .operands = "[MODEL]",
    .summary = "talk with a model",
    .details =
        "MODEL is a GGUF file or a Hugging Face directory with a chat template; without one it is\n"
        "the model that is built in, which tells stories. Inside, /help tells what can be typed.\n",
    .example = "chat",
    .options = options,
    .letters = "n:count",
    .defaults = &defaults,
    .args_size = sizeof(chat_args),
    .min_operands = 0,
    .max_operands = 1,
    .run = run,
};
