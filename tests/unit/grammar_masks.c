/* Masks over vocabularies that no tokenizer has: every string of few bytes, so that tokens lie close, begin and end within
 * characters, and are no UTF-8 at all. A token is allowed if and only if its bytes one by one are. */
#include "text/grammar/mask.h"

#include "tests/harness/check.h"

#include <string.h>

enum { MOST_TOKENS = 4000, LONGEST = 8, STEPS = 40 };

static hn_heap heap;
static char texts[MOST_TOKENS][LONGEST];
static uint8_t lengths[MOST_TOKENS];
static uint64_t state = 1;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* Half of them of whole characters, half of any bytes. */
static void make_texts(void)
{
    static const char *const chars[] = { "a", "b", "m", "x", " ", ";", "\"", "\xc3\xa9", "\xc3\x97", "\xe4\xb8\x80", "\xf0\x9f\x98\x80" };
    static const char bytes[] = "abx\"\xc3\xa9\xe4\xb8\x80\xf0\x9f\x98\xed\xbf\xff";
    for (int i = 0; i < MOST_TOKENS; i++) {
        uint8_t n = 0;
        for (uint32_t left = 1 + draw(5); left > 0; left--) {
            const char *c = chars[draw(sizeof chars / sizeof *chars)];
            const size_t size = i % 2 ? strlen(c) : 1;
            if (n + size > LONGEST)
                break;
            if (i % 2)
                memcpy(texts[i] + n, c, size);
            else
                texts[i][n] = bytes[draw(sizeof bytes - 1)];
            n = (uint8_t)(n + size);
        }
        lengths[i] = n;
    }
}

static hn_status text_of(const void *context, int32_t id, hn_str *to, hn_token_class *out)
{
    (void)context;
    hn_str_add_bytes(to, texts[id], lengths[id]);
    *out = HN_TOKEN_IS_TEXT;
    return HN_OK;
}

/* Goes on by an allowed token, while there is one. */
static uint32_t check_mask(hn_masks *m, uint32_t at)
{
    hn_mask mask;
    int32_t wrong = 0, n = 0;
    uint32_t next = HN_STATE_DEAD;
    if (!CHECK_OK(hn_masks_of(m, at, &mask)))
        return next;
    uint32_t left = mask.n_allowed ? draw((uint32_t)mask.n_allowed) : 0;
    for (int32_t id = 0; id < MOST_TOKENS; id++) {
        uint32_t to;
        if (!CHECK_OK(hn_masks_token(m, at, id, &to)))
            return HN_STATE_DEAD;
        const bool is_allowed = to != HN_STATE_DEAD, is_said = mask.bits[id / 64] >> id % 64 & 1;
        wrong += is_allowed != is_said;
        n += is_allowed;
        if (is_allowed && !left--)
            next = to;
    }
    CHECK_INT(0, wrong);
    CHECK_INT(n, mask.n_allowed);
    return next;
}

static void check_expression(const char *expression, const hn_tokens *tokens)
{
    const hn_grammar_limits limits = HN_GRAMMAR_DEFAULTS;
    hn_grammar *g = NULL;
    hn_masks *m = NULL;
    check_group(expression);
    if (CHECK_OK(hn_grammar_from_regex(&heap, expression, strlen(expression), &limits, &g)) && CHECK_OK(hn_masks_new(&m, &heap, g, tokens))) {
        uint32_t at;
        for (int text = 0; text < 3; text++) {
            CHECK_OK(hn_states_begin(m->states, &at));
            for (int i = 0; i < STEPS && at != HN_STATE_DEAD; i++)
                at = check_mask(m, at);
        }
    }
    hn_masks_free(m);
    hn_grammar_free(g);
}

int main(int argc, char **argv)
{
    static const char *const expressions[] = {
        "[^\"]*",           "[^\"]{0,3}",          "[^\"x]{3}[a-m]*", "(;[^\"]{2,9}[a-m ]*)*", "[a-m ]{1,7}\"",
        "[\\p{L}]{2,40};*", "([^b]{4}|a\"){1,3}x", "[ab]{5}[^b]{5}",  "\xc3\xa9*[^x]{2}\xc3\xa9",  "[^\"]{36}",
    };
    hn_tokens *tokens = NULL;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    make_texts();
    if (CHECK_OK(hn_tokens_new(&tokens, &heap, &(hn_token_source){ .n_vocab = MOST_TOKENS, .text = text_of })))
        for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++)
            check_expression(expressions[i], tokens);
    hn_tokens_free(tokens);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
