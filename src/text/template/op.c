/* Arithmetic as Python does it, save that integers end at 64 bits, with an error. */
#include "text/template/fn.h"

#include "base/mathfn.h"

#include <math.h>
#include <string.h>

static bool is_number(const hn_tval *v)
{
    return hn_tv_is_integer(v) || v->kind == HN_TV_FLOAT;
}

static double to_double(const hn_tval *v)
{
    return v->kind == HN_TV_FLOAT ? v->as.number : (double)hn_tv_integer(v);
}

static hn_status too_large(void) { return hn_fail(HN_ERR_FORMAT, "an integer beyond 64 bits"); }

static hn_status by_zero(const char *what)
{
    return hn_fail(HN_ERR_FORMAT, "%s by zero", what);
}

static hn_status power_of_integers(int64_t base, int64_t exponent, hn_tval *out)
{
    if (exponent < 0) {
        if (base == 0)
            return hn_fail(HN_ERR_FORMAT, "0.0 cannot be raised to a negative power");
        *out = hn_tv_float(1 / hn_math_pow((double)base, -(double)exponent));
        return HN_OK;
    }
    int64_t result = 1;
    if (base == 0 || base == 1 || base == -1) {
        *out = hn_tv_int(exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? 1 : base);
        return HN_OK;
    }
    for (; exponent; exponent--)
        if (__builtin_mul_overflow(result, base, &result))
            return too_large();
    *out = hn_tv_int(result);
    return HN_OK;
}

static hn_status on_integers(char op, int64_t a, int64_t b, hn_tval *out)
{
    int64_t c = 0;
    switch (op) {
    case '+':
        if (__builtin_add_overflow(a, b, &c))
            return too_large();
        break;
    case '-':
        if (__builtin_sub_overflow(a, b, &c))
            return too_large();
        break;
    case '*':
        if (__builtin_mul_overflow(a, b, &c))
            return too_large();
        break;
    case '/':
        if (!b)
            return by_zero("division");
        *out = hn_tv_float((double)((long double)a / (long double)b));
        return HN_OK;
    case 'p':
        return power_of_integers(a, b, out);
    default:
        if (!b)
            return by_zero("integer division or modulo");
        if (b == -1) { /* INT64_MIN / -1 traps */
            if (op == 'f' && __builtin_sub_overflow((int64_t)0, a, &c))
                return too_large();
            break;
        }
        c = op == 'f' ? a / b : a % b;
        if (a % b != 0 && (a % b < 0) != (b < 0))
            c = op == 'f' ? c - 1 : c + b;
    }
    *out = hn_tv_int(c);
    return HN_OK;
}

static hn_status divmod(char op, double a, double b, hn_tval *out)
{
    if (b == 0)
        return by_zero(op == 'f' ? "float floor division" : "float modulo");
    double mod = fmod(a, b), div = (a - mod) / b;
    if (mod != 0) {
        if ((b < 0) != (mod < 0)) {
            mod += b;
            div -= 1;
        }
    } else {
        mod = copysign(0, b);
    }
    double whole = copysign(0, a / b);
    if (div != 0) {
        whole = floor(div);
        if (div - whole > 0.5)
            whole += 1;
    }
    *out = hn_tv_float(op == 'f' ? whole : mod);
    return HN_OK;
}

static hn_status on_doubles(char op, double a, double b, hn_tval *out)
{
    double c = 0;
    switch (op) {
    case '+':
        c = a + b;
        break;
    case '-':
        c = a - b;
        break;
    case '*':
        c = a * b;
        break;
    case '/':
        if (b == 0)
            return by_zero("float division");
        c = a / b;
        break;
    case 'p':
        if (a == 0 && b < 0)
            return hn_fail(HN_ERR_FORMAT, "0.0 cannot be raised to a negative power");
        if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b))
            return hn_fail(HN_ERR_UNSUPPORTED,
                           "a negative number to a fraction: complex numbers");
        /* negative whole powers as one over the positive one, which is exact where it can be */
        c = b < 0 && b == floor(b) ? 1 / hn_math_pow(a, -b) : hn_math_pow(a, b);
        if (isinf(c) && isfinite(a) && isfinite(b))
            return hn_fail(HN_ERR_FORMAT, "(34, 'Numerical result out of range')");
        break;
    default:
        return divmod(op, a, b, out);
    }
    *out = hn_tv_float(c);
    return HN_OK;
}

static hn_status join_texts(hn_tpl_run *r, const hn_tval *a, const hn_tval *b, hn_tval *out)
{
    hn_tpl_str text = hn_tpl_str_on(&r->budget.heap);
    const bool is_markup = a->is_markup || b->is_markup;
    const hn_tval *const parts[] = { a, b };
    for (int i = 0; i < 2; i++)
        if (is_markup && !parts[i]->is_markup)
            hn_tv_escape(&text, parts[i]->as.text);
        else
            hn_tpl_put(&text, parts[i]->as.text);
    const hn_status status = hn_tv_from_words(r, &text, out);
    hn_tpl_str_free(&text);
    out->is_markup = is_markup;
    return status;
}

static hn_status join_lists(hn_tpl_run *r, const hn_tval *a, const hn_tval *b, hn_tval *out)
{
    hn_tval list;
    HN_TRY(hn_tv_list_new(r, a->kind, &list));
    for (size_t i = 0; i < a->as.list->n; i++)
        HN_TRY(hn_tv_list_add(r, list.as.list, &a->as.list->at[i]));
    for (size_t i = 0; i < b->as.list->n; i++)
        HN_TRY(hn_tv_list_add(r, list.as.list, &b->as.list->at[i]));
    *out = list;
    return HN_OK;
}

static hn_status repeat(hn_tpl_run *r, const hn_tval *what, int64_t times, hn_tval *out)
{
    hn_tval list;
    times = times < 0 ? 0 : times;
    if (what->kind != HN_TV_TEXT) {
        HN_TRY(hn_tv_list_new(r, what->kind, &list));
        for (int64_t k = 0; what->as.list->n && k < times; k++)
            for (size_t i = 0; i < what->as.list->n; i++)
                HN_TRY(hn_tv_list_add(r, list.as.list, &what->as.list->at[i]));
        *out = list;
        return HN_OK;
    }
    const hn_tpl_text text = what->as.text;
    HN_REQUIRE(!text.bytes || (uint64_t)times <= r->options.max_memory / text.bytes,
               HN_ERR_MEMORY, "text of more than %zu bytes", r->options.max_memory);
    const size_t bytes = (size_t)times * text.bytes;
    char *copy = hn_tpl_new(r, bytes + 1);
    if (!copy)
        return HN_ERR_MEMORY;
    uint8_t *own = text.own && bytes ? hn_tpl_new(r, bytes) : NULL;
    if (text.own && bytes && !own)
        return HN_ERR_MEMORY;
    for (size_t at = 0; at < bytes; at += text.bytes) {
        memcpy(copy + at, text.text, text.bytes);
        if (own)
            memcpy(own + at, text.own, text.bytes);
    }
    *out = hn_tv_text(copy, bytes);
    out->as.text.own = own;
    out->is_markup = what->is_markup;
    return hn_tpl_charge(r, bytes);
}

static bool is_repeated(const hn_tval *v)
{
    return v->kind == HN_TV_TEXT || hn_tv_is_sequence(v);
}

static hn_status unsupported(char op, const hn_tval *a, const hn_tval *b)
{
    const char text[2] = { op, '\0' };
    if (a->kind == HN_TV_UNDEFINED || b->kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(a->kind == HN_TV_UNDEFINED ? a : b);
    return hn_fail(HN_ERR_FORMAT, "unsupported operand type(s) for %s: '%s' and '%s'",
                   op == 'f'   ? "//"
                   : op == 'p' ? "** or pow()"
                               : text,
                   hn_tv_type(a), hn_tv_type(b));
}

hn_status hn_tpl_binary(hn_tpl_run *r, char op, const hn_tval *a, const hn_tval *b,
                        hn_tval *out)
{
    if (op == '%' && a->kind == HN_TV_TEXT)
        return hn_tpl_percent(r, a, b, out);
    if (hn_tv_is_integer(a) && hn_tv_is_integer(b))
        return on_integers(op, hn_tv_integer(a), hn_tv_integer(b), out);
    if (is_number(a) && is_number(b))
        return on_doubles(op, to_double(a), to_double(b), out);
    if (op == '+' && a->kind == HN_TV_TEXT && b->kind == HN_TV_TEXT)
        return join_texts(r, a, b, out);
    if (op == '+' && a->kind == b->kind && hn_tv_is_sequence(a))
        return join_lists(r, a, b, out);
    if (op == '*' && is_repeated(a) && hn_tv_is_integer(b))
        return repeat(r, a, hn_tv_integer(b), out);
    if (op == '*' && is_repeated(b) && hn_tv_is_integer(a))
        return repeat(r, b, hn_tv_integer(a), out);
    if (op == '+' && a->kind == HN_TV_TEXT && b->kind != HN_TV_UNDEFINED && !a->is_markup)
        return hn_fail(HN_ERR_FORMAT, "can only concatenate str (not \"%s\") to str",
                       hn_tv_type(b));
    if (op == '+' && hn_tv_is_sequence(a) && b->kind != HN_TV_UNDEFINED)
        return hn_fail(HN_ERR_FORMAT, "can only concatenate %s (not \"%s\") to %s",
                       hn_tv_type(a), hn_tv_type(b), hn_tv_type(a));
    return unsupported(op, a, b);
}

hn_status hn_tpl_negate(hn_tpl_run *r, const hn_tval *v, hn_tval *out)
{
    (void)r;
    if (v->kind == HN_TV_FLOAT) {
        *out = hn_tv_float(-v->as.number);
        return HN_OK;
    }
    if (v->kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(v);
    HN_REQUIRE(hn_tv_is_integer(v), HN_ERR_FORMAT, "bad operand type for unary -: '%s'",
               hn_tv_type(v));
    if (hn_tv_integer(v) == INT64_MIN)
        return too_large();
    *out = hn_tv_int(-hn_tv_integer(v));
    return HN_OK;
}
