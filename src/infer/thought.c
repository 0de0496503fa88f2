/* Text comes in pieces that may end within a mark: what could begin one is held back until it is one or is not.
 * Marks that are tokens of their own are told apart by the caller, for the same letters in a user's text mean
 * nothing. */
#include "infer/thought.h"

#include <string.h>

static const char open_mark[] = "<think>", close_mark[] = "</think>";

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

hn_thought hn_thought_after(const char *prompt, size_t bytes)
{
    const size_t n = sizeof open_mark - 1;
    hn_thought t = { .voice = HN_VOICE_ANSWER, .is_blank = true };
    while (bytes && is_space(prompt[bytes - 1]))
        bytes--;
    if (bytes >= n && !memcmp(prompt + bytes - n, open_mark, n)) {
        t.voice = HN_VOICE_THOUGHT;
        t.is_trimmed = true;
    }
    return t;
}

static void say(hn_thought *t, const char *text, size_t bytes, const hn_ear *ear)
{
    while (t->is_trimmed && bytes && (*text == '\n' || *text == '\r'))
        text++, bytes--;
    if (!bytes)
        return;
    t->is_trimmed = false;
    for (size_t i = 0; i < bytes && t->is_blank && t->voice == HN_VOICE_ANSWER; i++)
        t->is_blank = is_space(text[i]);
    ear->hear(ear->context, t->voice, text, bytes);
}

static void turn_to(hn_thought *t, hn_voice voice)
{
    t->is_trimmed |= t->voice != voice;
    t->voice = voice;
    t->is_header = false;
    t->n_held = 0;
}

/* A channel's name ends: the rest of the header (a recipient, a format) is not looked at. */
static void end_header(hn_thought *t)
{
    static const char *const names[] = { "analysis", "thought" };
    bool thinks = false;
    for (int i = 0; i < 2; i++)
        thinks |= t->n_held >= strlen(names[i]) && !memcmp(t->held, names[i], strlen(names[i]));
    turn_to(t, thinks ? HN_VOICE_THOUGHT : HN_VOICE_ANSWER);
}

static bool is_piece(const char *piece, size_t bytes, const char *word)
{
    return bytes == strlen(word) && !memcmp(piece, word, bytes);
}

static bool begins_header(const char *piece, size_t bytes)
{
    return is_piece(piece, bytes, "<|channel>") || is_piece(piece, bytes, "<|channel|>") ||
           is_piece(piece, bytes, "<|start|>");
}

bool hn_thought_mark(hn_thought *t, const char *piece, size_t bytes, const hn_ear *ear)
{
    const bool opens = is_piece(piece, bytes, open_mark);
    const bool closes =
        is_piece(piece, bytes, close_mark) || is_piece(piece, bytes, "<channel|>");
    if (begins_header(piece, bytes)) {
        hn_thought_finish(t, ear);
        t->is_header = true;
    } else if (is_piece(piece, bytes, "<|message|>")) {
        end_header(t);
    } else if (opens || closes) {
        hn_thought_finish(t, ear);
        turn_to(t, opens ? HN_VOICE_THOUGHT : HN_VOICE_ANSWER);
    } else {
        return is_piece(piece, bytes, "<|end|>"); /* of a message; a header follows */
    }
    return true;
}

/* Whether the mark that is looked for may end the text: how many of its bytes are there. */
static size_t partial(const char *text, size_t bytes, const char *mark, size_t n_mark)
{
    size_t n = n_mark - 1 < bytes ? n_mark - 1 : bytes;
    while (n && memcmp(text + bytes - n, mark, n))
        n--;
    return n;
}

/* gemma4's header ends with its line, gpt-oss's with <|message|>. */
static size_t add_header(hn_thought *t, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\n') {
            end_header(t);
            return i + 1;
        }
        if (t->n_held < sizeof t->held)
            t->held[t->n_held++] = text[i];
    }
    return bytes;
}

/* One byte more: it goes on with a mark, or everything held is text after all. An answer may
 * tell of <think>: as text it opens a thought only where nothing was said before. */
static void add_byte(hn_thought *t, char c, const hn_ear *ear)
{
    const bool thinks = t->voice == HN_VOICE_THOUGHT;
    const char *mark = thinks ? close_mark : open_mark;
    const size_t n_mark = strlen(mark);
    t->held[t->n_held++] = c;
    if (t->n_held == n_mark && !memcmp(t->held, mark, n_mark)) {
        turn_to(t, thinks ? HN_VOICE_ANSWER : HN_VOICE_THOUGHT);
        return;
    }
    const size_t keep = thinks || t->is_blank ? partial(t->held, t->n_held, mark, n_mark) : 0;
    const size_t gone = t->n_held - keep;
    say(t, t->held, gone, ear);
    memmove(t->held, t->held + gone, keep);
    t->n_held = keep;
}

void hn_thought_add(hn_thought *t, const char *text, size_t bytes, const hn_ear *ear)
{
    for (size_t i = 0; i < bytes;) {
        if (t->is_header) {
            i += add_header(t, text + i, bytes - i);
            continue;
        }
        /* Runs without a '<' are given out whole. */
        const char *sign = t->n_held ? text + i : memchr(text + i, '<', bytes - i);
        const size_t n = sign ? (size_t)(sign - text) - i : bytes - i;
        say(t, text + i, n, ear);
        i += n;
        if (i < bytes)
            add_byte(t, text[i++], ear);
    }
}

void hn_thought_finish(hn_thought *t, const hn_ear *ear)
{
    if (!t->is_header)
        say(t, t->held, t->n_held, ear);
    t->n_held = 0;
}
