/* GBNF, as llama.cpp writes it:
 *
 *     root ::= "a" [b-d^\n]* ( item | <think> )? !<[5]> .{2,3}     # and so on
 *     item ::= "value: " %json {"type": "integer"}                  # what a JSON schema allows; not llama.cpp's
 *
 * Each element lies between two nodes of its own. What is repeated a number of times becomes a rule, which is called so often. */
#include "text/grammar/automaton.h"

#include <string.h>

typedef struct symbol {
    const char *name;
    size_t bytes;
    uint32_t rule;
    bool is_defined;
    size_t called_at;
} symbol;

typedef struct reader {
    hn_build *b;
    const char *text, *at, *end;
    symbol *symbols;
    size_t n, room;
    int64_t depth, n_calls;
} reader;

static void refuse(reader *r, hn_status code, const char *words)
{
    size_t line = 1, column = 1;
    for (const char *c = r->text; c < r->at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    if (r->b->status == HN_OK)
        hn_build_fail(r->b, hn_fail(code, "GBNF: line %zu, column %zu: %s", line, column, words));
    r->at = r->end;
}

static bool looking_at(const reader *r, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(r->end - r->at) >= n && !memcmp(r->at, text, n);
}

static bool skip(reader *r, const char *text)
{
    if (!looking_at(r, text))
        return false;
    r->at += strlen(text);
    return true;
}

static void skip_space(reader *r, bool lines)
{
    while (r->at < r->end) {
        if (*r->at == '#')
            while (r->at < r->end && *r->at != '\n' && *r->at != '\r')
                r->at++;
        else if (*r->at == ' ' || *r->at == '\t' || (lines && (*r->at == '\n' || *r->at == '\r')))
            r->at++;
        else
            break;
    }
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static size_t word_length(const reader *r)
{
    size_t n = 0;
    while (r->at + n < r->end && is_word(r->at[n]))
        n++;
    return n;
}

static symbol *find_symbol(reader *r, const char *name, size_t bytes)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->symbols[i].bytes == bytes && !memcmp(r->symbols[i].name, name, bytes))
            return &r->symbols[i];
    if (r->n == r->room) {
        const size_t room = r->room ? 2 * r->room : 32;
        symbol *symbols = hn_realloc_array(r->b->heap, HN_TAG_TEXT, r->symbols, room, sizeof *symbols);
        if (!symbols) {
            hn_build_fail(r->b, HN_ERR_MEMORY);
            return NULL;
        }
        r->symbols = symbols;
        r->room = room;
    }
    if (!hn_build_step(r->b, (int64_t)r->n + 1))
        return NULL;
    r->symbols[r->n] = (symbol){ name, bytes, hn_build_rule_new(r->b), false, (size_t)(r->at - r->text) };
    return &r->symbols[r->n++];
}

/* ---- characters ---- */

static uint32_t read_hex(reader *r, int n)
{
    uint32_t code = 0;
    for (int i = 0; i < n; i++, r->at++) {
        const char c = r->at < r->end ? *r->at : 0, lower = (char)(c | 0x20);
        if (!((c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'f'))) {
            refuse(r, HN_ERR_FORMAT, "expected hexadecimal digits");
            return 0;
        }
        code = code << 4 | (uint32_t)(c <= '9' ? c - '0' : lower - 'a' + 10);
    }
    if (code > HN_LAST_CHAR || (code >= 0xd800 && code < 0xe000))
        refuse(r, HN_ERR_FORMAT, "no character has this number");
    return code;
}

static uint32_t read_char(reader *r)
{
    static const char letters[] = "tnr\\\"[]-^", codes[] = "\t\n\r\\\"[]-^";
    uint32_t code = 0;
    if (!skip(r, "\\")) {
        const size_t n = r->at < r->end ? hn_char_at((const uint8_t *)r->at, (const uint8_t *)r->end, &code) : 0;
        if (!n || code == HN_BAD_CHAR)
            refuse(r, HN_ERR_FORMAT, "expected a character in UTF-8");
        else
            r->at += n;
        return code;
    }
    const char c = r->at < r->end ? *r->at : 0;
    const char *simple = c ? strchr(letters, c) : NULL;
    if (!simple && c != 'x' && c != 'u' && c != 'U')
        refuse(r, HN_ERR_FORMAT, "an escape that is not known");
    else
        r->at++;
    return simple ? (uint8_t)codes[simple - letters] : c == 'x' ? read_hex(r, 2) : c == 'u' ? read_hex(r, 4) : c == 'U' ? read_hex(r, 8) : 0;
}

static void read_literal(reader *r, uint32_t from, uint32_t to)
{
    while (r->at < r->end && *r->at != '"') {
        const uint32_t next = hn_build_node(r->b), code = read_char(r);
        hn_build_chars(r->b, from, code, code, next);
        from = next;
    }
    if (!skip(r, "\""))
        refuse(r, HN_ERR_FORMAT, "expected \" at the end of a text");
    hn_build_empty(r->b, from, to);
}

static void read_class(reader *r, uint32_t from, uint32_t to)
{
    hn_ranges set = hn_ranges_on(r->b->heap);
    const bool is_inverted = skip(r, "^");
    while (r->at < r->end && *r->at != ']') {
        const uint32_t low = read_char(r);
        uint32_t high = low;
        if (looking_at(r, "-") && r->end - r->at > 1 && r->at[1] != ']') {
            r->at++;
            high = read_char(r);
        }
        if (high < low)
            refuse(r, HN_ERR_FORMAT, "a range of characters ends before it begins");
        hn_ranges_add(&set, low, high);
    }
    if (!skip(r, "]"))
        refuse(r, HN_ERR_FORMAT, "expected ]");
    hn_ranges_settle(&set);
    if (is_inverted)
        hn_ranges_invert(&set);
    if (set.status != HN_OK)
        hn_build_fail(r->b, set.status);
    for (size_t i = 0; i < set.n; i++)
        if (set.at[i].low <= HN_LAST_CHAR)
            hn_build_chars(r->b, from, set.at[i].low, set.at[i].high < HN_LAST_CHAR ? set.at[i].high : HN_LAST_CHAR, to);
    hn_ranges_free(&set);
}

/* <name> or <[id]>, of which < was read; the name of a token is with its < and >. */
static void read_token(reader *r, hn_edge_kind kind, uint32_t from, uint32_t to)
{
    const char *name = r->at - 1;
    int64_t id = -1;
    if (skip(r, "[")) {
        id = 0;
        for (; r->at < r->end && *r->at >= '0' && *r->at <= '9' && id < INT32_MAX; r->at++)
            id = 10 * id + (*r->at - '0');
        if (r->at[-1] == '[' || id > INT32_MAX || !skip(r, "]"))
            refuse(r, HN_ERR_FORMAT, "expected the number of a token, and ]");
    } else {
        while (r->at < r->end && *r->at != '>' && *r->at != '\n')
            r->at++;
    }
    if (!skip(r, ">"))
        refuse(r, HN_ERR_FORMAT, "expected > at the end of a token");
    else if (id < 0 && r->at - name < 3)
        refuse(r, HN_ERR_FORMAT, "expected the name of a token");
    else
        hn_build_token(r->b, from, kind, (int32_t)id, name, id < 0 ? (size_t)(r->at - name) : 0, to);
}

/* The text of a JSON value that begins here: brackets in pairs, and none within a string. Whether it is one its reader says. */
static size_t value_length(const reader *r)
{
    bool in_string = false;
    size_t depth = 0;
    for (const char *c = r->at; c < r->end; c++) {
        if (in_string && *c == '\\')
            c++;
        else if (*c == '"')
            in_string = !in_string;
        else if (!in_string && (*c == '{' || *c == '['))
            depth++;
        else if (!in_string && (*c == '}' || *c == ']') && --depth == 0)
            return (size_t)(c - r->at) + 1;
    }
    return 0;
}

/* %json SCHEMA, an object: what it allows. */
static void read_schema(reader *r, uint32_t from, uint32_t to)
{
    skip_space(r, false);
    const size_t n = looking_at(r, "{") ? value_length(r) : 0;
    if (!n) {
        refuse(r, HN_ERR_FORMAT, "expected a JSON schema, { to }");
        return;
    }
    const uint32_t rule = hn_build_schema(r->b, r->at, n);
    r->at += n;
    if (r->b->status == HN_OK)
        hn_build_call(r->b, from, rule, to);
}

/* ---- elements ---- */

static void read_either(reader *r, uint32_t from, uint32_t to, bool is_nested);

static void read_call(reader *r, uint32_t from, uint32_t to)
{
    const size_t n = word_length(r);
    const symbol *called = find_symbol(r, r->at, n);
    if (++r->n_calls > r->b->limits.references)
        refuse(r, HN_ERR_UNSUPPORTED, "more rules are called than the limit");
    if (!called || r->b->status != HN_OK)
        return;
    hn_build_call(r->b, from, called->rule, to);
    r->at += n;
}

/* False: no element begins here. */
static bool read_element(reader *r, uint32_t from, uint32_t to)
{
    if (skip(r, "\""))
        read_literal(r, from, to);
    else if (skip(r, "["))
        read_class(r, from, to);
    else if (skip(r, "."))
        hn_build_chars(r->b, from, 0, HN_LAST_CHAR, to);
    else if (skip(r, "%json"))
        read_schema(r, from, to);
    else if (skip(r, "!<"))
        read_token(r, HN_EDGE_OTHER_TOKEN, from, to);
    else if (skip(r, "<"))
        read_token(r, HN_EDGE_TOKEN, from, to);
    else if (skip(r, "(")) {
        skip_space(r, true);
        read_either(r, from, to, true);
        if (!skip(r, ")"))
            refuse(r, HN_ERR_FORMAT, "expected )");
    } else if (r->at < r->end && is_word(*r->at)) {
        read_call(r, from, to);
    } else {
        return false;
    }
    return r->b->status == HN_OK;
}

static int64_t read_count(reader *r, int64_t otherwise)
{
    int64_t n = 0;
    skip_space(r, false);
    if (r->at == r->end || *r->at < '0' || *r->at > '9')
        return otherwise;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        n = n < INT32_MAX ? 10 * n + (*r->at - '0') : n;
    skip_space(r, false);
    if (n > r->b->limits.repetition)
        refuse(r, HN_ERR_UNSUPPORTED, "a repetition beyond the limit");
    return n;
}

/* An element between `begin` and `end`, from `least` to `most` times. */
static void repeat(reader *r, uint32_t begin, uint32_t end, int64_t least, int64_t most, uint32_t from, uint32_t to)
{
    hn_build *b = r->b;
    const uint32_t rule = hn_build_rule_new(b);
    if (b->status != HN_OK)
        return;
    hn_build_empty(b, b->rules[rule].start, begin);
    hn_build_empty(b, end, b->rules[rule].end);
    for (int64_t i = 0; i < (most < 0 ? least : most) && b->status == HN_OK; i++) {
        const uint32_t next = hn_build_node(b);
        if (i >= least)
            hn_build_empty(b, from, to);
        hn_build_call(b, from, rule, next);
        from = next;
    }
    if (most < 0)
        hn_build_call(b, from, rule, from);
    hn_build_empty(b, from, to);
}

static void read_repetition(reader *r, uint32_t begin, uint32_t end, uint32_t from, uint32_t to)
{
    hn_build *b = r->b;
    const bool is_star = skip(r, "*"), is_plus = !is_star && skip(r, "+");
    if (is_star || is_plus) {
        const uint32_t round = hn_build_node(b);
        hn_build_empty(b, from, is_star ? round : begin);
        hn_build_empty(b, round, begin);
        hn_build_empty(b, end, round);
        hn_build_empty(b, round, to);
    } else if (skip(r, "{")) {
        const int64_t least = read_count(r, -1);
        const int64_t most = skip(r, ",") ? read_count(r, -1) : least;
        if ((least < 0 && most < 0) || (most >= 0 && most < least) || !skip(r, "}"))
            refuse(r, HN_ERR_FORMAT, "expected {m}, {m,}, {,n} or {m,n}");
        repeat(r, begin, end, least < 0 ? 0 : least, most, from, to);
    } else {
        if (skip(r, "?"))
            hn_build_empty(b, from, to);
        hn_build_empty(b, from, begin);
        hn_build_empty(b, end, to);
    }
}

static void read_sequence(reader *r, uint32_t from, uint32_t to, bool is_nested)
{
    while (r->b->status == HN_OK) {
        const size_t word = word_length(r);
        const char *here = r->at;
        const uint32_t begin = hn_build_node(r->b), end = hn_build_node(r->b);
        r->at += word;
        skip_space(r, false);
        const bool is_next_rule = word && looking_at(r, "::=");
        r->at = here;
        if (is_next_rule || !read_element(r, begin, end))
            break;
        const uint32_t next = hn_build_node(r->b);
        read_repetition(r, begin, end, from, next);
        if (r->at < r->end && *r->at && strchr("*+?{", *r->at))
            refuse(r, HN_ERR_UNSUPPORTED, "a repetition of a repetition: expected ( and ) around the first");
        from = next;
        skip_space(r, is_nested);
    }
    hn_build_empty(r->b, from, to);
}

static void read_either(reader *r, uint32_t from, uint32_t to, bool is_nested)
{
    if (++r->depth > r->b->limits.depth)
        refuse(r, HN_ERR_UNSUPPORTED, "groups nest deeper than the limit");
    for (bool more = true; more && r->b->status == HN_OK;) {
        const uint32_t begin = hn_build_node(r->b);
        hn_build_empty(r->b, from, begin);
        read_sequence(r, begin, to, is_nested);
        more = skip(r, "|");
        if (more)
            skip_space(r, true);
    }
    r->depth--;
}

static void read_rule(reader *r)
{
    const size_t n = word_length(r);
    symbol *defined = n ? find_symbol(r, r->at, n) : NULL;
    if (!n)
        refuse(r, HN_ERR_FORMAT, "expected the name of a rule");
    if (!defined)
        return;
    if (defined->is_defined)
        refuse(r, HN_ERR_FORMAT, "a rule of this name is there already");
    defined->is_defined = true;
    const uint32_t rule = defined->rule;
    r->at += r->at < r->end ? n : 0;
    skip_space(r, false);
    if (!skip(r, "::="))
        refuse(r, HN_ERR_FORMAT, "expected ::=");
    skip_space(r, true);
    if (r->b->status == HN_OK)
        read_either(r, r->b->rules[rule].start, r->b->rules[rule].end, false);
    if (r->b->status == HN_OK && r->at < r->end && *r->at != '\n' && *r->at != '\r')
        refuse(r, HN_ERR_FORMAT, "expected an element, | or the end of the line");
}

static hn_status check_symbols(reader *r, uint32_t *root)
{
    bool has_root = false;
    for (size_t i = 0; i < r->n; i++) {
        const symbol *s = &r->symbols[i];
        HN_REQUIRE(s->is_defined, HN_ERR_FORMAT, "GBNF: rule %.*s is called, and there is none", s->bytes > 100 ? 100 : (int)s->bytes,
                   s->name);
        if (s->bytes == 4 && !memcmp(s->name, "root", 4)) {
            has_root = true;
            *root = s->rule;
        }
    }
    HN_REQUIRE(has_root, HN_ERR_FORMAT, "GBNF: expected a rule root, found none");
    return HN_OK;
}

static hn_status make(reader *r, hn_grammar **out)
{
    uint32_t root = 0;
    skip_space(r, true);
    while (r->at < r->end && r->b->status == HN_OK) {
        read_rule(r);
        skip_space(r, true);
    }
    HN_TRY(r->b->status);
    HN_TRY(check_symbols(r, &root));
    for (size_t i = 0; i < r->n; i++) {
        hn_build_rule *rule = &r->b->rules[r->symbols[i].rule];
        rule->name = r->symbols[i].name;
        rule->name_bytes = r->symbols[i].bytes;
    }
    const hn_status status = hn_build_finish(r->b, root, out);
    return status == HN_OK ? status : hn_fail_within(status, "GBNF: ");
}

hn_status hn_grammar_from_gbnf(hn_heap *heap, const char *text, size_t bytes, const hn_grammar_limits *limits, hn_grammar **out)
{
    *out = NULL;
    HN_REQUIRE((int64_t)bytes <= limits->bytes, HN_ERR_UNSUPPORTED, "GBNF of %zu bytes: expected at most %lld", bytes,
               (long long)limits->bytes);
    hn_build b = hn_build_on(heap, limits);
    reader r = { .b = &b, .text = text, .at = text, .end = text + bytes };
    const hn_status status = make(&r, out);
    hn_free(heap, r.symbols);
    hn_build_free(&b);
    return status;
}
