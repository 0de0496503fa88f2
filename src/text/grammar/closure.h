/* closure.h: all places that a text is at, of the places that its last byte led to. Private to this folder. */
#ifndef HN_TEXT_GRAMMAR_CLOSURE_H
#define HN_TEXT_GRAMMAR_CLOSURE_H

#include "text/grammar/states.h"

typedef struct hn_call {
    uint32_t order, rule, node, stack; /* goes on at node, in stack */
} hn_call;

typedef struct hn_closure {
    hn_place *work; /* all that were visited */
    uint32_t *slots; /* of work, by what they are; index + 1 */
    hn_call *calls;
    hn_place *content;
    uint32_t *stack_of; /* [n_rules] of those called: the stack, UINT32_MAX: none that could be finished */
    uint8_t *is_called; /* [n_rules] */
    size_t n_work, work_room, slot_room, n_calls, call_room, n_content, content_room;
    bool may_end, is_full;
} hn_closure;

hn_status hn_closure_new(hn_closure **out, hn_heap *heap, const hn_grammar *g);
void hn_closure_free(hn_heap *heap, hn_closure *c); /* takes NULL */

/* One after the other: begin, a visit of each place, and the state. */
void hn_closure_begin(hn_closure *c);
hn_status hn_closure_visit(hn_states *s, uint32_t node, uint32_t stack);
hn_status hn_closure_state(hn_states *s, uint32_t *out);

/* The number of the set, which is settled here: those places of `from`. */
hn_status hn_set_intern(hn_states *s, hn_set_table *table, hn_place *from, size_t n, const hn_place_set *with, uint32_t *out);

#endif
