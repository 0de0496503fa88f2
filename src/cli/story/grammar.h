/* grammar.h: what stories are made of, as tables: classes of words, phrases, plots. */
#ifndef HN_CLI_STORY_GRAMMAR_H
#define HN_CLI_STORY_GRAMMAR_H

#include <stdbool.h>
#include <stdint.h>

typedef enum hn_word_class {
    HN_WORDS_woman,
    HN_WORDS_man,
    HN_WORDS_job,
    HN_WORDS_trait,
    HN_WORDS_indoors,
    HN_WORDS_outdoors,
    HN_WORDS_adj,
    HN_WORDS_thing,
    HN_WORDS_food,
    HN_WORDS_animal,
    HN_WORDS_moving,
    HN_WORDS_manner,
    HN_WORDS_weather,
    HN_WORDS_hour,
    HN_WORDS_glad,
    HN_WORDS_sorry,
    HN_WORDS_tie,
    HN_WORDS_year,
    HN_N_WORD_CLASSES
} hn_word_class;

enum { HN_MAX_WORDINGS = 4, HN_MAX_STEPS = 20, HN_MAX_ASKS = 10 };

/* Its wordings, equally likely; the rest are NULL. */
typedef struct hn_phrase {
    const char *wordings[HN_MAX_WORDINGS + 1];
} hn_phrase;

typedef struct hn_plot_step {
    int16_t phrase;
    bool is_optional; /* one time in two */
} hn_plot_step;

/* Lists end in a phrase of -1. The last step comes after the questions. */
typedef struct hn_plot {
    const char *name;
    hn_plot_step steps[HN_MAX_STEPS + 1], asks[HN_MAX_ASKS + 1];
} hn_plot;

typedef struct hn_grammar {
    const char *const *words; /* of each class, with spaces between */
    const hn_phrase *phrases;
    const hn_plot *plots;
    uint32_t n_plots, n_asked; /* questions a story */
} hn_grammar;

extern const hn_grammar hn_story_grammar;
/* Short stories, each with one question and its answer after a '|'. */
extern const hn_grammar hn_chat_grammar;
const char *hn_word_class_name(hn_word_class which);

#endif
