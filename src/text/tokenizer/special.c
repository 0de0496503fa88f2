/* special: which tokens end a generation. Files name some; the rest is known by its text. */
#include "text/tokenizer/parts.h"

#include <string.h>

/* Of the tokens that are looked for in texts: all special ones are. */
static int32_t find(const hn_tokenizer *tok, const char *piece)
{
    const size_t n = strlen(piece);
    for (size_t i = 0; i < tok->n_added; i++) {
        const hn_span span = hn_tokenizer_piece(tok, tok->added[i].id);
        if (span.bytes == n && memcmp(span.data, piece, n) == 0)
            return tok->added[i].id;
    }
    return -1;
}

static bool is_special(const hn_tokenizer *tok, int32_t id)
{
    return id >= 0 && (tok->vocab.kind[id] == HN_TOKEN_CONTROL ||
                       tok->vocab.kind[id] == HN_TOKEN_USER_DEFINED ||
                       tok->vocab.kind[id] == HN_TOKEN_UNKNOWN);
}

static void unmark(hn_tokenizer *tok, const char *piece)
{
    const int32_t id = find(tok, piece);
    if (id >= 0)
        tok->ends[id] = false;
}

void hn_tokenizer_find_ends(hn_tokenizer *tok)
{
    static const char *const texts[] = {
        "<|eot_id|>",
        "<|im_end|>",
        "<|end|>",
        "<|return|>",
        "<|call|>",
        "<|flush|>",
        "<|calls|>",
        "<|eom_id|>",
        "<|end_of_text|>",
        "<end_of_turn>",
        "</s>",
        "<|endoftext|>",
        "<EOT>",
        "_<EOT>",
        "[EOT]",
        "[EOS]",
        "<eos>",
        "<turn|>",
        "<|tool_response>",
        "<end_of_utterance>",
        "[e~[",
        ("<\xef\xbd\x9c"
         "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>"),
    };
    static const hn_special roles[] = { HN_SPECIAL_EOS,     HN_SPECIAL_EOT,
                                        HN_SPECIAL_EOM,     HN_SPECIAL_FIM_PAD,
                                        HN_SPECIAL_FIM_REP, HN_SPECIAL_FIM_SEP };
    /* Few files name the end of a turn. */
    static const char *const turns[] = { "<|eot_id|>",    "<|im_end|>", "<|end|>",
                                         "<end_of_turn>", "<turn|>",    "<|endoftext|>",
                                         "<EOT>",         "_<EOT>" };
    for (size_t i = 0; i < HN_COUNT(turns) && tok->special[HN_SPECIAL_EOT] < 0; i++) {
        const int32_t id = find(tok, turns[i]);
        if (is_special(tok, id))
            tok->special[HN_SPECIAL_EOT] = id;
    }
    bool has_return = false, has_call = false;
    for (size_t i = 0; i < HN_COUNT(texts); i++) {
        const int32_t id = find(tok, texts[i]);
        if (!is_special(tok, id))
            continue;
        tok->ends[id] = true;
        has_return |= strcmp(texts[i], "<|return|>") == 0;
        has_call |= strcmp(texts[i], "<|call|>") == 0;
    }
    for (size_t i = 0; i < HN_COUNT(roles); i++)
        if (tok->special[roles[i]] >= 0)
            tok->ends[tok->special[roles[i]]] = true;
    if (has_return && has_call) /* gpt-oss: a message ends, the turn goes on */
        unmark(tok, "<|end|>");
    if (tok->never_ends)
        unmark(tok, tok->never_ends);
}
