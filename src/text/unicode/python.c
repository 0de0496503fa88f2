/* Searches in python_tables.h, which tools/reference/templates_unicode.py makes of what Python itself answers. */
#include "text/unicode/python.h"

#include "text/unicode/python_tables.h"

typedef struct class_table {
    const uint16_t *runs;
    size_t n;
} class_table;

#define TABLE(runs)                                                                            \
    {                                                                                          \
        runs, sizeof runs / sizeof *runs                                                       \
    }
static const class_table classes[HN_TPL_N_CLASSES] = {
    [HN_TPL_ALPHA] = TABLE(alpha_runs),
    [HN_TPL_ALNUM] = TABLE(alnum_runs),
    [HN_TPL_DIGIT] = TABLE(digit_runs),
    [HN_TPL_DECIMAL] = TABLE(decimal_runs),
    [HN_TPL_NUMERIC] = TABLE(numeric_runs),
    [HN_TPL_SPACE] = TABLE(space_runs),
    [HN_TPL_PRINTABLE] = TABLE(printable_runs),
    [HN_TPL_LOWER] = TABLE(lower_runs),
    [HN_TPL_UPPER] = TABLE(upper_runs),
    [HN_TPL_TITLE] = TABLE(title_runs),
    [HN_TPL_CASE_IGNORABLE] = TABLE(ignorable_runs),
};

static bool ascii_is_in(hn_tpl_class set, uint32_t c)
{
    const bool digit = c >= '0' && c <= '9', lower = c >= 'a' && c <= 'z',
               upper = c >= 'A' && c <= 'Z';
    switch (set) {
    case HN_TPL_ALPHA:
        return lower || upper;
    case HN_TPL_ALNUM:
        return lower || upper || digit;
    case HN_TPL_DIGIT:
    case HN_TPL_DECIMAL:
    case HN_TPL_NUMERIC:
        return digit;
    case HN_TPL_SPACE:
        return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20);
    case HN_TPL_PRINTABLE:
        return c >= 0x20 && c < 0x7f;
    case HN_TPL_LOWER:
        return lower;
    case HN_TPL_UPPER:
        return upper;
    case HN_TPL_CASE_IGNORABLE:
        return c == '\'' || c == '.' || c == ':' || c == '^' || c == '`';
    default:
        return false;
    }
}

bool hn_tpl_is_in(hn_tpl_class set, uint32_t code)
{
    if (code < 128)
        return ascii_is_in(set, code);
    const class_table *t = &classes[set];
    uint32_t at = 128;
    for (size_t i = 0; i + 1 < t->n; i += 2) {
        at += t->runs[i];
        if (code < at)
            return false;
        at += t->runs[i + 1];
        if (code < at)
            return true;
    }
    return false;
}

typedef struct case_table {
    const case_run *runs;
    size_t n_runs;
    const case_many *many;
    size_t n_many;
} case_table;

#define CASES(name)                                                                            \
    {                                                                                          \
        name##_runs, sizeof name##_runs / sizeof *name##_runs, name##_many,                    \
            sizeof name##_many / sizeof *name##_many                                           \
    }
static const case_table cases[] = {
    [HN_TPL_TO_LOWER] = CASES(to_lower),
    [HN_TPL_TO_UPPER] = CASES(to_upper),
    [HN_TPL_TO_TITLE] = CASES(to_title),
    [HN_TPL_TO_FOLD] = CASES(to_fold),
};

int hn_tpl_change_case(hn_tpl_case to, uint32_t code, uint32_t out[3])
{
    out[0] = code;
    if (code < 128) {
        const bool up = to == HN_TPL_TO_UPPER || to == HN_TPL_TO_TITLE;
        if (up && code >= 'a' && code <= 'z')
            out[0] = code - 32;
        if (!up && code >= 'A' && code <= 'Z')
            out[0] = code + 32;
        return 1;
    }
    const case_table *t = &cases[to];
    for (size_t low = 0, high = t->n_runs; low < high;) {
        const size_t middle = (low + high) / 2;
        const case_run *run = &t->runs[middle];
        if (code > run->last) {
            low = middle + 1;
        } else if (code < run->first) {
            high = middle;
        } else {
            if ((code - run->first) % (uint32_t)run->step)
                break;
            out[0] = (uint32_t)((int32_t)code + run->difference);
            return 1;
        }
    }
    for (size_t i = 0; i < t->n_many; i++) {
        if (t->many[i].from != code)
            continue;
        int n = 0;
        for (; n < 3 && t->many[i].to[n]; n++)
            out[n] = t->many[i].to[n];
        return n;
    }
    return 1;
}

uint32_t hn_tpl_code_at(const char *text, size_t *bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) {
        *bytes = 1;
        return s[0];
    }
    const int n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint32_t code = s[0] & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++)
        code = code << 6 | (s[i] & 0x3f);
    *bytes = (size_t)n;
    return code;
}

uint32_t hn_tpl_code_before(const char *text, size_t at, size_t *bytes)
{
    size_t start = at - 1;
    while (start && ((unsigned char)text[start] & 0xc0) == 0x80)
        start--;
    return hn_tpl_code_at(text + start, bytes);
}
