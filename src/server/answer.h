/* answer.h: one request to a model and what becomes of it: one or more choices, each a request of the scheduler. Its way:
 *
 *     a thread of HTTP's    checked its body, made the answer
 *     clerk                 loads the model, makes ids (voice->prepare), and holds them to the context
 *     smith                 makes the rules of one that is held to some: tools, a schema, a grammar; runs what takes long and is no text
 *     runner                asks; hears tokens, makes text of them, looks for stops; tells (voice)
 *
 * and at its end the call is ended and all of it freed, by whoever has it then. A voice is an API's own way of asking and of
 * saying: chat completions, completions and so on. */
#ifndef HN_SERVER_ANSWER_H
#define HN_SERVER_ANSWER_H

#include "base/json.h"
#include "server/hearing.h"
#include "server/http.h"
#include "server/scores.h"
#include "server/served_adapters.h"

enum { HN_MOST_CHOICES = 128, HN_MOST_LIKELIEST = 20, HN_FAILURE_ROOM = 3000 };

typedef struct hn_prompt {
    int32_t *ids;
    size_t n;
    hn_str text;    /* of one that is said again: it, */
    size_t *begins; /* and where in it the text of each id begins */
} hn_prompt;

typedef struct hn_choice {
    hn_answer *answer;
    const hn_prompt *prompt;
    int32_t index;  /* of all choices: index % n_each of its prompt's */
    int64_t number; /* of the scheduler's; -1: not asked */
    hn_hearing h; /* what it says */
    hn_told_tokens tokens; /* if they are to be told */
    size_t tokens_told;
    hn_told_tokens scored; /* the prompt's ids from the second on, if its text is told with log-probabilities */
    bool has_echoed, has_said_end; /* the prompt was told; and the token by which the model ends is among the tokens */
    int64_t n_drawn, n_reused;
    hn_lm_end end;
    bool has_ended;
    int64_t n_events;    /* of a stream whose events are numbered */
    hn_block_kind open;  /* of a stream's blocks, of APIs that have such; */
    int32_t n_opened;    /* and those that were opened */
} hn_choice;

/* What a voice is told of a choice: a piece of text, and the tokens that it is of. */
typedef struct hn_piece {
    const char *text;
    size_t bytes;
    size_t first_token, n_tokens;
} hn_piece;

typedef struct hn_server hn_server;

/* Why, as an API says it: of its own or as an event of a stream. */
typedef void hn_fail_form(const hn_failure *f, bool in_stream, hn_str *out);

typedef struct hn_voice {
    const char *type; /* of a stream */
    const char *ping; /* what may be sent while it is silent */
    /* Fills ids from the body; on the clerk, with the model loaded. */
    bool (*prepare)(hn_answer *a, hn_failure *why);
    /* Each adds to `out`; NULL: says nothing there. */
    void (*begin)(hn_answer *a, hn_str *out);
    void (*tell)(hn_answer *a, hn_choice *c, const hn_piece *piece, hn_str *out);
    void (*think)(hn_answer *a, hn_choice *c, const char *text, size_t bytes, hn_str *out);
    void (*call)(hn_answer *a, hn_choice *c, const hn_lm_call *call, hn_str *out);
    void (*close)(hn_answer *a, hn_choice *c, hn_str *out);
    void (*finish)(hn_answer *a, hn_str *out);
    void (*whole)(hn_answer *a, hn_str *out);
    hn_fail_form *fail;
    void (*fail_stream)(hn_answer *a, hn_str *out); /* NULL: as `fail` says it */
} hn_voice;

struct hn_answer {
    hn_task task;
    hn_heap *heap;
    hn_http_call *call;
    const hn_voice *voice;
    hn_served *model;
    hn_served_adapter *adapter; /* NULL: none */
    uint64_t owner; /* of beginnings: hn_lm_request */
    uint64_t asker; /* the key's owner; 0: there are no keys */
    hn_server *server;  /* NULL: of an answer that was not asked over a path */
    hn_json_text *text; /* of the body */
    const hn_json *body;
    hn_str items;       /* of POST /v1/responses: those that went in, JSON, parted by commas */
    hn_json_text *asked_text; /* as it was asked, of one that was translated */
    const hn_json *asked;

    hn_prompt *prompts;
    int32_t n_prompts, n_each;
    int32_t n_best; /* so many of each prompt's choices are told, the best; 0: all */
    hn_lm_sampling sampling;
    hn_lm_bias *bias;
    int64_t most; /* tokens; 0: to the context's end */
    int64_t context; /* that the prompt and what is said have together, of those that the model has; 0: all of them */
    int32_t likeliest;
    bool scores, streams, tells_usage, goes_on, tells_recipe;
    bool scores_drawn; /* log-probabilities are of what tokens are drawn from, not of the model's own distribution */
    hn_stops stops;
    bool echoes;   /* the prompt's text is told before what is said; with scores, so is the token by which the model ends */
    bool draws_none; /* nothing is said */
    bool is_chat;  /* thoughts, and calls of tools, are told apart */
    hn_str tools;   /* JSON; "": none */
    hn_str allowed; /* those of them that may be called, JSON; "": all */
    bool must_call, calls_once;
    const char *only;       /* the tool that is to be called; NULL: any */
    int64_t most_thought;   /* tokens; 0: any number */
    hn_lm_grammar_kind grammar_kind;
    const char *grammar_of; /* the field that it comes of */
    hn_str grammar_text;    /* "": any text may be said */
    hn_lm_grammar *grammar; /* made of it by the smith */
    char id[48];
    int64_t created;            /* seconds since 1970 */
    int64_t clock;              /* what its template was told of it; 0: none wrote its prompt */
    int64_t begun_ns, first_ns; /* hn_clock_ns when it was made, and when its first token was */

    int32_t n_choices, n_ended;
    hn_choice *choices;
    bool has_begun, has_first, is_gone; /* has_first: a token was drawn, or an id of the prompt scored */
    hn_failure failure;
    hn_answer *next, *before; /* of those that the runner has */
    bool (*run)(hn_answer *a, hn_str *out, hn_failure *why); /* of one that the clerk answers (hn_api_ask), */
    bool is_long; /* or when it has loaded the model, the smith */
    bool leaves; /* of one of these: its model is not loaded for it */
};

/* Takes the call, whatever happens. */
hn_answer *hn_answer_new(hn_heap *heap, hn_http_call *call, const hn_voice *voice);
/* So many prompts, whose ids `prepare` makes, with so many choices each. Once. */
bool hn_answer_choices(hn_answer *a, int32_t n_prompts, int32_t n_each, hn_failure *why);
/* Takes another body, in the form of OpenAI's chats, in the place of its own: of an API that asks for the same otherwise. */
bool hn_answer_translate(hn_answer *a, const hn_str *body, hn_failure *why);
/* Gives it to its model, which is held and let go of at the end. */
void hn_answer_begin(hn_answer *a);
/* Ends it with a reply of its own. */
void hn_answer_reply(hn_answer *a, const hn_str *json);
/* Ends it with what `a->failure` says. */
void hn_answer_fail(hn_answer *a);
/* The same of a call for which there is no answer; no memory is needed to say why. */
void hn_call_refuse(hn_http_call *call, hn_fail_form *fail, const hn_failure *why);

const hn_told_token *hn_choice_token(const hn_choice *c, size_t i);
/* Of id i of the prompt; NULL: of the first, which follows nothing. */
const hn_told_token *hn_choice_score(const hn_choice *c, size_t i);
/* "stop", "length" or "tool_calls". */
const char *hn_choice_reason(const hn_choice *c);
/* All tokens of all choices; and those of thoughts. */
int64_t hn_answer_drawn(const hn_answer *a);
int64_t hn_answer_thought(const hn_answer *a);
/* The model's own id of a call, or one that is made of the answer's. */
void hn_choice_call_id(const hn_choice *c, int32_t call, const char *own, char *to, size_t room);
/* Whether a call's arguments are whole: an answer may have ended in the middle of them. */
bool hn_choice_call_is_whole(const hn_choice *c, int32_t call);
/* The seed of choice i: the request's own for choice 0. */
uint64_t hn_choice_seed(uint64_t seed, int32_t i);
/* By which the best of several are found, of the sum of n log-probabilities: their mean; one that says nothing comes last. */
double hn_choice_merit(double sum, size_t n);
/* The numbers of n choices, those with the highest merit first, of equals the first. */
void hn_choices_rank(const double *merits, int32_t n, int32_t *order);
/* On the runner: those whose client has left end. */
void hn_answers_look(hn_served *model);
/* On the runner, by the shelf's lock, after a step: those that run, as its slots. */
void hn_slots_note(hn_served *model);
/* All end before the next step, by name: the server is ending. */
void hn_answers_end(hn_served *model);

#endif
