/* example.h: what is trained: the ids of an example, and of each how much it counts.
 *
 * A chat is rendered by the model's own template and tokenised in one piece, by the code that
 * chat uses. A token is supervised if it begins inside of a supervised stretch of the text; one
 * that begins before the stretch and reaches into it is not, and is counted. The weight of a
 * token is that of *predicting* it: it belongs to the logits of the token before. */
#ifndef HN_DATA_EXAMPLE_H
#define HN_DATA_EXAMPLE_H

#include "base/word_list.h"
#include "data/record.h"
#include "text/template/chat.h"
#include "text/tokenizer/tokenizer.h"

/* Every turn of the assistant, completions, whole texts; the last turn of the assistant; every token; messages that have a
 * weight, whatever their role. */
#define HN_LOSS_LIST(HEAD, NEXT, TAIL)                                                        \
    HEAD(ASSISTANT, "assistant") NEXT(LAST, "last") NEXT(ALL, "all") TAIL(WEIGHTS, "weights")
#define HN_LOSS_WORDS HN_LOSS_LIST(HN_WORD_HEAD, HN_WORD_NEXT, HN_WORD_TAIL)

typedef enum hn_loss_on {
#define HN_LOSS_ENUM(NAME, word) HN_LOSS_##NAME,
    HN_LOSS_LIST(HN_LOSS_ENUM, HN_LOSS_ENUM, HN_LOSS_ENUM)
#undef HN_LOSS_ENUM
    HN_N_LOSS_ON
} hn_loss_on;

typedef enum hn_cut {
    HN_CUT_ERROR,
    HN_CUT_KEEP_START,
    HN_CUT_KEEP_END, /* and BOS */
    HN_CUT_ALLOW,    /* nothing: longer ones are trained as they are */
    HN_N_CUTS
} hn_cut;

typedef enum hn_token_role {
    HN_ROLE_NONE, /* what belongs to no message, or to none that could be told */
    HN_ROLE_SYSTEM,
    HN_ROLE_USER,
    HN_ROLE_ASSISTANT,
    HN_ROLE_TOOL,
    HN_ROLE_PROMPT,
    HN_ROLE_TEXT,
    HN_N_TOKEN_ROLES
} hn_token_role;

/* What a template takes for the time: noon of 2026-01-01, UTC. Some write the date; the same
 * data must be the same tokens tomorrow. */
extern const int64_t hn_example_clock;

const char *hn_token_role_name(hn_token_role role);
hn_status hn_loss_on_parse(const char *name, hn_loss_on *out); /* "assistant", "last", ... */
const char *hn_loss_on_name(hn_loss_on loss);
hn_status hn_cut_parse(const char *name, hn_cut *out);         /* "error", "keep-start", ... */
const char *hn_cut_name(hn_cut cut);

/* How examples become tokens. Zeroed but for `tok` it is the default. */
typedef struct hn_example_rule {
    const hn_tokenizer *tok;
    const hn_chat_format *chat; /* NULL: plain texts only */
    const char *template_name;
    const hn_template_var *vars;
    size_t n_vars;
    hn_loss_on loss;
    int64_t n_ids;     /* that the model has rows for, which may be more than the tokenizer's; 0: the
                        * tokenizer's */
    size_t max_length; /* tokens; 0: no limit */
    size_t context;    /* what the model was made for; 0: not known. The lesser of both counts */
    size_t reach;      /* tokens beyond which the model has no numbers at all; 0: no such end */
    hn_cut cut;
    const char *const *ignored; /* keys of examples and messages whose words nobody is to read */
    int n_ignored;
    bool finds_unread; /* looks for what the template does not write: a rendering more for each */
    bool plain;       /* leaves the template aside: prompts and completions are texts */
    bool wants_roles; /* of each token, to show them: a rendering more a message */
    bool text_calls;  /* set by hn_example_rule_probe */
} hn_example_rule;

/* Learns from the template how it wants tool calls, once. Renders a conversation of its own. */
hn_status hn_example_rule_probe(hn_heap *heap, hn_example_rule *rule);
hn_record_options hn_example_rule_records(const hn_example_rule *rule);
/* Tokens that a sequence may have; 0: any number. */
size_t hn_example_rule_limit(const hn_example_rule *rule);

typedef struct hn_sample {
    int32_t *ids;
    float *weights; /* of predicting this token; 0: not supervised; that of the first is 0 */
    uint8_t *roles; /* hn_token_role */
    uint32_t *begin, *end; /* bytes of `text` */
    size_t n, room;
    hn_str text; /* as it was tokenised */
    size_t n_supervised;
    size_t n_cut;              /* tokens left out by max_length */
    size_t n_straddling;       /* tokens across the border of a supervised stretch */
    size_t n_turns, n_unended; /* supervised stretches, and those that no end token ends */
    bool has_double_bos, lacks_bos;
    bool is_hollow;   /* a supervised turn or text without words: nothing but its end */
    bool is_too_long; /* more than may be, and not to be cut: it must not be trained */
} hn_sample;

typedef struct hn_stretch {
    size_t begin, end; /* bytes */
    float weight;
    bool is_marked; /* by the template: an end token inside of it does not end it */
    bool is_open;   /* `end` is a bound: the stretch must end with an end token before it */
    size_t message; /* from 1, for messages */
    hn_token_role role;
} hn_stretch;

typedef struct hn_stretches {
    hn_stretch *at;
    size_t n, room;
} hn_stretches;

/* Made once a thread, and used again and again. */
typedef struct hn_example {
    hn_heap *heap;
    hn_record record;
    hn_sample part[2]; /* chosen, rejected */
    int n_parts;
    int label; /* the record's */
    hn_encoding encoding; /* scratch, as are these */
    hn_str rendered;
    hn_template_spans spans;
    hn_template_origins origins, rendered_origins;
    hn_stretches stretches, messages;
    char unread[96]; /* what the template does not write, with finds_unread; "" if nothing */
} hn_example;

hn_example hn_example_on(hn_heap *heap); /* the chat format's; allocates nothing */
void hn_example_free(hn_example *example);

/* Tokens of the record that `example` holds. On failure the caller says which example it was. A
 * sample without supervised tokens is no failure here. */
hn_status hn_example_make(hn_example *example, const hn_example_rule *rule);

/* Where the supervised stretches of a rendered conversation lie, and (with wants_roles) its
 * messages; for hn_example_make. Adds to the text the empty thought that a prompt to answer
 * ends in, where the last turn is without it. *is_hollow: a turn to be trained says nothing. */
hn_status hn_stretches_find(hn_example *example, const hn_example_rule *rule,
                            const hn_record_part *part, hn_str *text, bool *is_hollow);
hn_status hn_stretches_add(hn_heap *heap, hn_stretches *to, hn_stretch stretch);

#endif
