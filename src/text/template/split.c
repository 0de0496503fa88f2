/* str's methods that strip, split and ask what characters there are. Parts share the text's
 * bytes: nothing is copied. */
#include "text/template/fn.h"
#include "text/unicode/python.h"

#include <string.h>

static hn_tval part(const hn_tpl_call *c, size_t begin, size_t end)
{
    hn_tval v = hn_tv_part(c->self.as.text, begin, end);
    v.is_markup = c->self.is_markup;
    return v;
}

static bool is_among(uint32_t code, const hn_tval *chars)
{
    if (chars->kind != HN_TV_TEXT)
        return hn_tpl_is_in(HN_TPL_SPACE, code);
    const hn_tpl_text set = chars->as.text;
    for (size_t i = 0, n = 0; i < set.bytes; i += n)
        if (hn_tpl_code_at(set.text + i, &n) == code)
            return true;
    return false;
}

static hn_status strip(hn_tpl_run *r, hn_tpl_call *c, int sides, hn_tval *out)
{
    const hn_tpl_text text = c->self.as.text;
    const hn_tval *chars = &c->slots[0];
    size_t begin = 0, end = text.bytes, n = 0;
    HN_REQUIRE(chars->kind == HN_TV_MISSING || chars->kind == HN_TV_NONE ||
                   chars->kind == HN_TV_TEXT,
               HN_ERR_FORMAT, "%s arg must be None or str", c->name);
    for (; (sides & 1) && begin < end; begin += n)
        if (!is_among(hn_tpl_code_at(text.text + begin, &n), chars))
            break;
    for (; (sides & 2) && end > begin; end -= n)
        if (!is_among(hn_tpl_code_before(text.text, end, &n), chars))
            break;
    *out = part(c, begin, end);
    const size_t set = chars->kind == HN_TV_TEXT ? chars->as.text.bytes : 1;
    return hn_tpl_charge(r, (text.bytes - (end - begin)) * (set + 1));
}

static hn_status str_strip(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return strip(r, c, 3, out);
}

static hn_status str_lstrip(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return strip(r, c, 1, out);
}

static hn_status str_rstrip(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return strip(r, c, 2, out);
}

static hn_status add_part(hn_tpl_run *r, const hn_tpl_call *c, size_t begin, size_t end,
                          hn_tval *out)
{
    const hn_tval one = part(c, begin, end);
    return hn_tv_list_add(r, out->as.list, &one);
}

static void reverse(hn_tpl_list *list)
{
    for (size_t i = 0; i < list->n / 2; i++) {
        const hn_tval other = list->at[i];
        list->at[i] = list->at[list->n - 1 - i];
        list->at[list->n - 1 - i] = other;
    }
}

static hn_status split_space(hn_tpl_run *r, hn_tpl_call *c, int64_t most, hn_tval *out)
{
    const hn_tpl_text text = c->self.as.text;
    for (size_t at = 0, n = 0; at < text.bytes;) {
        if (hn_tpl_is_in(HN_TPL_SPACE, hn_tpl_code_at(text.text + at, &n))) {
            at += n;
            continue;
        }
        size_t end = at;
        while (end < text.bytes &&
               !hn_tpl_is_in(HN_TPL_SPACE, hn_tpl_code_at(text.text + end, &n)))
            end += n;
        if (most-- == 0) /* the rest, with the space at its end */
            end = text.bytes;
        HN_TRY(add_part(r, c, at, end, out));
        at = end;
    }
    return HN_OK;
}

static hn_status rsplit_space(hn_tpl_run *r, hn_tpl_call *c, int64_t most, hn_tval *out)
{
    const hn_tpl_text text = c->self.as.text;
    for (size_t end = text.bytes, n = 0; end;) {
        if (hn_tpl_is_in(HN_TPL_SPACE, hn_tpl_code_before(text.text, end, &n))) {
            end -= n;
            continue;
        }
        size_t at = end;
        while (at && !hn_tpl_is_in(HN_TPL_SPACE, hn_tpl_code_before(text.text, at, &n)))
            at -= n;
        if (most-- == 0)
            at = 0;
        HN_TRY(add_part(r, c, at, end, out));
        end = at;
    }
    reverse(out->as.list);
    return HN_OK;
}

static size_t find_from(hn_tpl_text text, hn_tpl_text what, size_t at)
{
    for (; at + what.bytes <= text.bytes; at++)
        if (text.text[at] == what.text[0] && !memcmp(text.text + at, what.text, what.bytes))
            return at;
    return SIZE_MAX;
}

static size_t find_back(hn_tpl_text text, hn_tpl_text what, size_t end)
{
    for (; end >= what.bytes; end--)
        if (!memcmp(text.text + end - what.bytes, what.text, what.bytes))
            return end - what.bytes;
    return SIZE_MAX;
}

static hn_status split(hn_tpl_run *r, hn_tpl_call *c, bool from_right, hn_tval *out)
{
    int64_t most = -1;
    const hn_tpl_text text = c->self.as.text;
    HN_TRY(hn_tpl_want_int(c, 1, -1, &most));
    most = most < 0 ? INT64_MAX : most;
    HN_TRY(hn_tv_list_new(r, HN_TV_LIST, out));
    HN_TRY(hn_tpl_charge(r, text.bytes));
    if (c->slots[0].kind == HN_TV_MISSING || c->slots[0].kind == HN_TV_NONE)
        return from_right ? rsplit_space(r, c, most, out) : split_space(r, c, most, out);
    HN_REQUIRE(c->slots[0].kind == HN_TV_TEXT, HN_ERR_FORMAT, "must be str or None, not %s",
               hn_tv_type(&c->slots[0]));
    const hn_tpl_text what = c->slots[0].as.text;
    HN_REQUIRE(what.bytes, HN_ERR_FORMAT, "empty separator");
    size_t begin = 0, end = text.bytes;
    for (; !from_right && most > 0; most--) {
        const size_t at = find_from(text, what, begin);
        if (at == SIZE_MAX)
            break;
        HN_TRY(add_part(r, c, begin, at, out));
        begin = at + what.bytes;
    }
    for (; from_right && most > 0; most--) {
        const size_t at = find_back(text, what, end);
        if (at == SIZE_MAX)
            break;
        HN_TRY(add_part(r, c, at + what.bytes, end, out));
        end = at;
    }
    HN_TRY(add_part(r, c, begin, end, out));
    if (from_right)
        reverse(out->as.list);
    return HN_OK;
}

static hn_status str_split(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return split(r, c, false, out);
}

static hn_status str_rsplit(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return split(r, c, true, out);
}

static bool ends_line(uint32_t code)
{
    return (code >= 10 && code <= 13) || (code >= 0x1c && code <= 0x1e) || code == 0x85 ||
           code == 0x2028 || code == 0x2029;
}

static hn_status str_splitlines(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    bool keep = false;
    const hn_tpl_text text = c->self.as.text;
    HN_TRY(hn_tpl_want_bool(r, c, 0, false, &keep));
    HN_TRY(hn_tv_list_new(r, HN_TV_LIST, out));
    HN_TRY(hn_tpl_charge(r, text.bytes));
    for (size_t begin = 0, n = 0; begin < text.bytes;) {
        size_t end = begin;
        while (end < text.bytes && !ends_line(hn_tpl_code_at(text.text + end, &n)))
            end += n;
        size_t next = end < text.bytes ? end + n : end;
        if (next < text.bytes && text.text[end] == '\r' && text.text[next] == '\n')
            next++;
        HN_TRY(add_part(r, c, begin, keep ? next : end, out));
        begin = next;
    }
    return HN_OK;
}

static hn_status cut(hn_tpl_run *r, hn_tpl_call *c, bool from_right, hn_tval *out)
{
    hn_tpl_text what;
    const hn_tpl_text text = c->self.as.text;
    HN_TRY(hn_tpl_want_text(c, 0, NULL, &what));
    HN_REQUIRE(what.bytes, HN_ERR_FORMAT, "empty separator");
    HN_TRY(hn_tpl_charge(r, text.bytes));
    const size_t at = from_right ? find_back(text, what, text.bytes) : find_from(text, what, 0);
    const size_t none = from_right ? 0 : text.bytes;
    HN_TRY(hn_tv_list_new(r, HN_TV_TUPLE, out));
    if (at == SIZE_MAX) {
        HN_TRY(add_part(r, c, 0, none, out));
        HN_TRY(add_part(r, c, 0, 0, out));
        return add_part(r, c, none, text.bytes, out);
    }
    HN_TRY(add_part(r, c, 0, at, out));
    HN_TRY(add_part(r, c, at, at + what.bytes, out));
    return add_part(r, c, at + what.bytes, text.bytes, out);
}

static hn_status str_partition(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return cut(r, c, false, out);
}

static hn_status str_rpartition(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return cut(r, c, true, out);
}

static hn_status str_removeprefix(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    hn_tpl_text what;
    const hn_tpl_text text = c->self.as.text;
    HN_TRY(hn_tpl_want_text(c, 0, NULL, &what));
    const bool has = what.bytes <= text.bytes && !memcmp(text.text, what.text, what.bytes);
    *out = part(c, has ? what.bytes : 0, text.bytes);
    return HN_OK;
}

static hn_status str_removesuffix(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    hn_tpl_text what;
    const hn_tpl_text text = c->self.as.text;
    HN_TRY(hn_tpl_want_text(c, 0, NULL, &what));
    const bool has = what.bytes <= text.bytes &&
                     !memcmp(text.text + text.bytes - what.bytes, what.text, what.bytes);
    *out = part(c, 0, text.bytes - (has ? what.bytes : 0));
    return HN_OK;
}

/* Whether all characters, of which there must be some, are in the class. */
static hn_status all_in(hn_tpl_run *r, const hn_tpl_call *c, hn_tpl_class set, bool if_empty,
                        hn_tval *out)
{
    const hn_tpl_text text = c->self.as.text;
    bool holds = text.bytes || if_empty;
    for (size_t i = 0, n = 0; holds && i < text.bytes; i += n)
        holds = hn_tpl_is_in(set, hn_tpl_code_at(text.text + i, &n));
    *out = hn_tv_bool(holds);
    return hn_tpl_charge(r, text.bytes);
}

#define ALL_IN(name, set, if_empty)                                                            \
    static hn_status str_##name(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)                   \
    {                                                                                          \
        return all_in(r, c, set, if_empty, out);                                               \
    }
ALL_IN(isalpha, HN_TPL_ALPHA, false)
ALL_IN(isalnum, HN_TPL_ALNUM, false)
ALL_IN(isdigit, HN_TPL_DIGIT, false)
ALL_IN(isdecimal, HN_TPL_DECIMAL, false)
ALL_IN(isnumeric, HN_TPL_NUMERIC, false)
ALL_IN(isspace, HN_TPL_SPACE, false)
ALL_IN(isprintable, HN_TPL_PRINTABLE, true)

static hn_status str_isascii(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    bool holds = true;
    for (size_t i = 0; i < c->self.as.text.bytes; i++)
        holds &= (unsigned char)c->self.as.text.text[i] < 128;
    *out = hn_tv_bool(holds);
    return hn_tpl_charge(r, c->self.as.text.bytes);
}

/* At least one cased character, and none of the other case. */
static hn_status one_case(hn_tpl_run *r, const hn_tpl_call *c, hn_tpl_class want, hn_tval *out)
{
    const hn_tpl_text text = c->self.as.text;
    const hn_tpl_class other = want == HN_TPL_LOWER ? HN_TPL_UPPER : HN_TPL_LOWER;
    bool any = false, none_other = true;
    for (size_t i = 0, n = 0; none_other && i < text.bytes; i += n) {
        const uint32_t code = hn_tpl_code_at(text.text + i, &n);
        any |= hn_tpl_is_in(want, code);
        none_other = !hn_tpl_is_in(other, code) && !hn_tpl_is_in(HN_TPL_TITLE, code);
    }
    *out = hn_tv_bool(any && none_other);
    return hn_tpl_charge(r, text.bytes);
}

static hn_status str_islower(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return one_case(r, c, HN_TPL_LOWER, out);
}

static hn_status str_isupper(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return one_case(r, c, HN_TPL_UPPER, out);
}

static hn_status str_istitle(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    const hn_tpl_text text = c->self.as.text;
    bool any = false, in_word = false, holds = true;
    for (size_t i = 0, n = 0; holds && i < text.bytes; i += n) {
        const uint32_t code = hn_tpl_code_at(text.text + i, &n);
        const bool starts =
            hn_tpl_is_in(HN_TPL_UPPER, code) || hn_tpl_is_in(HN_TPL_TITLE, code);
        const bool goes_on = hn_tpl_is_in(HN_TPL_LOWER, code);
        holds = !(starts && in_word) && !(goes_on && !in_word);
        in_word = starts || goes_on;
        any |= in_word;
    }
    *out = hn_tv_bool(any && holds);
    return hn_tpl_charge(r, text.bytes);
}

static hn_status str_isidentifier(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    const hn_tpl_text text = c->self.as.text;
    bool holds = text.bytes != 0;
    for (size_t i = 0, n = 0; holds && i < text.bytes; i += n) {
        const uint32_t code = hn_tpl_code_at(text.text + i, &n);
        holds = code == '_' || hn_tpl_is_in(i ? HN_TPL_ALNUM : HN_TPL_ALPHA, code);
    }
    *out = hn_tv_bool(holds);
    return hn_tpl_charge(r, text.bytes);
}

const hn_tpl_fn hn_tpl_str_splits[] = {
    { "strip", "/chars=", str_strip },
    { "lstrip", "/chars=", str_lstrip },
    { "rstrip", "/chars=", str_rstrip },
    { "split", "sep= maxsplit=", str_split },
    { "rsplit", "sep= maxsplit=", str_rsplit },
    { "splitlines", "keepends=", str_splitlines },
    { "partition", "/sep", str_partition },
    { "rpartition", "/sep", str_rpartition },
    { "removeprefix", "/prefix", str_removeprefix },
    { "removesuffix", "/suffix", str_removesuffix },
    { "isalpha", "/", str_isalpha },
    { "isalnum", "/", str_isalnum },
    { "isdigit", "/", str_isdigit },
    { "isdecimal", "/", str_isdecimal },
    { "isnumeric", "/", str_isnumeric },
    { "isspace", "/", str_isspace },
    { "isprintable", "/", str_isprintable },
    { "isascii", "/", str_isascii },
    { "islower", "/", str_islower },
    { "isupper", "/", str_isupper },
    { "istitle", "/", str_istitle },
    { "isidentifier", "/", str_isidentifier },
    { NULL, NULL, NULL },
};
