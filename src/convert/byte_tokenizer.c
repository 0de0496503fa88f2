/* In GPT-2's form, without merges, so every tokenizer reads it; its template is short, and marks what an assistant
 * says for training. */
#include "convert/byte_tokenizer.h"

#include "base/utf8.h"
#include "convert/pad_vocab.h"

#include <string.h>

/* GPT-2's alphabet: bytes that print stand for themselves, the others for U+0100 and on. */
static bool prints(int byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

static const char template_text[] =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' }}"
    "{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] + '<|im_end|>' }}"
    "{% endgeneration %}{% else %}{{ message['content'] + '<|im_end|>' }}{% endif %}{{ '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

hn_status hn_byte_tokenizer(hn_meta *meta, int64_t n_vocab)
{
    static const char *const specials[] = { "<|im_start|>", "<|im_end|>", "<|endoftext|>" };
    char texts[256][4];
    hn_span tokens[HN_BYTE_TOKENS];
    int64_t kinds[HN_BYTE_TOKENS];
    uint32_t next = 0x100;
    HN_REQUIRE(n_vocab >= HN_BYTE_TOKENS, HN_ERR_ARGUMENT,
               "a vocabulary of %lld: a random model needs %d or more", (long long)n_vocab,
               HN_BYTE_TOKENS);
    for (int i = 0; i < 256; i++) {
        const uint32_t code = prints(i) ? (uint32_t)i : next++;
        tokens[i] = (hn_span){ texts[i], hn_utf8_put(code, texts[i]) };
        kinds[i] = 1;
    }
    for (int i = 256; i < HN_BYTE_TOKENS; i++) {
        tokens[i] = (hn_span){ specials[i - 256], strlen(specials[i - 256]) };
        kinds[i] = 3;
    }
    HN_TRY(hn_meta_set_text(meta, "tokenizer.ggml.model", "gpt2"));
    HN_TRY(hn_meta_set_text(meta, "tokenizer.ggml.pre", "gpt-2"));
    HN_TRY(hn_meta_set_strings(meta, "tokenizer.ggml.tokens", tokens, HN_BYTE_TOKENS));
    HN_TRY(hn_meta_set_ints(meta, "tokenizer.ggml.token_type", HN_META_I32, kinds,
                            HN_BYTE_TOKENS));
    HN_TRY(hn_meta_set_strings(meta, "tokenizer.ggml.merges", NULL, 0));
    HN_TRY(hn_meta_set_int(meta, "tokenizer.ggml.bos_token_id", HN_META_U32, 258));
    HN_TRY(hn_meta_set_int(meta, "tokenizer.ggml.eos_token_id", HN_META_U32, 257));
    HN_TRY(hn_meta_set_bool(meta, "tokenizer.ggml.add_bos_token", false));
    HN_TRY(hn_meta_set_text(meta, "tokenizer.chat_template", template_text));
    return hn_pad_vocab(meta, n_vocab);
}
