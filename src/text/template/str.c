/* str's methods that change a text or ask about it; those that split are in template_split.c.
 */
#include "text/template/fn.h"
#include "text/unicode/python.h"

#include "base/utf8.h"

#include <string.h>

static hn_status finish(hn_tpl_run *r, hn_tpl_str *text, const hn_tval *like, hn_tval *out)
{
    hn_status status = hn_tv_from_words(r, text, out);
    hn_tpl_str_free(text);
    out->is_markup = like->is_markup;
    return status;
}

/* What the character at this place of a text became: whose it was, it stays. */
static void put_code(hn_tpl_str *to, uint32_t code, hn_tpl_text of, size_t at)
{
    char bytes[4];
    hn_tpl_put_as(to, bytes, hn_utf8_put(code, bytes), of, at);
}

static bool is_cased(uint32_t code)
{
    return hn_tpl_is_in(HN_TPL_LOWER, code) || hn_tpl_is_in(HN_TPL_UPPER, code) ||
           hn_tpl_is_in(HN_TPL_TITLE, code);
}

/* A capital sigma that ends a word becomes the final one. */
static bool is_final_sigma(hn_tpl_text text, size_t at)
{
    size_t n = 0;
    bool before = false;
    for (size_t i = at; i;) {
        const uint32_t code = hn_tpl_code_before(text.text, i, &n);
        i -= n;
        if (hn_tpl_is_in(HN_TPL_CASE_IGNORABLE, code))
            continue;
        before = is_cased(code);
        break;
    }
    for (size_t i = at + 2; before && i < text.bytes; i += n) {
        const uint32_t code = hn_tpl_code_at(text.text + i, &n);
        if (!hn_tpl_is_in(HN_TPL_CASE_IGNORABLE, code))
            return !is_cased(code);
    }
    return before;
}

static void put_case(hn_tpl_str *to, hn_tpl_case which, hn_tpl_text text, size_t at, size_t *bytes)
{
    uint32_t codes[3];
    const uint32_t code = hn_tpl_code_at(text.text + at, bytes);
    if (which == HN_TPL_TO_LOWER && code == 0x3a3) {
        put_code(to, is_final_sigma(text, at) ? 0x3c2 : 0x3c3, text, at);
        return;
    }
    const int n = hn_tpl_change_case(which, code, codes);
    for (int i = 0; i < n; i++)
        put_code(to, codes[i], text, at);
}

static hn_status change(hn_tpl_run *r, const hn_tpl_call *c, hn_tpl_case first,
                        hn_tpl_case rest, hn_tval *out)
{
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    const hn_tpl_text text = c->self.as.text;
    for (size_t i = 0, n = 0; i < text.bytes; i += n)
        put_case(&to, i ? rest : first, text, i, &n);
    return finish(r, &to, &c->self, out);
}

static hn_status str_lower(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return change(r, c, HN_TPL_TO_LOWER, HN_TPL_TO_LOWER, out);
}

static hn_status str_upper(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return change(r, c, HN_TPL_TO_UPPER, HN_TPL_TO_UPPER, out);
}

static hn_status str_casefold(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return change(r, c, HN_TPL_TO_FOLD, HN_TPL_TO_FOLD, out);
}

static hn_status str_capitalize(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return change(r, c, HN_TPL_TO_TITLE, HN_TPL_TO_LOWER, out);
}

static hn_status str_title(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    const hn_tpl_text text = c->self.as.text;
    bool in_word = false;
    for (size_t i = 0, n = 0; i < text.bytes; i += n) {
        put_case(&to, in_word ? HN_TPL_TO_LOWER : HN_TPL_TO_TITLE, text, i, &n);
        in_word = is_cased(hn_tpl_code_at(text.text + i, &n));
    }
    return finish(r, &to, &c->self, out);
}

static hn_status str_swapcase(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    const hn_tpl_text text = c->self.as.text;
    for (size_t i = 0, n = 0; i < text.bytes; i += n) {
        const uint32_t code = hn_tpl_code_at(text.text + i, &n);
        if (hn_tpl_is_in(HN_TPL_UPPER, code))
            put_case(&to, HN_TPL_TO_LOWER, text, i, &n);
        else if (hn_tpl_is_in(HN_TPL_LOWER, code))
            put_case(&to, HN_TPL_TO_UPPER, text, i, &n);
        else
            hn_tpl_put(&to, hn_tpl_part(text, i, i + n));
    }
    return finish(r, &to, &c->self, out);
}

/* str[a:b] of what find and startswith look at, as byte offsets. */
static hn_status bounds(const hn_tpl_call *c, int slot, size_t *begin, size_t *end,
                        bool *is_empty)
{
    const hn_tpl_text text = c->self.as.text;
    int64_t at[2] = { 0, INT64_MAX };
    int64_t length = -1;
    for (int i = 0; i < 2; i++) {
        if (c->slots[slot + i].kind != HN_TV_NONE)
            HN_TRY(hn_tpl_want_int(c, slot + i, at[i], &at[i]));
        if (at[i] < 0) {
            length = length < 0 ? hn_tv_text_length(text) : length;
            at[i] = at[i] + length < 0 ? 0 : at[i] + length;
        }
    }
    *begin = hn_tv_text_offset(text, at[0]);
    *end = hn_tv_text_offset(text, at[1]);
    *is_empty =
        at[0] > at[1] || (at[0] && *begin == text.bytes && at[0] > hn_tv_text_length(text));
    return HN_OK;
}

/* The first or last place of `what` in [begin, end), or SIZE_MAX. */
static size_t find(hn_tpl_text text, hn_tpl_text what, size_t begin, size_t end, bool last)
{
    size_t found = SIZE_MAX;
    for (size_t i = begin; i + what.bytes <= end && i <= end; i++) {
        if (((unsigned char)text.text[i] & 0xc0) == 0x80 && i < text.bytes)
            continue;
        if (what.bytes &&
            (text.text[i] != what.text[0] || memcmp(text.text + i, what.text, what.bytes)))
            continue;
        found = i;
        if (!last)
            break;
    }
    return found;
}

static hn_status find_any(hn_tpl_run *r, hn_tpl_call *c, bool last, hn_tval *out)
{
    hn_tpl_text what;
    size_t begin = 0, end = 0;
    bool is_empty = false;
    HN_TRY(hn_tpl_want_text(c, 0, NULL, &what));
    HN_TRY(bounds(c, 1, &begin, &end, &is_empty));
    HN_TRY(hn_tpl_charge(r, c->self.as.text.bytes));
    const size_t at = is_empty ? SIZE_MAX : find(c->self.as.text, what, begin, end, last);
    *out = hn_tv_int(
        at == SIZE_MAX ? -1 : hn_tv_text_length((hn_tpl_text){ c->self.as.text.text, at }));
    return HN_OK;
}

static hn_status str_find(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return find_any(r, c, false, out);
}

static hn_status str_rfind(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return find_any(r, c, true, out);
}

static hn_status found_or_fail(hn_tpl_run *r, hn_tpl_call *c, bool last, hn_tval *out)
{
    HN_TRY(find_any(r, c, last, out));
    HN_REQUIRE(out->as.integer >= 0, HN_ERR_FORMAT, "substring not found");
    return HN_OK;
}

static hn_status str_index(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return found_or_fail(r, c, false, out);
}

static hn_status str_rindex(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return found_or_fail(r, c, true, out);
}

static hn_status str_count(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_text what;
    size_t begin = 0, end = 0;
    bool is_empty = false;
    int64_t n = 0;
    HN_TRY(hn_tpl_want_text(c, 0, NULL, &what));
    HN_TRY(bounds(c, 1, &begin, &end, &is_empty));
    HN_TRY(hn_tpl_charge(r, c->self.as.text.bytes));
    const hn_tpl_text text = c->self.as.text;
    if (!what.bytes && !is_empty)
        n = hn_tv_text_length(
                (hn_tpl_text){ text.text + begin, end > begin ? end - begin : 0 }) +
            1;
    while (what.bytes && !is_empty) {
        const size_t at = find(text, what, begin, end, false);
        if (at == SIZE_MAX)
            break;
        n++;
        begin = at + what.bytes;
    }
    *out = hn_tv_int(n);
    return HN_OK;
}

static hn_status matches_end(hn_tpl_call *c, bool at_end, hn_tval *out)
{
    size_t begin = 0, end = 0;
    bool is_empty = false, holds = false;
    const hn_tpl_text text = c->self.as.text;
    HN_TRY(bounds(c, 1, &begin, &end, &is_empty));
    const hn_tval *what = &c->slots[0];
    const bool is_tuple = what->kind == HN_TV_TUPLE;
    for (size_t i = 0; i < (is_tuple ? what->as.list->n : 1); i++) {
        const hn_tval *one = is_tuple ? &what->as.list->at[i] : what;
        HN_REQUIRE(one->kind == HN_TV_TEXT, HN_ERR_FORMAT,
                   "%s first arg must be str or a tuple of str, not %s", c->name,
                   hn_tv_type(one));
        const hn_tpl_text word = one->as.text;
        const bool fits = !is_empty && end >= begin && word.bytes <= end - begin;
        holds |= fits && !memcmp(text.text + (at_end ? end - word.bytes : begin), word.text,
                                 word.bytes);
    }
    *out = hn_tv_bool(holds);
    return HN_OK;
}

static hn_status str_startswith(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    return matches_end(c, false, out);
}

static hn_status str_endswith(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r;
    return matches_end(c, true, out);
}

static hn_status str_replace(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tpl_text old, fresh;
    int64_t count = -1;
    const hn_tpl_text text = c->self.as.text;
    HN_TRY(hn_tpl_want_text(c, 0, NULL, &old));
    HN_TRY(hn_tpl_want_text(c, 1, NULL, &fresh));
    HN_TRY(hn_tpl_want_int(c, 2, -1, &count));
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    hn_status status = HN_OK;
    for (size_t at = 0; status == HN_OK;) {
        const size_t found = count == 0 ? SIZE_MAX : find(text, old, at, text.bytes, false);
        const size_t end = found == SIZE_MAX ? text.bytes : found;
        hn_tpl_put(&to, hn_tpl_part(text, at, end));
        if (found == SIZE_MAX)
            break;
        hn_tpl_put(&to, fresh);
        count -= count > 0;
        at = end + old.bytes;
        status = hn_tpl_fits(r, &to.text);
        if (status == HN_OK)
            status = hn_tpl_step(r, 1);
        if (old.bytes)
            continue;
        if (at == text.bytes)
            break;
        const size_t one =
            hn_tv_text_offset((hn_tpl_text){ text.text + at, text.bytes - at }, 1);
        hn_tpl_put(&to, hn_tpl_part(text, at, at + one));
        at += one;
    }
    if (status != HN_OK) {
        hn_tpl_str_free(&to);
        return status;
    }
    return finish(r, &to, &c->self, out);
}

static hn_status justify(hn_tpl_run *r, hn_tpl_call *c, char align, hn_tval *out)
{
    int64_t width = 0;
    hn_tpl_text fill;
    HN_TRY(hn_tpl_want_int(c, 0, 80, &width));
    HN_TRY(hn_tpl_want_text(c, 1, " ", &fill));
    HN_REQUIRE(hn_tv_text_length(fill) == 1, HN_ERR_FORMAT,
               "The fill character must be exactly one character long");
    const int64_t pad = width - hn_tv_text_length(c->self.as.text);
    HN_REQUIRE(pad < (int64_t)(r->options.max_memory / 4), HN_ERR_FORMAT, "a width of %lld: more than a template may hold",
               (long long)width);
    /* Python's center puts the odd space left where the width is odd too */
    const int64_t left = align == '>' ? pad : align == '^' ? pad / 2 + (pad & width & 1) : 0;
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    for (int64_t i = 0; i < left; i++)
        hn_tpl_put(&to, fill);
    hn_tpl_put(&to, c->self.as.text);
    for (int64_t i = left; i < pad; i++)
        hn_tpl_put(&to, fill);
    return finish(r, &to, &c->self, out);
}

static hn_status str_center(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return justify(r, c, '^', out);
}

static hn_status str_ljust(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return justify(r, c, '<', out);
}

static hn_status str_rjust(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    return justify(r, c, '>', out);
}

static hn_status str_zfill(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int64_t width = 0;
    const hn_tpl_text text = c->self.as.text;
    HN_TRY(hn_tpl_want_int(c, 0, 0, &width));
    HN_REQUIRE(width < (int64_t)(r->options.max_memory / 4), HN_ERR_FORMAT, "a width of %lld: more than a template may hold",
               (long long)width);
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    const size_t sign = text.bytes && (text.text[0] == '+' || text.text[0] == '-');
    hn_tpl_put(&to, hn_tpl_part(text, 0, sign));
    for (int64_t i = hn_tv_text_length(text); i < width; i++)
        hn_str_add_char(&to.text, '0');
    hn_tpl_put(&to, hn_tpl_part(text, sign, text.bytes));
    return finish(r, &to, &c->self, out);
}

static hn_status str_expandtabs(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    int64_t size = 8, column = 0;
    HN_TRY(hn_tpl_want_int(c, 0, 8, &size));
    HN_REQUIRE(size < 1000, HN_ERR_UNSUPPORTED, "expandtabs() of more than 1000");
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    const hn_tpl_text text = c->self.as.text;
    for (size_t i = 0; i < text.bytes; i++) {
        const char one = text.text[i];
        if (one == '\t') {
            const int64_t n = size > 0 ? size - column % size : 0;
            for (int64_t k = 0; k < n; k++)
                hn_str_add_char(&to.text, ' ');
            column += n;
            continue;
        }
        hn_tpl_put(&to, hn_tpl_part(text, i, i + 1));
        column =
            one == '\n' || one == '\r' ? 0 : column + (((unsigned char)one & 0xc0) != 0x80);
    }
    return finish(r, &to, &c->self, out);
}

static hn_status str_join(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    hn_tval items;
    HN_TRY(hn_tv_collect(r, &c->slots[0], &items));
    hn_tpl_str to = hn_tpl_str_on(&r->budget.heap);
    const hn_tpl_list *list = items.as.list;
    hn_status status = HN_OK;
    for (size_t i = 0; i < list->n && status == HN_OK; i++) {
        if (list->at[i].kind != HN_TV_TEXT) {
            hn_tpl_str_free(&to);
            return hn_fail(HN_ERR_FORMAT, "sequence item %zu: expected str instance, %s found",
                           i, hn_tv_type(&list->at[i]));
        }
        if (i)
            hn_tpl_put(&to, c->self.as.text);
        if (c->self.is_markup && !list->at[i].is_markup)
            hn_tv_escape(&to, list->at[i].as.text);
        else
            hn_tpl_put(&to, list->at[i].as.text);
        status = hn_tpl_fits(r, &to.text);
    }
    if (status == HN_OK)
        return finish(r, &to, &c->self, out);
    hn_tpl_str_free(&to);
    return status;
}

static hn_status str_encode(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out)
{
    (void)r, (void)out;
    return hn_fail(HN_ERR_UNSUPPORTED, "%s(): bytes are not for chat templates", c->name);
}

const hn_tpl_fn hn_tpl_str_methods[] = {
    { "lower", "/", str_lower },
    { "upper", "/", str_upper },
    { "casefold", "/", str_casefold },
    { "capitalize", "/", str_capitalize },
    { "title", "/", str_title },
    { "swapcase", "/", str_swapcase },
    { "find", "/sub start= end=", str_find },
    { "rfind", "/sub start= end=", str_rfind },
    { "index", "/sub start= end=", str_index },
    { "rindex", "/sub start= end=", str_rindex },
    { "count", "/sub start= end=", str_count },
    { "startswith", "/prefix start= end=", str_startswith },
    { "endswith", "/suffix start= end=", str_endswith },
    { "replace", "/old new count=", str_replace },
    { "center", "/width fillchar=", str_center },
    { "ljust", "/width fillchar=", str_ljust },
    { "rjust", "/width fillchar=", str_rjust },
    { "zfill", "/width", str_zfill },
    { "expandtabs", "tabsize=", str_expandtabs },
    { "join", "/iterable", str_join },
    { "format", "*", hn_tpl_str_format },
    { "format_map", "*", str_encode },
    { "encode", "*", str_encode },
    { "translate", "*", str_encode },
    { "maketrans", "*", str_encode },
    { NULL, NULL, NULL },
};
