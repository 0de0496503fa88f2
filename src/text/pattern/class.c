/* regex_class: what stands for one character: escapes, properties, [...] with sets in sets. */
#include "text/pattern/tree.h"
#include "text/unicode/unicode.h"

#include <string.h>

hn_status hn_regex_refuse(const hn_regex_reader *r, hn_status code, const char *what)
{
    const long at = (long)((const char *)r->at - r->pattern);
    const int shown = (int)((const char *)r->end - r->pattern);
    return hn_fail(code, "regex %.*s: at byte %ld: %s", shown > 200 ? 200 : shown, r->pattern,
                   at, what);
}

static hn_status read_property(hn_regex_reader *r, hn_ranges *set, bool is_negative)
{
    if (r->at == r->end || *r->at != '{')
        return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "\\p without braces");
    r->at++;
    if (r->at < r->end && *r->at == '^') {
        is_negative = !is_negative;
        r->at++;
    }
    const uint8_t *close = memchr(r->at, '}', (size_t)(r->end - r->at));
    if (!close)
        return hn_regex_refuse(r, HN_ERR_FORMAT, "\\p{ without }");
    hn_ranges members = hn_ranges_on(set->heap);
    const size_t bytes = (size_t)(close - r->at);
    if (!hn_unicode_add_property(&members, (const char *)r->at, bytes)) {
        const hn_status status = hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "unknown property");
        return hn_fail_within(status, "\\p{%.*s}: ", bytes > 40 ? 40 : (int)bytes,
                              (const char *)r->at);
    }
    if (is_negative)
        hn_ranges_invert(&members);
    hn_ranges_add_all(set, members.at, members.n);
    if (members.status != HN_OK)
        set->status = members.status;
    hn_ranges_free(&members);
    r->at = close + 1;
    return HN_OK;
}

static void add_known(hn_ranges *set, hn_unicode_set which, bool is_negative)
{
    hn_ranges members = hn_ranges_on(set->heap);
    hn_unicode_add_set(&members, which);
    if (is_negative)
        hn_ranges_invert(&members);
    hn_ranges_add_all(set, members.at, members.n);
    if (members.status != HN_OK)
        set->status = members.status;
    hn_ranges_free(&members);
}

/* `least` to `most` hexadecimal digits. */
static hn_status read_hex(hn_regex_reader *r, int least, int most, uint32_t *out)
{
    int n = 0;
    *out = 0;
    for (; n < most && r->at < r->end; n++, r->at++) {
        const uint8_t c = *r->at, low = c | 0x20;
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && (low < 'a' || low > 'f'))
            break;
        *out = *out << 4 | (uint32_t)(is_digit ? c - '0' : low - 'a' + 10);
    }
    if (n < least || *out > 0x10ffff)
        return hn_regex_refuse(r, HN_ERR_FORMAT, "expected a code point in hexadecimal");
    return HN_OK;
}

static hn_status read_code(hn_regex_reader *r, uint8_t kind, uint32_t *out)
{
    if (kind == 'u')
        return read_hex(r, 4, 4, out);
    if (r->at == r->end || *r->at != '{')
        return read_hex(r, 1, 2, out);
    r->at++;
    HN_TRY(read_hex(r, 1, 6, out));
    if (r->at == r->end || *r->at != '}')
        return hn_regex_refuse(r, HN_ERR_FORMAT, "expected }");
    r->at++;
    return HN_OK;
}

hn_status hn_regex_read_escape(hn_regex_reader *r, hn_ranges *set, bool in_class)
{
    if (r->at == r->end)
        return hn_regex_refuse(r, HN_ERR_FORMAT, "\\ at the end");
    const uint8_t c = *r->at++;
    static const char from[] = "rntfvae0", to[] = "\r\n\t\f\v\a\033";
    const char *simple = memchr(from, c, sizeof from - 1);
    uint32_t code = 0;
    switch (c) {
    case 'p':
    case 'P':
        return read_property(r, set, c == 'P');
    case 's':
    case 'S':
        add_known(set, HN_SET_SPACE, c == 'S');
        return HN_OK;
    case 'd':
    case 'D':
        add_known(set, HN_SET_DIGIT, c == 'D');
        return HN_OK;
    case 'w':
    case 'W':
        add_known(set, HN_SET_WORD, c == 'W');
        return HN_OK;
    case 'x':
    case 'u':
        HN_TRY(read_code(r, c, &code));
        hn_ranges_add(set, code, code);
        return HN_OK;
    default:
        break;
    }
    if (c == '0' && r->at < r->end && *r->at >= '0' && *r->at <= '7')
        return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "octal escape");
    if (simple) {
        code = (uint8_t)to[simple - from];
    } else if (c >= 0x80) {
        r->at--;
        r->at += hn_char_at(r->at, r->end, &code);
    } else {
        const uint8_t low = c | 0x20;
        if ((low >= 'a' && low <= 'z') || (c >= '0' && c <= '9')) {
            r->at--;
            return hn_regex_refuse(r, HN_ERR_UNSUPPORTED,
                                   in_class ? "unknown escape in [...]" : "unknown escape");
        }
        code = c;
    }
    hn_ranges_add(set, code, code);
    return HN_OK;
}

/* One character or class of [...]; *single: it is one character, which may begin a range. */
static hn_status read_item(hn_regex_reader *r, hn_ranges *set, bool *single, uint32_t *code)
{
    hn_ranges item = hn_ranges_on(set->heap);
    hn_status status = HN_OK;
    if (*r->at == '\\') {
        r->at++;
        status = hn_regex_read_escape(r, &item, true);
    } else {
        uint32_t c;
        r->at += hn_char_at(r->at, r->end, &c);
        hn_ranges_add(&item, c, c);
    }
    *single = item.n == 1 && item.at[0].low == item.at[0].high;
    if (*single)
        *code = item.at[0].low;
    else
        hn_ranges_add_all(set, item.at, item.n);
    if (item.status != HN_OK)
        set->status = item.status;
    hn_ranges_free(&item);
    return status;
}

static hn_status read_range(hn_regex_reader *r, hn_ranges *set)
{
    bool single = false, closes = false;
    uint32_t low = 0, high = 0;
    HN_TRY(read_item(r, set, &single, &low));
    if (!single)
        return HN_OK;
    const bool is_range = r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']' &&
                          r->at[1] != '[' &&
                          !(r->at[1] == '&' && r->end - r->at > 2 && r->at[2] == '&');
    if (!is_range) {
        hn_ranges_add(set, low, low);
        return HN_OK;
    }
    r->at++;
    HN_TRY(read_item(r, set, &closes, &high));
    if (!closes || high < low)
        return hn_regex_refuse(r, HN_ERR_FORMAT, "a range in [...] that does not ascend");
    hn_ranges_add(set, low, high);
    return HN_OK;
}

static hn_status read_nested(hn_regex_reader *r, hn_ranges *set)
{
    r->at++;
    if (r->at < r->end && *r->at == ':')
        return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "[: :] in [...]");
    hn_ranges inner = hn_ranges_on(set->heap);
    const hn_status status = hn_regex_read_class(r, &inner);
    hn_ranges_add_all(set, inner.at, inner.n);
    if (inner.status != HN_OK)
        set->status = inner.status;
    hn_ranges_free(&inner);
    return status;
}

/* Up to ']' or "&&", which stays. */
static hn_status read_union(hn_regex_reader *r, hn_ranges *set)
{
    for (bool first = true; r->at < r->end; first = false) {
        if (*r->at == ']' && !first)
            return HN_OK;
        if (*r->at == '&' && r->end - r->at > 1 && r->at[1] == '&')
            return HN_OK;
        if (*r->at == ']')
            return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "] as the first of [...]");
        if (*r->at == '[')
            HN_TRY(read_nested(r, set));
        else
            HN_TRY(read_range(r, set));
    }
    return hn_regex_refuse(r, HN_ERR_FORMAT, "[ without ]");
}

hn_status hn_regex_read_class(hn_regex_reader *r, hn_ranges *set)
{
    if (++r->depth > HN_RE_MAX_DEPTH)
        return hn_regex_refuse(r, HN_ERR_UNSUPPORTED, "nested too deeply");
    const bool is_negative = r->at < r->end && *r->at == '^';
    r->at += is_negative;
    HN_TRY(read_union(r, set));
    while (*r->at == '&') {
        r->at += 2;
        hn_ranges other = hn_ranges_on(set->heap);
        const hn_status status = read_union(r, &other);
        if (status == HN_OK)
            hn_ranges_intersect(set, &other);
        hn_ranges_free(&other);
        HN_TRY(status);
    }
    r->at++;
    r->depth--;
    if (is_negative)
        hn_ranges_invert(set);
    hn_ranges_settle(set);
    return HN_OK;
}
