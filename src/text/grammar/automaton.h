/* automaton.h: sets of texts by their characters: what patterns, formats, lengths and numbers allow, made one by intersection.
 *
 * States count from 0, where a text begins. An automaton has the heap and the limits of the build that it is made for, where its
 * failures go too: after one it is empty. */
#ifndef HN_TEXT_GRAMMAR_AUTOMATON_H
#define HN_TEXT_GRAMMAR_AUTOMATON_H

#include "text/grammar/build.h"

enum { HN_LAST_CHAR = 0x10ffff };

typedef struct hn_char_edge {
    uint32_t low, high, to;
} hn_char_edge;

typedef struct hn_automaton {
    hn_heap *heap;
    hn_char_edge *edges; /* of a state: sorted, disjoint */
    uint32_t *first;     /* [n + 1] */
    uint8_t *accepts;    /* [n] */
    size_t n, n_edges, room, edge_room;
} hn_automaton;

void hn_automaton_free(hn_automaton *a);

/* One made state by state: its edges follow, up to the next. */
void hn_automaton_add_state(hn_build *b, hn_automaton *a, bool accepts);
void hn_automaton_add_edge(hn_build *b, hn_automaton *a, uint32_t low, uint32_t high, uint32_t to);
void hn_automaton_close(hn_build *b, hn_automaton *a);

/* What both have, into *a. */
void hn_automaton_intersect(hn_build *b, hn_automaton *a, const hn_automaton *with);
void hn_automaton_invert(hn_build *b, hn_automaton *a);
/* Texts of `least` to `most` characters; most < 0: any number. */
void hn_automaton_of_length(hn_build *b, int64_t least, int64_t most, hn_automaton *out);
bool hn_automaton_has(const hn_automaton *a, const char *text, size_t bytes);
bool hn_automaton_is_empty(const hn_automaton *a);

/* Its texts, between two nodes of the build: as they are, or as the inside of a JSON string. */
typedef enum hn_spelling { HN_SPELLED_PLAIN, HN_SPELLED_JSON } hn_spelling;
void hn_automaton_emit(hn_build *b, const hn_automaton *a, hn_spelling spelling, uint32_t from, uint32_t to);
/* Any character of a JSON string, however it is spelled. */
void hn_build_json_char(hn_build *b, uint32_t from, uint32_t to);

/* ---- one that may be in many states at a time: what it is made of ---- */

typedef enum hn_step_kind { HN_STEP_CHARS, HN_STEP_EMPTY, HN_STEP_AT_BEGIN, HN_STEP_AT_END } hn_step_kind;
typedef struct hn_nfa_step {
    hn_step_kind kind;
    uint32_t from, low, high, to;
} hn_nfa_step;
typedef struct hn_nfa {
    hn_nfa_step *steps;
    size_t n, room;
    uint32_t n_states, begin, end;
} hn_nfa;
uint32_t hn_nfa_state(hn_build *b, hn_nfa *nfa);
void hn_nfa_add(hn_build *b, hn_nfa *nfa, hn_nfa_step step);
void hn_nfa_free(const hn_build *b, hn_nfa *nfa);
void hn_automaton_from_nfa(hn_build *b, hn_nfa *nfa, hn_automaton *out); /* sorts its steps */

/* ---- numbers of things that are met ---- */

typedef struct hn_met {
    uint32_t *words, *at, *slots; /* key i is words [at[i], at[i + 1]) */
    size_t n, n_words, room, word_room, slot_room;
} hn_met;
uint32_t hn_met_add(hn_build *b, hn_met *keys, const uint32_t *words, size_t n);
void hn_met_free(const hn_build *b, hn_met *keys);

/* ---- patterns.c, numbers.c ---- */

typedef enum hn_anchoring { HN_WHOLE_TEXT, HN_ANYWHERE } hn_anchoring;
/* `what` begins messages. */
void hn_automaton_of_pattern(hn_build *b, const char *what, const char *pattern, size_t bytes, hn_anchoring anchoring,
                             hn_automaton *out);

#endif
