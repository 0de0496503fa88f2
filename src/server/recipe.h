/* recipe.h: how an answer was made: all that it is a function of. With it `hone replay` makes it again, alone, and compares. */
#ifndef HN_SERVER_RECIPE_H
#define HN_SERVER_RECIPE_H

#include "server/answer.h"

/* A member "recipe" of an object that is open. */
void hn_recipe_add(hn_json_writer *w, const hn_answer *a);

/* One that was read: its parts live as long as the JSON. */
typedef struct hn_recipe {
    const char *weights, *numerics, *cache, *adapter; /* digests, words; adapter: NULL, none */
    const char *template; /* its digest; NULL: prompts were not written by one */
    double adapter_scale;
    int64_t context, most;
    int32_t n_each, n_told, likeliest; /* choices of a prompt that were made, and that are told: the best */
    bool goes_on, scores, scores_drawn, draws_none;
    const hn_json *prompts;
    const hn_json *echo; /* the texts that are told before answers; NULL: none */
    hn_lm_sampling sampling; /* with bias, which the caller frees */
    hn_lm_bias *bias;
    hn_stops stops;
    hn_lm_grammar_kind grammar_kind;
    const char *grammar; /* NULL: any text */
    bool is_chat;
    const char *tools; /* NULL: none */
    const char *calls; /* the family that they are of; NULL: the template's */
} hn_recipe;

/* HN_ERR_FORMAT names what is missing, of another kind, or not known. */
hn_status hn_recipe_read(hn_recipe *out, hn_heap *heap, const hn_json *answer);

#endif
