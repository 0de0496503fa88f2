/* yaml_kind: which plain scalars are no texts, by the patterns of YAML 1.1 as PyYAML has them.
 */
#include "base/yaml_make.h"

#include <string.h>

static const char *digits(const char *at, const char *set) { return at + strspn(at, set); }

static const char *sign(const char *at) { return at + (*at == '-' || *at == '+'); }

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(text, *words))
            return true;
    return false;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ":59", once or more; NULL if there is none. */
static const char *sixtieths(const char *at)
{
    const char *begin = at;
    while (*at == ':' && is_digit(at[1]))
        at += at[1] <= '5' && is_digit(at[2]) ? 3 : 2;
    return at == begin ? NULL : at;
}

static bool is_integer(const char *text)
{
    const char *at = sign(text), *end;
    if (at[0] == '0' && at[1] == 'b')
        return at[2] && !*digits(at + 2, "01_");
    if (at[0] == '0' && at[1] == 'x')
        return at[2] && !*digits(at + 2, "0123456789abcdefABCDEF_");
    if (at[0] == '0')
        return !*digits(at + 1, "01234567_");
    if (!is_digit(*at))
        return false;
    end = digits(at, "0123456789_");
    if (!*end)
        return true;
    end = sixtieths(end);
    return end && !*end;
}

static bool is_float(const char *text)
{
    static const char *const infinite[] = { ".inf", ".Inf", ".INF", NULL };
    static const char *const not_a_number[] = { ".nan", ".NaN", ".NAN", NULL };
    const char *at = sign(text), *end;
    if (is_one_of(at, infinite) || is_one_of(text, not_a_number))
        return true;
    if (is_digit(*at)) {
        end = digits(at, "0123456789_");
        const char *after = sixtieths(end);
        if (after)
            return *after == '.' && !*digits(after + 1, "0123456789_");
        if (*end != '.')
            return false;
        end = digits(end + 1, "0123456789_");
    } else if (text[0] == '.' && is_digit(text[1])) { /* without a sign */
        end = digits(text + 1, "0123456789_");
    } else {
        return false;
    }
    if ((*end == 'e' || *end == 'E') && (end[1] == '-' || end[1] == '+') && is_digit(end[2]))
        end = digits(end + 2, "0123456789");
    return !*end;
}

/* `least` to `most` digits; NULL otherwise. */
static const char *number(const char *at, int least, int most)
{
    int n = 0;
    if (!at)
        return NULL;
    while (n < most && is_digit(at[n]))
        n++;
    return n >= least ? at + n : NULL;
}

static const char *literal(const char *at, char c) { return at && *at == c ? at + 1 : NULL; }

static bool is_date(const char *text)
{
    const char *at = number(literal(number(literal(number(text, 4, 4), '-'), 2, 2), '-'), 2, 2);
    if (at && !*at)
        return true;
    at = number(literal(number(literal(number(text, 4, 4), '-'), 1, 2), '-'), 1, 2);
    if (!at || !*at || !strchr("Tt \t", *at))
        return false;
    at = *at == 'T' || *at == 't' ? at + 1 : at + strspn(at, " \t");
    at = number(literal(number(literal(number(at, 1, 2), ':'), 2, 2), ':'), 2, 2);
    if (!at)
        return false;
    if (*at == '.')
        at = digits(at + 1, "0123456789");
    if (!*at)
        return true;
    at += strspn(at, " \t");
    if (*at == 'Z')
        return !at[1];
    if (*at != '-' && *at != '+')
        return false;
    at = number(at + 1, 1, 2);
    if (at && *at == ':')
        at = number(at + 1, 2, 2);
    return at && !*at;
}

static hn_yaml_tag tag_of(const char *text)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    static const char *const truths[] = { "yes",   "Yes",   "YES",  "no",   "No",
                                          "NO",    "true",  "True", "TRUE", "false",
                                          "False", "FALSE", "on",   "On",   "ON",
                                          "off",   "Off",   "OFF",  NULL };
    return is_one_of(text, nulls)    ? HN_YAML_TAG_NULL
           : is_one_of(text, truths) ? HN_YAML_TAG_BOOL
           : is_float(text)          ? HN_YAML_TAG_FLOAT
           : is_integer(text)        ? HN_YAML_TAG_INT
           : is_date(text)           ? HN_YAML_TAG_TIMESTAMP
           : !strcmp(text, "<<")     ? HN_YAML_TAG_MERGE
           : !strcmp(text, "=")      ? HN_YAML_TAG_VALUE
                                     : HN_YAML_TAG_STR;
}

/* Python's `$` matches before a last line break too, which a text behind "!" may have. */
hn_yaml_tag hn_yaml_resolve(char *text, size_t bytes)
{
    if (memchr(text, 0, bytes))
        return HN_YAML_TAG_STR;
    if (bytes < 2 || text[bytes - 1] != '\n')
        return tag_of(text);
    text[bytes - 1] = '\0';
    const hn_yaml_tag tag = tag_of(text);
    text[bytes - 1] = '\n';
    return tag;
}
