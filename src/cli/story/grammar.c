/* The .def files become tables here: words, phrases that name each other by number, and plots that are lists of
 * them. */
#include "cli/story/grammar.h"

#include <stddef.h>

static const char *const words[HN_N_WORD_CLASSES] = {
#define HN_WORDS(name, text) [HN_WORDS_##name] = text,
#include "cli/story/words.def"
#undef HN_WORDS
};

static const char *const class_names[HN_N_WORD_CLASSES] = {
#define HN_WORDS(name, text) [HN_WORDS_##name] = #name,
#include "cli/story/words.def"
#undef HN_WORDS
};

enum {
#define HN_PHRASE(name, ...) SAY_##name,
#include "cli/story/phrases.def"
#undef HN_PHRASE
    N_PHRASES
};

static const hn_phrase phrases[N_PHRASES] = {
#define HN_PHRASE(name, ...) { { __VA_ARGS__, NULL } },
#include "cli/story/phrases.def"
#undef HN_PHRASE
};

#define OF(name) { SAY_##name, false }
#define MAYBE(name) { SAY_##name, true }
#define STEPS(...) { __VA_ARGS__, { -1, false } }
#define ASKS(...) { __VA_ARGS__, { -1, false } }
#define HN_PLOT(name, steps, asks) { #name, steps, asks },
static const hn_plot plots[] = {
#include "cli/story/plots.def"
};
static const hn_plot chats[] = {
#include "cli/story/chats.def"
};

const hn_grammar hn_story_grammar = { words, phrases, plots, sizeof plots / sizeof *plots, 2 };
const hn_grammar hn_chat_grammar = { words, phrases, chats, sizeof chats / sizeof *chats, 1 };

const char *hn_word_class_name(hn_word_class which)
{
    return class_names[which];
}
