/* Every allocation of a grammar, of binding it and of its masks, refused in turn: a status, nothing left behind, and a matcher that
 * was refused a mask has the right one when it asks again. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <string.h>

static hn_engine *engine;

static const struct {
    hn_lm_grammar_kind kind;
    const char *text, *trigger;
} sources[] = {
    { HN_LM_JSON_SCHEMA,
      "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/n\"},\"b\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\",\"maxLength\":4}},"
      "\"patternProperties\":{\"^x\":{\"enum\":[1,\"y\",[2]]}},\"propertyNames\":{\"maxLength\":5},\"minProperties\":1,"
      "\"$defs\":{\"n\":{\"anyOf\":[{\"type\":\"number\",\"minimum\":1.5,\"multipleOf\":0.5},{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}]}}}", NULL },
    { HN_LM_REGEX, "(a|[b-d]{2,3})*\\p{Lu}", NULL },
    { HN_LM_GBNF, "root ::= x{2,3} | \"(\" root \")\"\nx ::= [^a] | <[5]>", "go" },
};

static int64_t live(void)
{
    int64_t bytes;
    hn_engine_memory(engine, &bytes, NULL, NULL);
    return bytes;
}

static hn_status compile(size_t i, hn_lm_grammar **out)
{
    const hn_lm_grammar_options o = { .size = sizeof o, .triggers = &sources[i].trigger, .n_triggers = sources[i].trigger != NULL };
    return hn_lm_grammar_new(out, engine, sources[i].kind, sources[i].text, strlen(sources[i].text), &o);
}

static void compiles(size_t i)
{
    for (int64_t nth = 1;; nth++) {
        hn_lm_grammar *g = NULL;
        const int64_t before = live();
        hn_engine_fail_allocation(engine, nth);
        const hn_status status = compile(i, &g);
        hn_engine_fail_allocation(engine, 0);
        CHECK((status == HN_OK) == (g != NULL));
        hn_lm_grammar_free(g);
        CHECK_INT(before, live());
        if (status == HN_OK) {
            CHECK(nth > 5);
            return;
        }
        if (!CHECK_INT(HN_ERR_MEMORY, status))
            return;
    }
}

/* A text of the first token that is allowed, each time; `nth` refuses as it comes. */
static hn_status write_text(hn_lm *lm, hn_lm_grammar *g, int64_t nth, int32_t *ids, int64_t *allowed, size_t *n)
{
    enum { MOST = 12 };
    hn_lm_matcher *m = NULL;
    *n = 0;
    hn_engine_fail_allocation(engine, nth);
    hn_status status = hn_lm_matcher_new(&m, lm, g);
    while (status == HN_OK && *n < MOST) {
        hn_lm_mask mask;
        size_t taken = 0;
        status = hn_lm_matcher_mask(m, &mask, sizeof mask);
        if (status == HN_ERR_MEMORY) { /* once; and then as if nothing had been */
            hn_engine_fail_allocation(engine, 0);
            status = hn_lm_matcher_mask(m, &mask, sizeof mask);
        }
        if (status != HN_OK)
            break;
        int32_t id = 0;
        while (!(mask.bits[id / 64] >> id % 64 & 1))
            id++;
        allowed[*n] = mask.n_allowed;
        ids[(*n)++] = id;
        status = hn_lm_matcher_advance(m, &id, 1, &taken);
        if (status == HN_ERR_MEMORY) {
            hn_engine_fail_allocation(engine, 0);
            status = hn_lm_matcher_advance(m, &id, 1, &taken);
        }
        if (hn_lm_ends(lm, id))
            break;
    }
    hn_engine_fail_allocation(engine, 0);
    hn_lm_matcher_free(m);
    return status;
}

static void masks(size_t i)
{
    int32_t wanted[16], ids[16];
    int64_t n_wanted_allowed[16], n_allowed[16];
    size_t n_wanted = 0, n = 0;
    hn_status status = HN_ERR_MEMORY;
    int64_t n_refused = 0;
    for (int64_t nth = 0; nth == 0 || nth < 400; nth++) {
        hn_lm_grammar *g = NULL;
        hn_lm *lm = NULL;
        const int64_t before = live();
        if (!CHECK_OK(hn_lm_open_words(&lm, engine, hn_lm_builtin(), NULL)) || !CHECK_OK(compile(i, &g)))
            return;
        status = write_text(lm, g, nth, nth ? ids : wanted, nth ? n_allowed : n_wanted_allowed, nth ? &n : &n_wanted);
        if (status == HN_OK && nth) {
            CHECK_INT((int64_t)n_wanted, (int64_t)n);
            CHECK(!memcmp(wanted, ids, n_wanted * sizeof *ids));
            CHECK(!memcmp(n_wanted_allowed, n_allowed, n_wanted * sizeof *n_allowed));
        } else {
            CHECK_INT(nth ? HN_ERR_MEMORY : HN_OK, status);
            n_refused += nth > 0;
        }
        hn_lm_grammar_free(g);
        hn_lm_close(lm);
        CHECK_INT(before, live());
    }
    CHECK(n_refused > 3);
    CHECK_INT(HN_OK, status); /* the last were beyond all that there are */
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    if (!CHECK_OK(hn_engine_new(&engine, NULL)))
        return check_close();
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        compiles(i);
        masks(i);
    }
    hn_engine_free(engine);
    return check_close();
}
