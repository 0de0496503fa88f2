/* How long masks take, by the processor's time: random texts by several grammars, on the vocabulary of a model.
 *
 *     grammar MODEL.gguf [TEXTS]       prints, of each grammar, milliseconds to compile it, and of its masks the median, the
 *                                      99th of a hundred and the longest in microseconds, first texts and later ones apart */
#include "base/os/clock.h"
#include "hone/hone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MASKS = 1 << 16, MOST_TOKENS = 120 };

static const struct {
    const char *name;
    hn_lm_grammar_kind kind;
    const char *text;
} sources[] = {
    { "any JSON", HN_LM_JSON_SCHEMA, "{}" },
    { "object", HN_LM_JSON_SCHEMA,
      "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":130},"
      "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"size\":{\"enum\":[\"small\",\"medium\",\"large\"]},"
      "\"where\":{\"type\":\"object\",\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}},"
      "\"required\":[\"street\",\"city\"],\"additionalProperties\":false}},"
      "\"required\":[\"name\",\"age\",\"tags\",\"size\",\"where\"],\"additionalProperties\":false}" },
    { "lengths", HN_LM_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":200},\"minItems\":3}" },
    { "pattern", HN_LM_JSON_SCHEMA, "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"^[A-Z][a-z]+( [A-Z][a-z]+){0,3}$\"},\"minItems\":3}" },
    { "regex", HN_LM_REGEX, "([\\p{L} ,]+[.!?] ){3,20}" },
    { "arithmetic", HN_LM_GBNF, "root ::= e\ne ::= t ([-+*/] t)*\nt ::= [0-9]+ | \"(\" e \")\"" },
};

static uint64_t state = 1;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* One that is not the end, if there is another. */
static int32_t pick(const hn_lm *lm, const hn_lm_mask *mask)
{
    int32_t chosen = -1;
    for (int i = 0; i < 8; i++) {
        uint32_t skip = draw((uint32_t)mask->n_allowed);
        for (int64_t w = 0; w < mask->words; w++)
            for (uint64_t word = mask->bits[w]; word; word &= word - 1)
                if (!skip--) {
                    uint64_t low = word & (~word + 1);
                    for (chosen = (int32_t)(64 * w); low >>= 1; chosen++)
                        ;
                }
        if (!hn_lm_ends(lm, chosen))
            break;
    }
    return chosen;
}

static int by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *name, const char *which, double *us, size_t n)
{
    qsort(us, n, sizeof *us, by_time);
    if (n)
        printf("%-12s %-6s %6zu masks: median %8.1f us, p99 %8.1f us, longest %8.1f us\n", name, which, n, us[n / 2], us[n * 99 / 100],
               us[n - 1]);
}

static hn_status write_text(hn_lm *lm, hn_lm_grammar *g, double *us, size_t *n)
{
    hn_lm_matcher *m = NULL;
    const hn_status made = hn_lm_matcher_new(&m, lm, g);
    if (made != HN_OK)
        return made;
    hn_status status = HN_OK;
    for (int i = 0; i < MOST_TOKENS && *n < MOST_MASKS && status == HN_OK; i++) {
        hn_lm_mask mask;
        size_t taken;
        const int64_t begin = hn_clock_thread_ns();
        status = hn_lm_matcher_mask(m, &mask, sizeof mask);
        us[(*n)++] = (double)(hn_clock_thread_ns() - begin) * 1e-3;
        if (status != HN_OK)
            break;
        const int32_t id = pick(lm, &mask);
        status = hn_lm_matcher_advance(m, &id, 1, &taken);
        if (hn_lm_ends(lm, id))
            break;
    }
    hn_lm_matcher_free(m);
    return status;
}

static hn_status measure(hn_engine *engine, hn_lm *lm, size_t i, int n_texts)
{
    static double us[MOST_MASKS];
    hn_lm_grammar *g = NULL;
    hn_lm_matcher *m = NULL;
    const int64_t begin = hn_clock_thread_ns();
    const hn_status made = hn_lm_grammar_new(&g, engine, sources[i].kind, sources[i].text, strlen(sources[i].text), NULL);
    if (made != HN_OK)
        return made;
    const int64_t compiled = hn_clock_thread_ns();
    hn_status status = hn_lm_matcher_new(&m, lm, g);
    printf("%-12s %.2f ms to compile, %.1f ms to bind\n", sources[i].name, (double)(compiled - begin) * 1e-6,
           (double)(hn_clock_thread_ns() - compiled) * 1e-6);
    size_t n = 0;
    for (int k = 0; k < n_texts && status == HN_OK; k++) {
        status = write_text(lm, g, us, &n);
        if (k)
            continue;
        print(sources[i].name, "first", us, n);
        n = 0;
    }
    print(sources[i].name, "later", us, n);
    hn_lm_matcher_free(m);
    hn_lm_grammar_free(g);
    return status;
}

int main(int argc, char **argv)
{
    hn_engine *engine = NULL;
    hn_lm *lm = NULL;
    if (argc < 2) {
        fprintf(stderr, "grammar MODEL.gguf [TEXTS]\n");
        return 2;
    }
    hn_status status = hn_engine_new(&engine, NULL);
    if (status == HN_OK)
        status = hn_lm_open_words(&lm, engine, argv[1], NULL);
    for (size_t i = 0; i < sizeof sources / sizeof *sources && status == HN_OK; i++)
        status = measure(engine, lm, i, argc > 2 ? (int)strtol(argv[2], NULL, 10) : 20);
    if (status != HN_OK)
        fprintf(stderr, "%s\n", hn_error_message());
    hn_lm_close(lm);
    hn_engine_free(engine);
    return status != HN_OK;
}
