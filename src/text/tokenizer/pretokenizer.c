/* pretokenizer: the pre-tokenisers that GGUF files call by name, as the patterns of the models'
 * own tokenizers. Where llama.cpp spells a pattern in another way because of its engine, the
 * model's own counts; docs/tokenizers.md lists where that makes a difference. */
#include "text/tokenizer/parts.h"

#include <string.h>

#define CONTRACTION  "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SYMBOLS      "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define LINES_BLANKS "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define WORD         "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define GPT2                                                                                   \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define LLAMA3 CONTRACTION WORD "|\\p{N}{1,3}" SYMBOLS LINES_BLANKS
#define QWEN2  CONTRACTION WORD "|\\p{N}" SYMBOLS LINES_BLANKS
#define QWEN35                                                                                 \
    CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| "                              \
                "?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" LINES_BLANKS
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(after)                                                                           \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" after "|[^\\r\\n\\p{L}\\p{N}]?" UPPER         \
    "+" LOWER "*" after
#define CASED_REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" LINES_BLANKS
#define TEKKEN     CASED("") "|\\p{N}" CASED_REST
#define GPT4O      CASED(CONTRACTION "?") "|\\p{N}{1,3}" CASED_REST
#define V3_REST                                                                                \
    "[!\"#$%&'()*+,\\-./"                                                                      \
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"           \
    "| ?[\\p{P}\\p{S}]+[\\r\\n]*" LINES_BLANKS
#define CJK_DEEPSEEK                                                                           \
    "[\xe4\xb8\x80-\xe9\xbe\xa5\xe0\xa0\x80-\xe4\xb8\x80\xea\xb0\x80-\xed\x9f\xbf]+"
#define CJK_KANA "[\\u4e00-\\u9fa5\\u3040-\\u309f\\u30a0-\\u30ff]+"
#define BLOOM    " ?[^(\\s|.,!?\\u2026\\u3002\\uff0c\\u3001\\u0964\\u06d4\\u060c)]+"
/* Letters of scripts with two cases, as of the Unicode that DeepSeek's authors listed. */
#define LETTERS                                                                                \
    "A-Za-z\\u00b5\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u01ba\\u01bc-\\u01bf\\u01c4-\\u0293" \
    "\\u0295-\\u02af\\u0370-\\u0373\\u0376\\u0377\\u037b-\\u037d\\u037f\\u0386\\u0388-"        \
    "\\u038a\\u038c"                                                                           \
    "\\u038e-\\u03a1\\u03a3-\\u03f5\\u03f7-\\u0481\\u048a-\\u052f\\u0531-\\u0556\\u10a0-"      \
    "\\u10c5"                                                                                  \
    "\\u13a0-\\u13f5\\u13f8-\\u13fd\\u1c90-\\u1cba\\u1cbd-\\u1cbf\\u1d00-\\u1d2b\\u1d6b-"      \
    "\\u1d77"                                                                                  \
    "\\u1d79-\\u1d9a\\u1e00-\\u1f15\\u1f18-\\u1f1d\\u1f20-\\u1f45\\u1f48-\\u1f4d\\u1f50-"      \
    "\\u1f57\\u1f59"                                                                           \
    "\\u1f5b\\u1f5d\\u1f5f-\\u1f7d\\u1f80-\\u1fb4\\u1fb6-\\u1fbc\\u1fbe\\u1fc2-"               \
    "\\u1fc4\\u1fc6-\\u1fcc"                                                                   \
    "\\u1fd0-\\u1fd3\\u1fd6-\\u1fdb\\u1fe0-\\u1fec\\u1ff2-\\u1ff4\\u1ff6-"                     \
    "\\u1ffc\\u2102\\u2107"                                                                    \
    "\\u210a-\\u2113\\u2115\\u2119-\\u211d\\u2124\\u2126\\u2128\\u212a-\\u212d\\u212f-"        \
    "\\u2134\\u2139"                                                                           \
    "\\u213c-\\u213f\\u2145-\\u2149\\u214e\\u2183\\u2184\\u2c00-\\u2c7b\\u2c7e-"               \
    "\\u2ce4\\u2ceb-\\u2cee"                                                                   \
    "\\u2cf2\\u2cf3\\ua640-\\ua66d\\ua680-\\ua69b\\ua722-\\ua76f\\ua771-\\ua787\\ua78b-"       \
    "\\ua78e"                                                                                  \
    "\\uab70-\\uabbf\\ufb00-\\ufb06\\ufb13-\\ufb17\\uff21-\\uff3a\\uff41-\\uff5a\\x{10400}-"   \
    "\\x{1044f}"                                                                               \
    "\\x{104b0}-\\x{104d3}\\x{104d8}-\\x{104fb}\\x{10c80}-\\x{10cb2}\\x{10cc0}-\\x{10cf2}"     \
    "\\x{118a0}-\\x{118df}\\x{1e900}-\\x{1e943}"
#define DEEPSEEK_SYMBOLS                                                                       \
    "\\s?[!-/:-~\\uff01-\\uff0f\\uff1a-\\uff5e\\u2018-\\u201f\\u3000-\\u3002]+"
#define PUNCTUATION "[\\p{P}\\$\\+<=>\\^~\\|`]+"

enum { WHOLE_PIECES = 1, ADDS_BOS = 2, MAX_PATTERNS = 6 };

typedef struct pretokenizer {
    const char *names; /* each between blanks */
    int flags;
    const char *patterns[MAX_PATTERNS];
} pretokenizer;

/* clang-format off */
static const pretokenizer list[] = {
    { " gpt-2 mpt olmo jais phi-2 jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code roberta-bpe"
      " exaone4 modern-bert gigachat a.x-4.0 mellum trillion granite-docling ", 0, { GPT2 } },
    { " llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano ",
      WHOLE_PIECES | ADDS_BOS, { LLAMA3 } },
    { " dbrx smaug-bpe chatglm-bpe ", 0, { LLAMA3 } },
    { " glm4 glm5 ", WHOLE_PIECES, { LLAMA3 } },
    { " qwen2 stablelm2 hunyuan megrez grok-2 solar-open deepseek-r1-qwen kormo f2llmv2 ", 0, { QWEN2 } },
    { " qwen35 ", 0, { QWEN35 } },
    { " starcoder refact command-r smollm codeshell exaone minerva-7b mellum2 ", 0, { "\\p{N}", GPT2 } },
    { " falcon ", 0, { PUNCTUATION, GPT2, "[0-9][0-9][0-9]" } },
    { " deepseek-llm ", 0, { "[\\r\\n]", "\\s?[" LETTERS "]+", DEEPSEEK_SYMBOLS, "\\s+$", CJK_DEEPSEEK, "\\p{N}+" } },
    { " deepseek-coder ", 0, { "[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK_DEEPSEEK, "\\p{N}" } },
    { " deepseek-v3 hunyuan-dense joyai-llm hy_v4 ", 0, { "\\p{N}{1,3}", CJK_KANA, V3_REST } },
    { " tekken ", WHOLE_PIECES | ADDS_BOS, { TEKKEN } },
    { " gpt-4o llama4 kanana2 talkie minimax-m2 ", 0, { GPT4O } },
    { " poro-chat bloom gpt3-finnish ", 0, { BLOOM } },
    { " viking ", 0, { BLOOM, "\\p{N}" } },
    { " superbpe ", 0, { "\\p{N}+", "(?=(\\d{3})+(?!\\d))" } },
    { " bailingmoe bailingmoe2 llada-moe ", 0,
      { "'(?i:[sdmt]|ll|ve|re)" WORD "|\\p{N}" SYMBOLS "|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+" } },
    { " seed-coder ", 0, { CONTRACTION WORD "|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+" LINES_BLANKS } },
    { " default ", 0, { "[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]" } },
};
/* clang-format on */

static const pretokenizer *find(const char *name, size_t bytes)
{
    for (size_t i = 0; i < HN_COUNT(list); i++)
        for (const char *at = list[i].names; bytes && (at = strchr(at, ' ')) && at[1]; at++)
            if (strncmp(at + 1, name, bytes) == 0 && at[1 + bytes] == ' ')
                return &list[i];
    return NULL;
}

hn_status hn_pretokenizer_add(hn_tokenizer *tok, const char *file, const char *name,
                              size_t bytes)
{
    const pretokenizer *p = find(name, bytes);
    HN_REQUIRE(p && !memchr(name, ' ', bytes), HN_ERR_UNSUPPORTED,
               "%s: tokenizer.ggml.pre: '%.*s' is no pre-tokeniser that hone knows", file,
               bytes > 60 ? 60 : (int)bytes, name);
    tok->ignores_merges = p->flags & WHOLE_PIECES;
    tok->adds_prefix = p->flags & ADDS_BOS;
    for (size_t i = 0; i < MAX_PATTERNS && p->patterns[i]; i++)
        HN_TRY(hn_splitter_add_pattern(&tok->splitter, p->patterns[i], HN_SPLIT_ISOLATED));
    return HN_OK;
}

static hn_status compare(hn_heap *heap, const char *known, const hn_regex *regex, bool *is_same)
{
    hn_regex *compiled;
    HN_TRY(hn_regex_new(heap, known, strlen(known), &compiled));
    *is_same = hn_regex_equal(compiled, regex);
    hn_regex_free(compiled);
    return HN_OK;
}

/* Two families with the same patterns differ in flags; the first counts. */
hn_status hn_pretokenizer_name(const hn_splitter *splitter, const char **out)
{
    static const char *const preferred[] = {
        "gpt-2",        "llama-bpe",      "qwen2",       "qwen35",    "starcoder", "falcon",
        "deepseek-llm", "deepseek-coder", "deepseek-v3", "tekken",    "gpt-4o",    "bloom",
        "viking",       "superbpe",       "bailingmoe",  "seed-coder"
    };
    *out = NULL;
    for (size_t i = 0; i < splitter->n; i++) {
        const hn_split_step *s = &splitter->steps[i];
        const bool keeps_all =
            s->behavior == HN_SPLIT_ISOLATED || (s->behavior == HN_SPLIT_REMOVED && s->inverts);
        if (s->kind != HN_SPLIT_REGEX || !keeps_all)
            return HN_OK;
    }
    for (size_t i = 0; i < HN_COUNT(preferred); i++) {
        const pretokenizer *p = find(preferred[i], strlen(preferred[i]));
        size_t n = 0;
        while (n < MAX_PATTERNS && p->patterns[n])
            n++;
        bool is_same = n == splitter->n;
        for (size_t k = 0; is_same && k < n; k++)
            HN_TRY(compare(splitter->heap, p->patterns[k], splitter->steps[k].regex, &is_same));
        if (is_same) {
            *out = preferred[i];
            return HN_OK;
        }
    }
    return HN_OK;
}
