/* program.h: a compiled pattern. Private to this folder. */
#ifndef HN_TEXT_PATTERN_PROGRAM_H
#define HN_TEXT_PATTERN_PROGRAM_H

#include "text/pattern/tree.h"

typedef enum hn_regex_op {
    HN_OP_MATCH,
    HN_OP_BYTE,  /* a: this byte */
    HN_OP_CHAR,  /* one character of `set` */
    HN_OP_RUN,   /* a to b characters of `set`, by `greed` */
    HN_OP_TRY,   /* what follows if the next character is in `set` (or set < 0), else at a */
    HN_OP_SPLIT, /* first a, then b */
    HN_OP_JUMP,  /* to a */
    HN_OP_LOOK, /* the program after this, up to MATCH; go on at a. Behind: b characters back */
    HN_OP_ATOMIC, /* the same, and stay where it ended */
    HN_OP_GROUPS, /* what is left of the run of `set` is a multiple of a characters, not 0 */
    HN_OP_ANCHOR
} hn_regex_op;

typedef struct hn_regex_step {
    uint8_t op, greed, anchor;
    bool is_negative, is_behind;
    int16_t set;
    int32_t a, b;
} hn_regex_step;

struct hn_regex {
    hn_heap *heap;
    hn_regex_step *steps;
    int n_steps, step_room;
    hn_charset **sets;
    int n_sets;
    const hn_charset
        *first;     /* a match begins with one of these; NULL: with anything or nothing */
    bool skips_run; /* if a match fails at the start of a run of the first step's set, it
                     * fails all along the run */
};

typedef struct hn_regex_choice {
    int32_t pc;
    int32_t more; /* -1: go on at pc; else a run at pc: 0 if greedy, or how many characters a
                   * lazy one may still take */
    uint32_t at, low; /* greedy runs: ends from `at` down to `low` are to be tried */
} hn_regex_choice;

#endif
