/* Patterns as ECMA-262 has them, by characters: what cannot be said of a text without looking back or ahead within it is refused by
 * name. A piece of a pattern has steps and states of its own alone, one after the other: repeating it copies them. */
#include "text/grammar/automaton.h"

#include "text/unicode/unicode.h"

#include <string.h>

typedef struct piece {
    uint32_t begin, end;
} piece;

typedef struct reader {
    hn_build *b;
    hn_nfa nfa;
    const char *what;
    const uint8_t *text, *at, *end;
    int64_t depth;
} reader;

static void refuse(reader *r, hn_status code, const char *words)
{
    if (r->b->status == HN_OK)
        hn_build_fail(r->b, hn_fail(code, "%s: byte %td of pattern \"%.*s\": %s", r->what, r->at - r->text,
                                    r->end - r->text > 100 ? 100 : (int)(r->end - r->text), (const char *)r->text, words));
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

static uint32_t next_char(reader *r)
{
    uint32_t code = 0;
    r->at += hn_char_at(r->at, r->end, &code);
    if (code == HN_BAD_CHAR)
        refuse(r, HN_ERR_FORMAT, "expected UTF-8");
    return code;
}

static piece new_piece(reader *r)
{
    const uint32_t begin = hn_nfa_state(r->b, &r->nfa);
    return (piece){ begin, hn_nfa_state(r->b, &r->nfa) };
}

static void link_by(reader *r, hn_step_kind kind, uint32_t from, uint32_t to)
{
    hn_nfa_add(r->b, &r->nfa, (hn_nfa_step){ .kind = kind, .from = from, .to = to });
}

static void join(reader *r, uint32_t from, uint32_t to) { link_by(r, HN_STEP_EMPTY, from, to); }

/* ---- classes ---- */

static void add_space(hn_ranges *set)
{
    static const hn_range space[] = { { 9, 13 },         { 32, 32 },         { 0xa0, 0xa0 },     { 0x1680, 0x1680 }, { 0x2000, 0x200a },
                                      { 0x2028, 0x2029 }, { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 }, { 0xfeff, 0xfeff } };
    hn_ranges_add_all(set, space, HN_COUNT(space));
}

static void add_word(hn_ranges *set)
{
    static const hn_range word[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
    hn_ranges_add_all(set, word, HN_COUNT(word));
}

static void add_outside(hn_ranges *to, hn_ranges *set)
{
    hn_ranges_invert(set);
    hn_ranges_add_all(to, set->at, set->n);
    if (set->status != HN_OK)
        to->status = set->status;
}

/* \p{...}, of which \p was read. */
static void read_property(reader *r, hn_ranges *set)
{
    static const char *const prefixes[] = { "Script=", "sc=", "General_Category=", "gc=" };
    if (!skip(r, "{")) {
        refuse(r, HN_ERR_FORMAT, "expected { after \\p");
        return;
    }
    for (size_t i = 0; i < HN_COUNT(prefixes) && !skip(r, prefixes[i]); i++)
        ;
    const uint8_t *name = r->at, *end = memchr(r->at, '}', (size_t)(r->end - r->at));
    if (!end || !hn_unicode_add_property(set, (const char *)name, (size_t)(end - name)))
        refuse(r, end ? HN_ERR_UNSUPPORTED : HN_ERR_FORMAT, end ? "a property of characters that is not known" : "expected }");
    else
        r->at = end + 1;
}

/* \d and its like; false: it is no class. */
static bool read_class_escape(reader *r, hn_ranges *to)
{
    hn_ranges set = hn_ranges_on(r->b->heap);
    const uint8_t c = r->at < r->end ? *r->at : 0;
    if (!c || !strchr("dDsSwWpP", c))
        return false;
    r->at++;
    if (c == 'd' || c == 'D')
        hn_ranges_add(&set, '0', '9');
    else if (c == 's' || c == 'S')
        add_space(&set);
    else if (c == 'w' || c == 'W')
        add_word(&set);
    else
        read_property(r, &set);
    if (c < 'a')
        add_outside(to, &set);
    else
        hn_ranges_add_all(to, set.at, set.n);
    if (set.status != HN_OK)
        to->status = set.status;
    hn_ranges_free(&set);
    return true;
}

/* Hexadecimal digits, n of them, or up to } with n = 0. */
static uint32_t read_hex(reader *r, int n)
{
    uint32_t code = 0;
    int read = 0;
    for (; r->at < r->end && (n ? read < n : read < 6); read++, r->at++) {
        const uint8_t c = *r->at, lower = c | 0x20;
        if (c >= '0' && c <= '9')
            code = code << 4 | (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            code = code << 4 | (uint32_t)(lower - 'a' + 10);
        else
            break;
    }
    if (!read || (n && read != n) || code > HN_LAST_CHAR)
        refuse(r, HN_ERR_FORMAT, "expected hexadecimal digits of a character");
    return code;
}

static uint32_t read_unicode(reader *r)
{
    if (skip(r, "{")) {
        const uint32_t code = read_hex(r, 0);
        if (!skip(r, "}"))
            refuse(r, HN_ERR_FORMAT, "expected }");
        return code;
    }
    const uint32_t code = read_hex(r, 4);
    if (code < 0xd800 || code > 0xdbff || !looking_at(r, "\\u"))
        return code;
    r->at += 2;
    const uint32_t low = read_hex(r, 4);
    if (low < 0xdc00 || low > 0xdfff)
        refuse(r, HN_ERR_FORMAT, "expected the second half of a character");
    return 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
}

/* An escape that is one character, of which \ was read. */
static uint32_t read_escape(reader *r, bool in_class)
{
    static const char letters[] = "tnvfr", codes[] = "\t\n\v\f\r";
    if (r->at == r->end) {
        refuse(r, HN_ERR_FORMAT, "nothing after \\");
        return 0;
    }
    const uint8_t c = *r->at;
    const char *simple = strchr(letters, c);
    if (c >= 0x80)
        return next_char(r);
    if (c == 'b' && !in_class)
        refuse(r, HN_ERR_UNSUPPORTED, "\\b, a boundary of words, is not supported");
    else if (c == 'B')
        refuse(r, HN_ERR_UNSUPPORTED, "\\B, no boundary of words, is not supported");
    else if ((c >= '1' && c <= '9') || c == 'k')
        refuse(r, HN_ERR_UNSUPPORTED, "a backreference is not supported");
    r->at += r->at < r->end;
    if (simple && c)
        return (uint32_t)codes[simple - letters];
    if (c == 'b')
        return '\b';
    if (c == '0')
        return 0;
    if (c == 'x')
        return read_hex(r, 2);
    if (c == 'u')
        return read_unicode(r);
    if (c == 'c' && r->at < r->end && ((*r->at | 0x20) >= 'a' && (*r->at | 0x20) <= 'z'))
        return *r->at++ & 31u;
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
        refuse(r, HN_ERR_UNSUPPORTED, "an escape that is not known");
    return c;
}

/* One end of a range; false: a class of characters, which was added. */
static bool read_class_char(reader *r, hn_ranges *set, uint32_t *code)
{
    if (!skip(r, "\\")) {
        *code = next_char(r);
        return true;
    }
    if (read_class_escape(r, set))
        return false;
    *code = read_escape(r, true);
    return true;
}

/* [...], of which [ was read. */
static void read_class(reader *r, hn_ranges *to)
{
    hn_ranges set = hn_ranges_on(r->b->heap);
    const bool is_inverted = skip(r, "^");
    while (r->at < r->end && *r->at != ']') {
        uint32_t low = 0, high;
        if (!read_class_char(r, &set, &low))
            continue;
        high = low;
        if (looking_at(r, "-") && r->end - r->at > 1 && r->at[1] != ']') {
            r->at++;
            if (!read_class_char(r, &set, &high)) {
                hn_ranges_add(&set, '-', '-');
                high = low;
            }
            if (high < low)
                refuse(r, HN_ERR_FORMAT, "a range of characters ends before it begins");
        }
        hn_ranges_add(&set, low, high);
    }
    if (!skip(r, "]"))
        refuse(r, HN_ERR_FORMAT, "expected ]");
    if (is_inverted)
        hn_ranges_invert(&set);
    hn_ranges_add_all(to, set.at, set.n);
    if (set.status != HN_OK)
        to->status = set.status;
    hn_ranges_free(&set);
}

static void add_set(reader *r, piece p, hn_ranges *set)
{
    hn_ranges_settle(set);
    if (set->status != HN_OK)
        hn_build_fail(r->b, set->status);
    for (size_t i = 0; i < set->n; i++) {
        const hn_range at = set->at[i];
        if (at.low <= HN_LAST_CHAR)
            hn_nfa_add(r->b, &r->nfa, (hn_nfa_step){ HN_STEP_CHARS, p.begin, at.low, at.high < HN_LAST_CHAR ? at.high : HN_LAST_CHAR, p.end });
    }
}

/* ---- pieces ---- */

static piece read_either(reader *r);

static piece read_group(reader *r)
{
    static const char *const refused[][2] = { { "?=", "a lookahead is not supported" },
                                              { "?!", "a lookahead is not supported" },
                                              { "?<=", "a lookbehind is not supported" },
                                              { "?<!", "a lookbehind is not supported" },
                                              { "?>", "an atomic group is not supported" } };
    for (size_t i = 0; i < HN_COUNT(refused); i++)
        if (looking_at(r, refused[i][0]))
            refuse(r, HN_ERR_UNSUPPORTED, refused[i][1]);
    if (skip(r, "?<") || skip(r, "?P<")) {
        const uint8_t *end = memchr(r->at, '>', (size_t)(r->end - r->at));
        if (end)
            r->at = end + 1;
        else
            refuse(r, HN_ERR_FORMAT, "expected > after a group's name");
    } else if (!skip(r, "?:") && looking_at(r, "?")) {
        refuse(r, HN_ERR_UNSUPPORTED, "a group with flags is not supported");
    }
    const piece p = read_either(r);
    if (!skip(r, ")"))
        refuse(r, HN_ERR_FORMAT, "expected )");
    return p;
}

static piece read_atom(reader *r)
{
    if (skip(r, "("))
        return read_group(r);
    const piece p = new_piece(r);
    hn_ranges set = hn_ranges_on(r->b->heap);
    if (skip(r, "^"))
        link_by(r, HN_STEP_AT_BEGIN, p.begin, p.end);
    else if (skip(r, "$"))
        link_by(r, HN_STEP_AT_END, p.begin, p.end);
    else if (skip(r, "["))
        read_class(r, &set);
    else if (skip(r, ".")) {
        static const hn_range lines[] = { { 0, 9 }, { 11, 12 }, { 14, 0x2027 }, { 0x202a, HN_LAST_CHAR } };
        hn_ranges_add_all(&set, lines, HN_COUNT(lines));
    } else if (skip(r, "\\")) {
        if (!read_class_escape(r, &set)) {
            const uint32_t code = read_escape(r, false);
            hn_ranges_add(&set, code, code);
        }
    } else if (*r->at == '*' || *r->at == '+' || *r->at == '?') {
        refuse(r, HN_ERR_FORMAT, "nothing to repeat");
    } else {
        const uint32_t code = next_char(r);
        hn_ranges_add(&set, code, code);
    }
    add_set(r, p, &set);
    hn_ranges_free(&set);
    return p;
}

typedef struct counts {
    int64_t least, most; /* most < 0: any number */
} counts;

static bool read_number(reader *r, const uint8_t **at, int64_t *out)
{
    const uint8_t *from = *at;
    for (*out = 0; *at < r->end && **at >= '0' && **at <= '9'; ++*at)
        *out = *out < INT32_MAX ? *out * 10 + (**at - '0') : *out;
    return *at > from;
}

/* {m}, {m,}, {m,n}; anything else is text. */
static bool read_braces(reader *r, counts *c)
{
    const uint8_t *at = r->at + 1;
    if (!looking_at(r, "{") || !read_number(r, &at, &c->least))
        return false;
    c->most = c->least;
    if (at < r->end && *at == ',') {
        at++;
        if (!read_number(r, &at, &c->most))
            c->most = -1;
    }
    if (at == r->end || *at != '}')
        return false;
    r->at = at + 1;
    if (c->most >= 0 && c->most < c->least)
        refuse(r, HN_ERR_FORMAT, "a repetition of at least more than at most");
    if (c->least > r->b->limits.repetition || c->most > r->b->limits.repetition)
        refuse(r, HN_ERR_UNSUPPORTED, "a repetition beyond the limit");
    return true;
}

static bool read_counts(reader *r, counts *c)
{
    if (skip(r, "*"))
        *c = (counts){ 0, -1 };
    else if (skip(r, "+"))
        *c = (counts){ 1, -1 };
    else if (skip(r, "?"))
        *c = (counts){ 0, 1 };
    else if (!read_braces(r, c))
        return false;
    if (!skip(r, "?") && looking_at(r, "+"))
        refuse(r, HN_ERR_UNSUPPORTED, "a possessive repetition is not supported");
    return true;
}

static piece copy(reader *r, piece p, size_t steps, size_t n_steps, uint32_t states, uint32_t n_states)
{
    const uint32_t more = r->nfa.n_states - states;
    for (uint32_t i = 0; i < n_states; i++)
        hn_nfa_state(r->b, &r->nfa);
    for (size_t i = 0; i < n_steps && r->b->status == HN_OK; i++) {
        hn_nfa_step step = r->nfa.steps[steps + i];
        step.from += more;
        step.to += more;
        hn_nfa_add(r->b, &r->nfa, step);
    }
    return (piece){ p.begin + more, p.end + more };
}

static piece read_repeated(reader *r)
{
    const size_t steps = r->nfa.n;
    const uint32_t states = r->nfa.n_states;
    const piece once = read_atom(r);
    const size_t n_steps = r->nfa.n - steps;
    const uint32_t n_states = r->nfa.n_states - states;
    counts c;
    if (!read_counts(r, &c))
        return once;
    const piece all = new_piece(r);
    const int64_t n = c.most < 0 ? (c.least ? c.least : 1) : c.most;
    uint32_t at = all.begin;
    if (!c.least)
        join(r, at, all.end);
    for (int64_t i = 1; i <= n && r->b->status == HN_OK; i++) {
        const piece p = i == n ? once : copy(r, once, steps, n_steps, states, n_states);
        join(r, at, p.begin);
        at = p.end;
        if (i >= c.least)
            join(r, at, all.end);
        if (i == n && c.most < 0)
            join(r, at, p.begin);
    }
    return all;
}

static piece read_chain(reader *r)
{
    const piece all = new_piece(r);
    uint32_t at = all.begin;
    while (r->at < r->end && *r->at != '|' && *r->at != ')') {
        const piece p = read_repeated(r);
        join(r, at, p.begin);
        at = p.end;
    }
    join(r, at, all.end);
    return all;
}

static piece read_either(reader *r)
{
    const piece all = new_piece(r);
    if (++r->depth > r->b->limits.depth)
        refuse(r, HN_ERR_UNSUPPORTED, "groups nest deeper than the limit");
    do {
        const piece p = read_chain(r);
        join(r, all.begin, p.begin);
        join(r, p.end, all.end);
    } while (skip(r, "|"));
    r->depth--;
    return all;
}

void hn_automaton_of_pattern(hn_build *b, const char *what, const char *pattern, size_t bytes, hn_anchoring anchoring,
                             hn_automaton *out)
{
    reader r = { .b = b, .what = what, .text = (const uint8_t *)pattern, .at = (const uint8_t *)pattern,
                 .end = (const uint8_t *)pattern + bytes };
    *out = (hn_automaton){ 0 };
    piece p = read_either(&r);
    if (r.at < r.end)
        refuse(&r, HN_ERR_FORMAT, "a ) that closes nothing");
    const piece all = new_piece(&r);
    if (anchoring == HN_ANYWHERE)
        for (int i = 0; i < 2; i++) {
            const uint32_t at = i ? all.end : all.begin;
            hn_nfa_add(b, &r.nfa, (hn_nfa_step){ HN_STEP_CHARS, at, 0, HN_LAST_CHAR, at });
        }
    join(&r, all.begin, p.begin);
    join(&r, p.end, all.end);
    r.nfa.begin = all.begin;
    r.nfa.end = all.end;
    hn_automaton_from_nfa(b, &r.nfa, out);
    hn_nfa_free(b, &r.nfa);
}
