/* A whole text matches, from its beginning to its end: the pattern becomes an automaton over characters and that a
 * rule. */
#include "text/grammar/automaton.h"

static hn_status make(hn_build *b, const char *text, size_t bytes, hn_grammar **out)
{
    hn_automaton a;
    const uint32_t rule = hn_build_rule_new(b);
    hn_automaton_of_pattern(b, "the regular expression", text, bytes, HN_WHOLE_TEXT, &a);
    if (b->status == HN_OK)
        hn_automaton_emit(b, &a, HN_SPELLED_PLAIN, b->rules[rule].start, b->rules[rule].end);
    hn_automaton_free(&a);
    return hn_build_finish(b, rule, out);
}

hn_status hn_grammar_from_regex(hn_heap *heap, const char *text, size_t bytes, const hn_grammar_limits *limits, hn_grammar **out)
{
    *out = NULL;
    HN_REQUIRE((int64_t)bytes <= limits->bytes, HN_ERR_UNSUPPORTED, "a regular expression of %zu bytes: expected at most %lld",
               bytes, (long long)limits->bytes);
    hn_build b = hn_build_on(heap, limits);
    const hn_status status = make(&b, text, bytes, out);
    hn_build_free(&b);
    return status;
}
