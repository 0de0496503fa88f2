/* hearing.h: what a choice says, made of its tokens: text up to a stop and, of a chat, thoughts and calls of tools apart. The server hears
 * answers by it, and `hone replay` hears them again.
 *
 * A stop ends the text alone: none is looked for in thoughts and calls, nor across one. */
#ifndef HN_SERVER_HEARING_H
#define HN_SERVER_HEARING_H

#include "base/str.h"
#include "hone/hone.h"
#include "server/stops.h"

enum { HN_MOST_CALLS = 128 };

typedef struct hn_heard_call {
    hn_str id, name, arguments;
} hn_heard_call;

/* What was said, in the order in which it was: pieces of the text, of the thought, and calls, by their numbers. */
typedef enum hn_block_kind { HN_NO_BLOCK, HN_TEXT_BLOCK, HN_THOUGHT_BLOCK, HN_CALL_BLOCK } hn_block_kind;
typedef struct hn_heard_block {
    hn_block_kind kind;
    int32_t call;
    size_t begin, end;
} hn_heard_block;

typedef struct hn_hearing hn_hearing;

/* Who is told, in this order: text may be told up to `to`; a piece of a thought; a piece of a call, whose number is call->index. */
typedef struct hn_hearer {
    void (*on_text)(void *context, size_t to);
    void (*on_thought)(void *context, const char *text, size_t bytes);
    void (*on_call)(void *context, const hn_lm_call *call);
    void *context;
} hn_hearer;

struct hn_hearing {
    hn_heap *heap;
    const hn_stops *stops;
    hn_hearer hearer; /* its callbacks may be NULL */
    hn_lm_decoder *decoder; /* of a text, */
    hn_lm_reader *reader;   /* or of a chat */
    hn_str text, thought;
    hn_heard_call *calls;
    int32_t n_calls;
    hn_heard_block *blocks; /* none is empty, but a call's may be */
    size_t n_blocks, room_blocks;
    hn_block_kind said;     /* last */
    int64_t n_thought;      /* tokens after which it was a thought */
    size_t told;            /* of the text */
    size_t uncut;           /* the text's length before a stop cut it */
    const char *stopped_by; /* one of the stops; NULL */
    hn_status status;       /* of what callbacks could not keep */
};

/* What a chat is heard by. */
typedef struct hn_heard_chat {
    const int32_t *prompt;
    size_t n_prompt;
    const char *tools; /* JSON; NULL: none */
    const char *calls; /* the family that calls are of; NULL: the template's */
} hn_heard_chat;

/* The struct stays where it is until it is closed; stops outlive it. Close it also after a failure. */
hn_status hn_hearing_open_text(hn_hearing *h, hn_heap *heap, hn_lm *lm, const hn_stops *stops, const hn_hearer *hearer_or_null);
hn_status hn_hearing_open_chat(hn_hearing *h, hn_heap *heap, hn_lm *lm, const hn_stops *stops, const hn_hearer *hearer_or_null,
                               const hn_heard_chat *chat);
void hn_hearing_close(hn_hearing *h); /* takes a zeroed one */

/* The next token. After it, text may be told up to *to. */
hn_status hn_hearing_add(hn_hearing *h, int32_t id, size_t *to);
/* What was held back; not after a stop. All of the text may be told. */
hn_status hn_hearing_finish(hn_hearing *h);

#endif
