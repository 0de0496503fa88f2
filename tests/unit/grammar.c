/* Grammars of each kind: which texts they have, byte by byte, and what is refused and by which words. */
#include "tests/harness/check.h"
#include "base/os/clock.h"
#include "text/grammar/states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_heap heap;
static hn_grammar_limits limits = HN_GRAMMAR_DEFAULTS;

typedef hn_status from_fn(hn_heap *heap, const char *text, size_t bytes, const hn_grammar_limits *limits, hn_grammar **out);

/* Whether a grammar has a text, whole; and in `longest` how many of its bytes may begin one. */
static bool has(const hn_grammar *g, const char *text, size_t bytes, size_t *longest)
{
    hn_states *states = NULL;
    uint32_t at = HN_STATE_DEAD;
    bool ends = false;
    *longest = 0;
    if (CHECK_OK(hn_states_new(&states, &heap, g, NULL)) && CHECK_OK(hn_states_begin(states, &at))) {
        while (*longest < bytes) {
            CHECK_OK(hn_states_byte(states, at, (uint8_t)text[*longest], &at));
            if (at == HN_STATE_DEAD)
                break;
            ++*longest;
        }
        ends = at != HN_STATE_DEAD && hn_states_may_end(states, at);
    }
    hn_states_free(states);
    return ends;
}

/* Texts after a first byte: + it has it, - it has not. */
static void tries(from_fn *from, const char *source, const char *const *texts)
{
    hn_grammar *g = NULL;
    if (!CHECK_OK(from(&heap, source, strlen(source), &limits, &g))) {
        printf("  of %s\n", source);
        return;
    }
    for (; *texts; texts++) {
        size_t longest;
        const bool wanted = **texts == '+';
        if (!CHECK(has(g, *texts + 1, strlen(*texts) - 1, &longest) == wanted))
            printf("  %s: expected %s of %s, which goes to byte %zu\n", source, wanted ? "a text" : "no text", *texts + 1, longest);
    }
    hn_grammar_free(g);
}

static void refuses(from_fn *from, const char *source, hn_status code, const char *words)
{
    hn_grammar *g = NULL;
    if (!CHECK_FAILS(from(&heap, source, strlen(source), &limits, &g), code, words))
        printf("  of %s\n", source);
    CHECK(g == NULL);
    hn_grammar_free(g);
}

typedef struct trial {
    const char *source, *texts[14];
} trial;

static void has_by_schema(void)
{
    /* clang-format off */
    static const trial trials[] = {
        { "{}", { "+{}", "+[]", "+[1, {\"a\": null}]", "+\"x\"", "+-1.5e+3", "+true", "-tru", "-01", "- 1", "-1 ", "+{\n  \"a\": 1\n}", "-{,}" } },
        { "true", { "+1", "+[]" } },
        { "{\"type\":\"integer\"}", { "+0", "+-12", "-1.0", "-1e3", "-", "-+1", "-00" } },
        { "{\"type\":[\"integer\",\"null\"]}", { "+0", "+null", "-true" } },
        { "{\"type\":\"integer\",\"nullable\":true}", { "+0", "+null" } },
        { "{\"type\":\"integer\",\"minimum\":-3,\"maximum\":12}", { "+-3", "--4", "+0", "+12", "-13", "-120", "+9", "+-0" } },
        { "{\"type\":\"number\",\"minimum\":1.5,\"exclusiveMaximum\":20}", { "+1.5", "-1.49", "+1.50", "+19.999", "-20", "-20.0", "-1e1", "+2", "-0.9", "-.9" } },
        { "{\"type\":\"number\",\"exclusiveMinimum\":-0.25,\"maximum\":0}", { "--0.25", "+-0.2499", "+-0.0", "+0", "-0.1", "--1", "+0.000" } },
        { "{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":14}", { "-7", "+14", "-15", "+21", "+7000", "-7001" } },
        { "{\"type\":\"number\",\"multipleOf\":0.25}", { "+1", "+0.5", "+0.250", "-0.3", "+-12.75", "-0.2501" } },
        { "{\"type\":\"string\"}", { "+\"\"", "+\"a\\n\\u00e9\\ud83d\\ude00\"", "-\"\\ud83d\"", "-\"\n\"", "-\"a", "+\"\xc3\xa9\"", "-\"\xc3\"", "-\"\\x\"" } },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", { "-\"a\"", "+\"ab\"", "+\"\xc3\xa9\\n\\u0041\"", "-\"abcd\"", "+\"\\ud83d\\ude00x\"" } },
        { "{\"type\":\"string\",\"pattern\":\"^a+b$\"}", { "+\"ab\"", "+\"aaab\"", "-\"xab\"", "-\"abc\"" } },
        { "{\"type\":\"string\",\"pattern\":\"b[0-9]\"}", { "+\"ab1c\"", "-\"ab\"", "+\"\\\"b0\"" } },
        { "{\"type\":\"string\",\"pattern\":\"^x*$\",\"minLength\":2,\"maxLength\":4}", { "-\"x\"", "+\"xx\"", "+\"xxxx\"", "-\"xxxxx\"" } },
        { "{\"type\":\"string\",\"format\":\"date\"}", { "+\"2024-02-29\"", "-\"2023-02-29\"", "-\"2023-13-01\"", "+\"2023-12-31\"", "-\"2023-04-31\"" } },
        { "{\"type\":\"string\",\"format\":\"date-time\"}", { "+\"2024-02-29T23:59:59Z\"", "+\"2024-02-29T23:59:59.5+02:00\"", "-\"2024-02-29 23:59:59Z\"" } },
        { "{\"type\":\"string\",\"format\":\"ipv6\"}", { "+\"::1\"", "+\"1:2:3:4:5:6:7:8\"", "+\"fe80::1:2\"", "-\"1:2\"", "+\"::\"" } },
        { "{\"type\":\"string\",\"format\":\"uuid\"}", { "+\"123e4567-e89b-12d3-a456-426614174000\"", "-\"123e4567\"" } },
        { "{\"enum\":[\"a\",1,null,[1,\"x\"],{\"k\":true}]}", { "+\"a\"", "+1", "+null", "+[1, \"x\"]", "+{\"k\":true}", "-2", "-\"b\"", "-{}" } },
        { "{\"type\":\"string\",\"enum\":[\"a\",1]}", { "+\"a\"", "-1" } },
        { "{\"const\":\"\\u0001\\\"\\\\/\"}", { "+\"\\u0001\\\"\\\\/\"" } },
        { "{\"minimum\":3,\"enum\":[1,3,4.5,\"x\"]}", { "-1", "+3", "+4.5", "+\"x\"" } },
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"null\"}},\"required\":[\"a\"],\"additionalProperties\":false}",
          { "+{\"a\":1}", "+{\"a\": 1, \"b\": null}", "-{}", "-{\"b\":null}", "-{\"b\":null,\"a\":1}", "-{\"a\":1,\"c\":2}", "-{\"a\":1,}", "+{\n\t\"a\":1\n}" } },
        { "{\"type\":\"object\",\"properties\":{\"ab\":{\"type\":\"integer\"}}}", { "+{}", "+{\"ab\":1}", "-{\"ab\":\"x\"}", "+{\"a\":\"x\"}", "+{\"abc\":\"x\"}", "-{\"\\u0061b\":\"x\"}", "+{\"ab\":1,\"b\\u0061\":[]}" } },
        { "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"},\"required\":[\"z\"],\"maxProperties\":2}", { "-{}", "+{\"z\":1}", "+{\"z\":1,\"q\":2}", "-{\"z\":1,\"q\":2,\"r\":3}", "-{\"z\":\"\"}" } },
        { "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"null\"},\"minProperties\":2}", { "-{}", "-{\"a\":null}", "+{\"a\":null,\"b\":null}", "+{\"a\":null,\"b\":null,\"c\":null}" } },
        { "{\"type\":\"object\",\"patternProperties\":{\"^x\":{\"type\":\"integer\"},\"y$\":{\"minimum\":5}},\"additionalProperties\":false}", { "+{\"xa\":1}", "+{\"ay\":5}", "-{\"ay\":4}", "-{\"xy\":4}", "+{\"xy\":6}", "-{\"xy\":true}", "-{\"b\":1}" } },
        { "{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^[a-z]+$\"}}", { "+{\"a\":1}", "-{\"A\":1}" } },
        { "{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":1,\"maxItems\":3}", { "-[]", "+[1]", "+[1, 2,3]", "-[1,2,3,4]", "-[1,]", "+[\n  1\n]" } },
        { "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"null\"}],\"items\":false}", { "+[]", "+[1]", "+[1,null]", "-[1,null,1]", "-[null]" } },
        { "{\"type\":\"array\",\"items\":[{\"type\":\"integer\"}],\"additionalItems\":{\"type\":\"null\"}}", { "+[1,null,null]", "-[null]", "-[1,1]" } },
        { "{\"const\":18446744073709551615}", { "+18446744073709551615", "-1.8446744073709552e+19", "-18446744073709552000" } },
        { "{\"enum\":[9007199254740993.0,1]}", { "+9007199254740993.0", "-9007199254740992.0", "+1" } },
        { "{\"type\":\"integer\",\"minimum\":18446744073709551615}", { "+18446744073709551615", "-18446744073709551614", "+18446744073709551616" } },
        { "{\"type\":\"number\",\"exclusiveMaximum\":0.1234567890123456789}", { "+0.1234567890123456788", "-0.1234567890123456789", "+0.1234567890123456" } },
        { "{\"type\":\"integer\",\"format\":\"int32\"}", { "+2147483647", "-2147483648", "+-2147483648", "--2147483649" } },
        { "{\"type\":[\"number\",\"string\"],\"format\":\"uint8\"}", { "+0", "+255", "-256", "--1", "-1.5", "-1e1", "+\"any\"" } },
        { "{\"enum\":[3,300,\"x\"],\"format\":\"uint8\"}", { "+3", "-300", "+\"x\"" } },
        { "{\"type\":\"number\",\"format\":\"double\"}", { "+1.5", "+1e300" } },
        { "{\"oneOf\":[{\"$ref\":\"#/$defs/a\"},{\"type\":\"integer\"}],\"$defs\":{\"a\":{\"type\":\"string\"}}}", { "+1", "+\"x\"", "-null" } },
        { "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\",\"maxLength\":1}]}", { "+1", "+\"a\"", "-\"ab\"", "-null" } },
        { "{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}", { "+1", "+\"a\"", "-null" } },
        { "{\"allOf\":[{\"type\":\"integer\",\"minimum\":3},{\"maximum\":5}],\"multipleOf\":2}", { "-3", "+4", "-5", "-6" } },
        { "{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},\"next\":{\"anyOf\":[{\"$ref\":\"#/$defs/n\"},{\"type\":\"null\"}]}},\"required\":[\"v\",\"next\"],\"additionalProperties\":false}}}",
          { "+{\"v\":1,\"next\":null}", "+{\"v\":1,\"next\":{\"v\":2,\"next\":null}}", "-{\"v\":1}" } },
        { "{\"type\":\"object\",\"properties\":{\"c\":{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}},\"additionalProperties\":false}", { "+{}", "+{\"c\":[{\"c\":[]},{}]}", "-{\"c\":[1]}" } },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        tries(hn_grammar_from_schema, trials[i].source, trials[i].texts);
}

static void refuses_schemas(void)
{
    /* clang-format off */
    static const struct {
        const char *source;
        hn_status code;
        const char *words;
    } cases[] = {
        { "{", HN_ERR_FORMAT, "byte 1" },
        { "[]", HN_ERR_FORMAT, "#: expected a schema" },
        { "{\"properties\":{\"a\":{\"not\":{}}}}", HN_ERR_UNSUPPORTED, "#/properties/a/not" },
        { "{\"type\":\"array\",\"uniqueItems\":true}", HN_ERR_UNSUPPORTED, "#/uniqueItems" },
        { "{\"typo\":1}", HN_ERR_UNSUPPORTED, "#/typo: an unknown keyword" },
        { "{\"$ref\":\"http://x/y\"}", HN_ERR_UNSUPPORTED, "only references within" },
        { "{\"$ref\":\"#/$defs/x\"}", HN_ERR_FORMAT, "not there" },
        { "{\"$ref\":\"#\"}", HN_ERR_UNSUPPORTED, "refers to itself" },
        { "{\"anyOf\":[{\"$ref\":\"#/$defs/a\"}],\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#\"}]}}}", HN_ERR_UNSUPPORTED, "refers to itself" },
        { "{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}", HN_ERR_UNSUPPORTED, "#/oneOf/1" },
        { "{\"type\":\"strin\"}", HN_ERR_FORMAT, "#/type: expected the name" },
        { "{\"type\":\"string\",\"format\":\"uri\"}", HN_ERR_UNSUPPORTED, "#/format" },
        { "{\"type\":\"string\",\"pattern\":\"(?=a)\"}", HN_ERR_UNSUPPORTED, "a lookahead" },
        { "{\"type\":\"string\",\"minLength\":-1}", HN_ERR_FORMAT, "#/minLength" },
        { "{\"type\":\"string\",\"minLength\":9999999}", HN_ERR_UNSUPPORTED, "#/minLength" },
        /* A value that is none of its keyword's, of a type that the keyword says nothing of. */
        { "{\"type\":\"string\",\"required\":true}", HN_ERR_FORMAT, "#/required: expected a list of names" },
        { "{\"type\":\"integer\",\"minLength\":\"2\"}", HN_ERR_FORMAT, "#/minLength: expected a whole number" },
        { "{\"type\":\"string\",\"minLength\":2.5}", HN_ERR_FORMAT, "#/minLength: expected a whole number" },
        { "{\"type\":\"string\",\"exclusiveMinimum\":true,\"minimum\":1}", HN_ERR_FORMAT, "#/exclusiveMinimum: expected a number" },
        { "{\"type\":\"string\",\"properties\":[]}", HN_ERR_FORMAT, "#/properties: expected an object" },
        { "{\"type\":\"integer\",\"pattern\":5}", HN_ERR_FORMAT, "#/pattern: expected a string" },
        { "{\"type\":\"integer\",\"format\":\"uri\"}", HN_ERR_UNSUPPORTED, "#/format" },
        { "{\"type\":\"integer\",\"format\":\"int32\\u0000x\"}", HN_ERR_UNSUPPORTED, "#/format" },
        { "{\"type\":\"object\",\"propertyNames\":{\"format\":5}}", HN_ERR_UNSUPPORTED, "#/propertyNames/format" },
        { "{\"type\\u0000x\":\"integer\"}", HN_ERR_UNSUPPORTED, "holds a NUL" },
        /* What would say nothing where it stands. */
        { "{\"prefixItems\":[{\"type\":\"integer\"}],\"additionalItems\":false}", HN_ERR_UNSUPPORTED, "#/additionalItems" },
        { "{\"items\":{\"type\":\"integer\"},\"additionalItems\":false}", HN_ERR_UNSUPPORTED, "#/additionalItems" },
        { "{\"type\":\"array\",\"additionalItems\":false}", HN_ERR_UNSUPPORTED, "#/additionalItems" },
        { "{\"prefixItems\":[{\"type\":\"integer\"}],\"items\":[{\"type\":\"string\"}]}", HN_ERR_UNSUPPORTED, "#/items: a list beside prefixItems" },
        { "{\"anyOf\":[{\"type\":\"string\"}],\"nullable\":true}", HN_ERR_UNSUPPORTED, "#/nullable" },
        /* Two names of one place: told apart by the other's type, the texts of both would be let through. */
        { "{\"oneOf\":[{\"$ref\":\"#/$defs/a~1b\"},{\"type\":\"integer\"}],\"$defs\":{\"a~1b\":{\"type\":\"string\"},\"a/b\":{\"type\":\"integer\"}}}",
          HN_ERR_UNSUPPORTED, "#/oneOf/1" },
        { "{\"type\":\"integer\",\"minimum\":5,\"maximum\":4}", HN_ERR_ARGUMENT, "no text" },
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}", HN_ERR_ARGUMENT, "no text" },
        { "false", HN_ERR_ARGUMENT, "no text" },
        { "{\"type\":\"string\",\"pattern\":\"(a|b)*a(a|b){30}\"}", HN_ERR_UNSUPPORTED, "more than" },
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuses(hn_grammar_from_schema, cases[i].source, cases[i].code, cases[i].words);
}

static void has_by_regex(void)
{
    static const trial trials[] = {
        { "a*b|c", { "+b", "+aab", "+c", "-a", "-cc" } },
        { "^(foo|ba[rz])?$", { "+", "+foo", "+bar", "-ba", "-foofoo" } },
        { "[^\\d\\s]{2,3}", { "+ab", "+a\xc3\xa9z", "-a1", "-a", "-abcd" } },
        { "\\p{Lu}\\p{Script=Han}?\\u{1F600}", { "+\xc3\x89\xf0\x9f\x98\x80", "+A\xe4\xb8\xad\xf0\x9f\x98\x80", "-a\xf0\x9f\x98\x80" } },
        { "(a{2}){2}", { "+aaaa", "-aaa", "-aaaaa" } },
        { "(?:x+?)(?<n>y)", { "+xxy", "-y" } },
        { ".", { "+a", "-\n", "+\xf4\x8f\xbf\xbf", "-\xed\xa0\x80" } },
        { "(a|^b)c|d$", { "+ac", "+bc", "+d" } },
        { "a{,2}", { "+a{,2}" } },
        { "[\\b\\]-]", { "+]", "+-", "+\b" } },
    };
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        tries(hn_grammar_from_regex, trials[i].source, trials[i].texts);
    refuses(hn_grammar_from_regex, "(a)\\1", HN_ERR_UNSUPPORTED, "backreference");
    refuses(hn_grammar_from_regex, "a(?!b)", HN_ERR_UNSUPPORTED, "lookahead");
    refuses(hn_grammar_from_regex, "(?<=b)a", HN_ERR_UNSUPPORTED, "lookbehind");
    refuses(hn_grammar_from_regex, "\\bword", HN_ERR_UNSUPPORTED, "boundary");
    refuses(hn_grammar_from_regex, "(", HN_ERR_FORMAT, "expected )");
    refuses(hn_grammar_from_regex, "a)", HN_ERR_FORMAT, "closes nothing");
    refuses(hn_grammar_from_regex, "*a", HN_ERR_FORMAT, "nothing to repeat");
    refuses(hn_grammar_from_regex, "[b-a]", HN_ERR_FORMAT, "ends before");
    refuses(hn_grammar_from_regex, "a{9999999}", HN_ERR_UNSUPPORTED, "limit");
    refuses(hn_grammar_from_regex, "\\p{Nonsense}", HN_ERR_UNSUPPORTED, "property");
}

static void has_by_gbnf(void)
{
    static const trial trials[] = {
        { "root ::= \"a\" [b-d]* item? # end\nitem ::= ( \"x\" |\n \"y\" )+", { "+a", "+abdc", "+abxyx", "-ax y", "-b" } },
        { "root ::= [^\\n\"]{2,3} | \"\\u00e9\\x41\\\"\"", { "+ab", "-a", "+\xc3\xa9" "A\"", "-abcd" } },
        { "root ::= \"(\" root \")\" | \"\"", { "+", "+(())", "-(()" } },
        { "root ::= \"(\" root \")\" root | \"\"", { "+", "+(())()", "-(()", "+()()()" } },
        { "root ::= expr\nexpr ::= term (\"+\" term)*\nterm ::= [0-9]+ | \"(\" expr \")\"", { "+1+2", "+(1+2)+33", "-1+", "-(1" } },
        { "root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"\"", { "+aabc", "+aacb", "-aab" } },
        { "root ::= x{3}\nx ::= \"a\" | \"b\"", { "+aba", "-ab", "-abab" } },
        { "root ::= x{2,}\nx ::= \"a\"", { "-a", "+aa", "+aaaaa" } },
        { "root ::= .", { "+\n", "+\xe4\xb8\xad", "-\xff" } },
    };
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        tries(hn_grammar_from_gbnf, trials[i].source, trials[i].texts);
    tries(hn_grammar_from_gbnf, "root ::= \"<\" %json {\"type\": \"integer\", \"maximum\": 12, \"minimum\": 9} \">\"{2}\nnext ::= %json {\"enum\": [\"}\"]}",
          (const char *const[]){ "+<9>>", "+<12>>", "-<13>>", "-<9>", "-9>>", NULL });
    tries(hn_grammar_from_gbnf, "root ::= (%json {\"enum\": [\"}\\\"{\"]} | %json{\"$ref\": \"#/$defs/a\", \"$defs\": {\"a\": {\"const\": [1]}}}) \"!\"*",
          (const char *const[]){ "+\"}\\\"{\"", "+[1]!!", "-[2]", "-!", NULL });
    refuses(hn_grammar_from_gbnf, "root ::= %json 1", HN_ERR_FORMAT, "expected a JSON schema");
    refuses(hn_grammar_from_gbnf, "root ::= %json {\"a\": [}", HN_ERR_FORMAT, "expected a JSON schema");
    refuses(hn_grammar_from_gbnf, "root ::= %json {\"type\": }", HN_ERR_FORMAT, "JSON schema");
    refuses(hn_grammar_from_gbnf, "root ::= \"a\" %json {\"not\": {}}", HN_ERR_UNSUPPORTED, "#/not");
    refuses(hn_grammar_from_gbnf, "root ::= root \"a\" | \"b\"", HN_ERR_UNSUPPORTED, "rule root calls itself");
    refuses(hn_grammar_from_gbnf, "root ::= a\na ::= \"\" b\nb ::= a", HN_ERR_ARGUMENT, "no text");
    refuses(hn_grammar_from_gbnf, "root ::= a\na ::= [x]? a | \"y\"", HN_ERR_UNSUPPORTED, "rule a calls itself");
    refuses(hn_grammar_from_gbnf, "root ::= missing", HN_ERR_FORMAT, "rule missing");
    refuses(hn_grammar_from_gbnf, "rot ::= \"a\"", HN_ERR_FORMAT, "expected a rule root");
    refuses(hn_grammar_from_gbnf, "root ::= \"a", HN_ERR_FORMAT, "line 1, column 12");
    refuses(hn_grammar_from_gbnf, "root ::= (\"a\"", HN_ERR_FORMAT, "expected )");
    refuses(hn_grammar_from_gbnf, "root ::= \"a\"\nroot ::= \"b\"", HN_ERR_FORMAT, "there already");
    refuses(hn_grammar_from_gbnf, "root ::= \"a\"{3,2}", HN_ERR_FORMAT, "expected {m}");
}

/* Any text, and after a trigger the grammar alone. */
static void waits(void)
{
    static const char *const triggers[] = { "<<", "aab" };
    limits.triggers = (hn_grammar_triggers){ triggers, NULL, 2, 0 };
    tries(hn_grammar_from_schema, "{\"type\":\"array\",\"items\":{\"type\":\"boolean\"}}",
          (const char *const[]){ "+", "+free \xff text", "+a < b", "-a <<", "+a <<[true]", "-a <<x", "-<<[] and more", "+<a<<[]", "-aaab x",
                                 "+aaab[false]", "+aa<", NULL });
    limits.triggers = (hn_grammar_triggers){ 0 };
}

/* Beyond `nesting` nothing is allowed, and whoever comes near can still end. */
static void nests(void)
{
    const int64_t nesting = limits.nesting;
    limits.nesting = 3;
    tries(hn_grammar_from_gbnf, "root ::= \"(\" root \")\" | x\nx ::= \"x\" y \"!\"\ny ::= \"y\"",
          (const char *const[]){ "+xy!", "+(xy!)", "+((xy!))", "-(((xy!)))", "-((((xy!))))", NULL });
    tries(hn_grammar_from_gbnf, "root ::= \"a\" root | \"b\"", (const char *const[]){ "+aaaaaaaaab", NULL }); /* it does not nest */
    limits.nesting = nesting;
}

static double most_seconds = 30; /* --most-seconds N under what makes it slower */

/* A class of Unicode has 650 ranges: what they cost is counted, and is not their square. Found by the second in which 60 are too few. */
static void takes_classes(void)
{
    const int64_t begin = hn_clock_thread_ns();
    tries(hn_grammar_from_schema, "{\"type\":\"string\",\"pattern\":\"[\\\\p{L}]{1,5000}\"}",
          (const char *const[]){ "+\"a\"", "+\"1\xc3\xa9 2\"", "-\"12\"", "-\"\"", NULL });
    tries(hn_grammar_from_schema, "{\"type\":\"string\",\"pattern\":\"^[\\\\p{L}]{1,100}$\"}",
          (const char *const[]){ "+\"a\"", "+\"\xc3\xa9z\"", "-\"1\"", "-\"\"", NULL });
    refuses(hn_grammar_from_schema, "{\"type\":\"string\",\"pattern\":\"^[\\\\p{L}]{1,5000}$\"}", HN_ERR_UNSUPPORTED, "the grammar");
    CHECK((double)(hn_clock_thread_ns() - begin) * 1e-9 < most_seconds);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    const char *seconds = check_option("--most-seconds");
    if (seconds)
        most_seconds = strtod(seconds, NULL);
    has_by_schema();
    refuses_schemas();
    has_by_regex();
    has_by_gbnf();
    waits();
    nests();
    takes_classes();
    CHECK(atomic_load(&heap.live_blocks) == 0);
    return check_close();
}
