/* thought.h: what a model thinks, told apart from what it answers, while it comes.
 *
 * Three ways are known: <think> ... </think>, as tokens or as text; gemma4's channels,
 * <|channel>thought ... <channel|>; and gpt-oss's, <|channel|>analysis<|message|> ... <|end|>.
 */
#ifndef HN_INFER_THOUGHT_H
#define HN_INFER_THOUGHT_H

#include <stdbool.h>
#include <stddef.h>

typedef enum hn_voice { HN_VOICE_ANSWER, HN_VOICE_THOUGHT } hn_voice;

/* Gets the text without the marks; `bytes` > 0. */
typedef struct hn_ear {
    void (*hear)(void *context, hn_voice voice, const char *text, size_t bytes);
    void *context;
} hn_ear;

enum { HN_THOUGHT_HELD = 32 };

typedef struct hn_thought {
    hn_voice voice;
    bool is_header;  /* between a channel's mark and its text: its name */
    bool is_blank;   /* nothing but white space was answered so far */
    bool is_trimmed; /* the voice has just changed: line ends before its text are left out */
    char held[HN_THOUGHT_HELD]; /* a header, or what may become a mark */
    size_t n_held;
} hn_thought;

/* `prompt` is what the model goes on with: some templates end in <think>. */
hn_thought hn_thought_after(const char *prompt, size_t bytes);
/* Whether a token of this text is a mark, which is then no text; for special tokens. */
bool hn_thought_mark(hn_thought *t, const char *piece, size_t bytes, const hn_ear *ear);
void hn_thought_add(hn_thought *t, const char *text, size_t bytes, const hn_ear *ear);
/* Lets go of what was held. */
void hn_thought_finish(hn_thought *t, const hn_ear *ear);

#endif
