/* choices.h: the words that options may have, of the library's numbers, for help texts (HN_CHOICE). */
#ifndef HN_CLI_CHOICES_H
#define HN_CLI_CHOICES_H

#include "cli/command.h"

hn_word_at hn_cache_word, hn_plan_word, hn_planned_word, hn_pooling_word;

#endif
