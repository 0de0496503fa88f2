/* hone chat: a conversation. Answers go to stdout as they come; everything else that is not the
 * conversation goes to stderr. */
#include "base/file.h"
#include "base/os/files.h"
#include "base/os/signals.h"
#include "cli/command.h"
#include "cli/draft_options.h"
#include "cli/ignore_option.h"
#include "cli/interrupt.h"
#include "cli/json_name.h"
#include "cli/line_input.h"
#include "cli/lora_options.h"
#include "cli/open_model.h"
#include "cli/sampling_options.h"
#include "cli/session_options.h"
#include "cli/template_options.h"
#include "cli/terminal.h"
#include "hone/chat.h"

#include <stdlib.h>
#include <string.h>

typedef struct chat_args {
    const char *system, *tools;
    hn_template_args template;
    int64_t count;
    bool hide_thinking, verbose;
    hn_list set;
    hn_session_args session;
    hn_machine_args machine;
    hn_lora_args lora;
    hn_sampling_args sampling;
    hn_draft_args draft;
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
    HN_DRAFT_OPTIONS(chat_args),
    HN_FLAG(chat_args, verbose, "verbose", "figures of each turn on stderr"),
    HN_IGNORE_OPTION(chat_args),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    HN_LORA_RULES,
    HN_SAMPLING_RULES,
    { NULL, 0, NULL, NULL },
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
    hn_opened opened;
    hn_lm_grammar *grammar; /* of answers; NULL: any text */
    hn_lm_chat *talk;
    hn_lm *draft; /* the model that guesses; NULL: none */
    int64_t accepted, rejected; /* guesses, before this turn */
    hn_line_input lines;
    hn_terminal terminal;
    bool was_thinking, has_spoken;
    hn_lm_numerics numerics;
} chat;

/* Thoughts and answers are set apart by an empty line. */
static void hear(chat *c, bool thinks, const char *text, size_t bytes)
{
    if (c->has_spoken && thinks != c->was_thinking) {
        hn_terminal_finish(&c->terminal);
        hn_terminal_write(&c->terminal, "\n", 1);
    }
    hn_terminal_dim(&c->terminal, thinks);
    hn_terminal_write(&c->terminal, text, bytes);
    c->was_thinking = thinks;
    c->has_spoken = true;
}

static void hear_text(void *context, const char *text, size_t bytes)
{
    hear(context, false, text, bytes);
}

static void hear_thought(void *context, const char *text, size_t bytes)
{
    hear(context, true, text, bytes);
}

/* Guesses of this turn. */
static void count_guesses(chat *c, char *text, size_t room)
{
    int64_t accepted = 0, rejected = 0;
    if (hn_lm_chat_drafted(c->talk, &accepted, &rejected) == HN_OK)
        hn_draft_tell(&c->args->draft, accepted - c->accepted, rejected - c->rejected, text, room);
    c->accepted = accepted;
    c->rejected = rejected;
}

static void report(chat *c, const hn_lm_turn *t)
{
    char guessed[80] = "";
    count_guesses(c, guessed, sizeof guessed);
    const int64_t computed = t->n_prompt - t->n_reused;
    if (t->end == HN_LM_CANCELLED)
        fputs(t->n_answer ? "(stopped)\n" : "(stopped; the question is taken back)\n", stderr);
    if (t->end == HN_LM_COUNTED)
        fprintf(stderr, "(cut after --count %lld)\n", (long long)c->args->count);
    if (c->args->verbose)
        fprintf(
            stderr,
            "prompt: %lld tokens, %lld reused, %lld computed, %.1f/s; answer: %lld, %.1f/s%s; %s\n",
            (long long)t->n_prompt, (long long)t->n_reused, (long long)computed,
            t->prompt_seconds > 0 ? (double)computed / t->prompt_seconds : 0, (long long)t->n_answer,
            t->answer_seconds > 0 && t->n_answer > 1 ? (double)(t->n_answer - 1) / t->answer_seconds : 0, guessed,
            hn_lm_numerics_name(c->numerics));
}

static const char way_out[] = "/reset begins anew, --context makes room";

static hn_status ask(chat *c, const char *text)
{
    hn_lm_turn turn = { .end = HN_LM_DONE };
    c->has_spoken = false;
    hn_interrupt_begin(false);
    hn_status status = hn_lm_chat_ask(c->talk, text, &turn, sizeof turn);
    hn_interrupt_end();
    const int asked = hn_interrupt_signal();
    const long long context = (long long)hn_lm_chat_context(c->talk);
    if (status == HN_ERR_CANCELLED && turn.end == HN_LM_CANCELLED) /* Ctrl-C ends an answer */
        status = HN_OK;
    if (c->has_spoken || status == HN_OK)
        hn_terminal_finish(&c->terminal);
    if (status != HN_OK && turn.end == HN_LM_FULL)
        return hn_fail(status,
                       "the conversation takes %lld tokens, and the context is full at "
                       "%lld: %s",
                       (long long)turn.n_prompt, context, way_out);
    HN_TRY(status);
    HN_REQUIRE(!asked || hn_os_signal_is_interrupt(asked), HN_ERR_CANCELLED, "ended by a signal");
    report(c, &turn);
    HN_REQUIRE(turn.end != HN_LM_FULL, HN_ERR_ARGUMENT,
               "the answer was cut: the context is full at %lld tokens: %s", context, way_out);
    return HN_OK;
}

static hn_status save(const chat *c, const char *path)
{
    size_t bytes;
    HN_REQUIRE(*path, HN_ERR_ARGUMENT, "/save: expected a file's name");
    HN_TRY(hn_lm_chat_messages(c->talk, NULL, 0, &bytes));
    char *text = hn_alloc(c->heap, HN_TAG_TEXT, bytes + 1);
    if (!text)
        return HN_ERR_MEMORY;
    hn_status status = hn_lm_chat_messages(c->talk, text, bytes + 1, NULL);
    text[bytes] = '\n';
    if (status == HN_OK)
        status = hn_file_write((hn_sink){ path, c->args->overwrite ? HN_OVER_OLD : HN_OVER_NOTHING },
                               &(hn_span){ text, bytes + 1 }, 1);
    hn_free(c->heap, text);
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
        return hn_lm_chat_set_system(c->talk, *text ? text : NULL);
    if (!strcmp(line, "/reset"))
        return hn_lm_chat_reset(c->talk);
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

static hn_status open_chat(chat *c, const char *path)
{
    hn_lm_sampling sampling;
    hn_lm_bias bias[HN_MAX_LIST];
    char tools[HN_JSON_NAME];
    const chat_args *args = c->args;
    const hn_lm_session_options session = hn_session_args_options(&args->session);
    HN_TRY(hn_sampling_read(&args->sampling, bias, &sampling));
    HN_TRY(hn_machine_numerics(&args->machine, &c->numerics));
    HN_TRY(hn_opened_open(&c->opened, HN_OPEN_ALL, path, &args->machine, &args->ignore, &args->template));
    HN_TRY(hn_lora_apply(&args->lora, c->opened.lm, c->numerics));
    HN_TRY(hn_sampling_grammar(&args->sampling, c->opened.engine, &c->grammar));
    sampling.grammar = c->grammar;
    const hn_lm_chat_options o = {
        .size = sizeof o, .system = args->system, .tools = hn_json_name(args->tools, tools),
        .variables = args->set.at, .n_variables = args->set.n, .max_answer = args->count, .session = &session,
        .sampling = &sampling, .on_text = hear_text, .on_thought = args->hide_thinking ? NULL : hear_thought,
        .context = c,
    };
    hn_lm_draft_options draft;
    bool drafts;
    HN_TRY(hn_draft_open(&args->draft, &c->opened, &args->machine, &sampling, &c->draft, &draft, &drafts));
    return drafts ? hn_lm_chat_new_drafting(&c->talk, c->opened.lm, &o, &draft) : hn_lm_chat_new(&c->talk, c->opened.lm, &o);
}

static hn_status run_model(chat *c, const char *path)
{
    const char *keys = c->args->session.file.path;
    HN_TRY(open_chat(c, path));
    if (keys && hn_os_is_there(keys))
        HN_TRY(hn_lm_chat_load_keys(c->talk, keys));
    HN_TRY(hn_line_input_open(&c->lines, c->heap));
    if (c->lines.is_terminal)
        fputs("/help tells what can be typed\n", stderr);
    const hn_status status = talk(c);
    hn_line_input_close(&c->lines);
    if (keys && (status == HN_OK || status == HN_ERR_CANCELLED))
        HN_TRY(hn_lm_chat_save_keys(c->talk, keys));
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    chat c = { .args = parsed, .heap = &heap, .terminal = hn_terminal_on(out) };
    if (!n_operands)
        fputs("no MODEL was given: this is the one that is built in, which tells stories "
              "(`hone help chat`)\n", stderr);
    const hn_status status = run_model(&c, n_operands ? operands[0] : hn_lm_builtin());
    hn_lm_chat_free(c.talk);
    hn_lm_grammar_free(c.grammar);
    hn_lm_close(c.draft);
    hn_opened_close(&c.opened);
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
    .rules = rules,
    .letters = "n:count",
    .defaults = &defaults,
    .args_size = sizeof(chat_args),
    .min_operands = 0,
    .max_operands = 1,
    .run = run,
};
