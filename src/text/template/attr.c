/* a.b, a['b'] and slices, with the sandbox between.
 *
 * An attribute that exists but may not be used gives an undefined whose use is the error, as
 * jinja2 does: so `x.__class__ is defined` is false and nothing is reached. */
#include "text/template/fn.h"

#include "text/unicode/python.h"

#include <string.h>

static hn_status unsafe(hn_tpl_run *r, const hn_tval *of, const char *name, hn_tval *out)
{
    hn_str text = hn_str_on(&r->budget.heap);
    hn_tval hint;
    hn_str_print(&text, "access to attribute '%s' of '%s' object is unsafe.", name,
                 hn_tv_type(of));
    hn_status status = hn_tv_from_str(r, &text, &hint);
    hn_str_free(&text);
    HN_TRY(status);
    return hn_tv_undefined(r, hint.as.text.text, NULL, NULL, out);
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

/* What every Python object has. */
static bool is_internal(const hn_tval *of, const char *name)
{
    static const char *const all[] = {
        "__class__",   "__delattr__", "__dir__",           "__doc__",          "__eq__",
        "__format__",  "__ge__",      "__getattribute__",  "__getstate__",     "__gt__",
        "__hash__",    "__init__",    "__init_subclass__", "__le__",           "__lt__",
        "__ne__",      "__new__",     "__reduce__",        "__reduce_ex__",    "__repr__",
        "__setattr__", "__sizeof__",  "__str__",           "__subclasshook__", NULL
    };
    static const char *const of_function[] = { "__call__",   "__name__",    "__qualname__",
                                               "__module__", "__self__",    "__globals__",
                                               "__code__",   "__closure__", "__dict__",
                                               NULL };
    static const char *const of_container[] = { "__len__", "__iter__", "__getitem__",
                                                "__contains__", NULL };
    static const char *const of_object[] = { "__dict__", "__module__", "__weakref__", NULL };
    if (name[0] != '_')
        return false;
    if (is_one_of(name, all))
        return true;
    if (of->kind == HN_TV_FUNCTION)
        return is_one_of(name, of_function);
    if (of->kind == HN_TV_TEXT || hn_tv_is_sequence(of) || of->kind == HN_TV_DICT ||
        of->kind == HN_TV_RANGE)
        return is_one_of(name, of_container);
    if (of->kind >= HN_TV_MACRO)
        return is_one_of(name, of_object);
    return false;
}

static bool is_mutator(const hn_tval *of, const char *name)
{
    static const char *const of_list[] = { "append", "clear",  "pop",    "reverse", "insert",
                                           "sort",   "extend", "remove", NULL };
    static const char *const of_dict[] = { "clear",      "pop",    "popitem",
                                           "setdefault", "update", NULL };
    return (of->kind == HN_TV_LIST && is_one_of(name, of_list)) ||
           (of->kind == HN_TV_DICT && is_one_of(name, of_dict));
}

static hn_status bind(hn_tpl_run *r, const hn_tpl_fn *fn, const hn_tval *self, hn_tval *out)
{
    hn_tpl_bound *bound = hn_tpl_new(r, sizeof *bound);
    if (!bound)
        return HN_ERR_MEMORY;
    bound->fn = fn;
    bound->self = *self;
    *out = (hn_tval){ .kind = HN_TV_FUNCTION, .as.function = bound };
    return HN_OK;
}

static hn_status attr_of_number(const hn_tval *of, const char *name, hn_tval *out)
{
    const bool is_real = !strcmp(name, "real");
    if (hn_tv_is_integer(of)) {
        if (is_real || !strcmp(name, "numerator"))
            *out = hn_tv_int(hn_tv_integer(of));
        else if (!strcmp(name, "imag"))
            *out = hn_tv_int(0);
        else if (!strcmp(name, "denominator"))
            *out = hn_tv_int(1);
    } else if (is_real || !strcmp(name, "imag")) {
        *out = hn_tv_float(is_real ? of->as.number : 0);
    }
    return HN_OK;
}

static hn_status attr_of_macro(hn_tpl_run *r, const hn_tval *of, const char *name, hn_tval *out)
{
    const hn_tpl_macro *m = of->as.macro;
    if (!strcmp(name, "name"))
        *out = m->name ? hn_tv_text(m->name, strlen(m->name)) : hn_tv_none();
    else if (!strcmp(name, "caller"))
        *out = hn_tv_bool(m->node->uses_caller);
    else if (!strcmp(name, "catch_kwargs"))
        *out = hn_tv_bool(m->node->uses_kwargs);
    else if (!strcmp(name, "catch_varargs"))
        *out = hn_tv_bool(m->node->uses_varargs);
    else if (!strcmp(name, "arguments")) {
        HN_TRY(hn_tv_list_new(r, HN_TV_TUPLE, out));
        for (const hn_tpl_node *p = m->node->params; p; p = p->next) {
            const hn_tval item = hn_tv_text(p->name, strlen(p->name));
            HN_TRY(hn_tv_list_add(r, out->as.list, &item));
        }
    }
    return HN_OK;
}

static hn_status attr_of_range(const hn_tpl_range *range, const char *name, hn_tval *out)
{
    if (!strcmp(name, "start"))
        *out = hn_tv_int(range->start);
    else if (!strcmp(name, "stop"))
        *out = hn_tv_int(range->stop);
    else if (!strcmp(name, "step"))
        *out = hn_tv_int(range->step);
    return HN_OK;
}

/* getattr: MISSING if there is no such attribute. */
static hn_status own_attr(hn_tpl_run *r, const hn_tval *of, const char *name, hn_tval *out)
{
    *out = (hn_tval){ 0 };
    if (of->kind == HN_TV_UNDEFINED && !is_internal(of, name))
        return hn_tv_undefined_error(of);
    if (of->kind == HN_TV_NAMESPACE) {
        const hn_tval key = hn_tv_text(name, strlen(name));
        hn_tval *found = NULL;
        HN_TRY(hn_tv_dict_get(r, of->as.dict, &key, &found));
        if (found)
            *out = *found;
        return HN_OK;
    }
    if (is_internal(of, name) || is_mutator(of, name))
        return unsafe(r, of, name, out);
    const hn_tpl_fn *method = hn_tpl_method_find(of, name);
    if (method)
        return bind(r, method, of, out);
    if (of->kind == HN_TV_LOOP)
        return hn_tpl_loop_attr(r, of->as.loop, name, out);
    if (of->kind == HN_TV_MACRO)
        return attr_of_macro(r, of, name, out);
    if (of->kind == HN_TV_RANGE)
        return attr_of_range(of->as.range, name, out);
    if (hn_tv_is_integer(of) || of->kind == HN_TV_FLOAT)
        return attr_of_number(of, name, out);
    if (of->kind == HN_TV_CYCLER && !strcmp(name, "current"))
        *out = of->as.cycler->items->at[of->as.cycler->at];
    if (of->kind == HN_TV_JOINER && !strcmp(name, "sep"))
        *out = of->as.joiner->separator;
    if (of->kind == HN_TV_JOINER && !strcmp(name, "used"))
        *out = hn_tv_bool(of->as.joiner->is_used);
    if (of->kind == HN_TV_TUPLE && of->as.list->is_group) {
        if (!strcmp(name, "grouper"))
            *out = of->as.list->at[0];
        if (!strcmp(name, "list"))
            *out = of->as.list->at[1];
    }
    return HN_OK;
}

static hn_status item_of_text(hn_tpl_text text, int64_t i, hn_tval *out)
{
    if (i < 0)
        i += hn_tv_text_length(text);
    if (i < 0)
        return HN_OK;
    const size_t at = hn_tv_text_offset(text, i);
    if (at < text.bytes)
        *out = hn_tv_part(text, at, at + hn_tv_text_offset(hn_tpl_part(text, at, text.bytes), 1));
    return HN_OK;
}

/* a[key]: MISSING where Python raises LookupError or TypeError. */
static hn_status own_item(hn_tpl_run *r, const hn_tval *of, const hn_tval *key, hn_tval *out)
{
    *out = (hn_tval){ 0 };
    if (of->kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(of);
    if (of->kind == HN_TV_DICT) {
        if (key->kind == HN_TV_LIST || key->kind == HN_TV_DICT || key->kind == HN_TV_VIEW)
            return HN_OK;
        hn_tval *found = NULL;
        HN_TRY(hn_tv_dict_get(r, of->as.dict, key, &found));
        if (found)
            *out = *found;
        return HN_OK;
    }
    if (!hn_tv_is_integer(key))
        return HN_OK;
    int64_t i = hn_tv_integer(key);
    if (of->kind == HN_TV_TEXT) {
        HN_TRY(item_of_text(of->as.text, i, out));
        out->is_markup = of->is_markup;
        return hn_tpl_charge(r, of->as.text.bytes);
    }
    if (!hn_tv_is_sequence(of) && of->kind != HN_TV_RANGE)
        return HN_OK;
    const int64_t n = of->kind == HN_TV_RANGE ? of->as.range->n : (int64_t)of->as.list->n;
    i += i < 0 ? n : 0;
    if (i < 0 || i >= n)
        return HN_OK;
    *out = of->kind == HN_TV_RANGE ? hn_tv_int(of->as.range->start + i * of->as.range->step)
                                   : of->as.list->at[i];
    return HN_OK;
}

hn_status hn_tpl_get_attr(hn_tpl_run *r, const hn_tval *of, const char *name, hn_tval *out)
{
    const hn_tval key = hn_tv_text(name, strlen(name));
    hn_tval found;
    HN_TRY(own_attr(r, of, name, &found));
    if (found.kind == HN_TV_MISSING)
        HN_TRY(own_item(r, of, &key, &found));
    if (found.kind == HN_TV_MISSING)
        return hn_tv_undefined(r, NULL, of, &key, out);
    *out = found;
    return HN_OK;
}

hn_status hn_tpl_get_item(hn_tpl_run *r, const hn_tval *of, const hn_tval *key, hn_tval *out)
{
    hn_tval found;
    HN_TRY(own_item(r, of, key, &found));
    if (found.kind == HN_TV_MISSING && key->kind == HN_TV_TEXT) {
        hn_tval name;
        HN_TRY(hn_tv_copy_text(r, key->as.text.text, key->as.text.bytes, &name));
        HN_TRY(own_attr(r, of, name.as.text.text, &found));
    }
    if (found.kind == HN_TV_MISSING)
        return hn_tv_undefined(r, NULL, of, key, out);
    *out = found;
    return HN_OK;
}

/* Python's slice.indices, and how many items that is. */
static hn_status slice_indices(const hn_tval bounds[3], int64_t length, int64_t at[3],
                               int64_t *n)
{
    for (int i = 0; i < 3; i++)
        HN_REQUIRE(bounds[i].kind == HN_TV_NONE || hn_tv_is_integer(&bounds[i]), HN_ERR_FORMAT,
                   "slice indices must be integers or None or have an __index__ method");
    const int64_t step = bounds[2].kind == HN_TV_NONE ? 1 : hn_tv_integer(&bounds[2]);
    HN_REQUIRE(step != 0, HN_ERR_FORMAT, "slice step cannot be zero");
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? length - 1 : length;
    for (int i = 0; i < 2; i++) {
        if (bounds[i].kind == HN_TV_NONE) {
            at[i] = (i == 0) == (step > 0) ? low : high;
            continue;
        }
        at[i] = hn_tv_integer(&bounds[i]);
        if (at[i] < 0)
            at[i] = at[i] < low - length ? low : at[i] + length;
        at[i] = at[i] < low ? low : at[i] > high ? high : at[i];
    }
    at[2] = step < -length - 1 ? -length - 1 : step > length + 1 ? length + 1 : step;
    *n = 0;
    if (step > 0 && at[0] < at[1])
        *n = (at[1] - at[0] - 1) / at[2] + 1;
    if (step < 0 && at[0] > at[1])
        *n = (at[0] - at[1] - 1) / -at[2] + 1;
    return HN_OK;
}

static hn_status slice_text(hn_tpl_run *r, const hn_tval *of, const int64_t at[3], int64_t n,
                            hn_tval *out)
{
    const hn_tpl_text text = of->as.text;
    HN_TRY(hn_tpl_charge(r, text.bytes));
    *out = hn_tv_text(text.text, 0);
    if (!n)
        return HN_OK;
    if (at[2] == 1) {
        const size_t begin = hn_tv_text_offset(text, at[0]);
        const hn_tpl_text rest = hn_tpl_part(text, begin, text.bytes);
        *out = hn_tv_part(rest, 0, hn_tv_text_offset(rest, n));
        return HN_OK;
    }
    hn_tpl_str copy = hn_tpl_str_on(&r->budget.heap);
    size_t here = hn_tv_text_offset(text, at[0]);
    for (int64_t i = 0; i < n; i++) {
        size_t one = 0;
        hn_tpl_code_at(text.text + here, &one);
        hn_tpl_put(&copy, hn_tpl_part(text, here, here + one));
        if (i + 1 == n)
            break;
        for (int64_t k = 0; k < at[2]; k++)
            here += hn_tv_text_offset(hn_tpl_part(text, here, text.bytes), 1);
        for (int64_t k = 0; k > at[2]; k--) {
            hn_tpl_code_before(text.text, here, &one);
            here -= one;
        }
    }
    const hn_status status = hn_tv_from_words(r, &copy, out);
    hn_tpl_str_free(&copy);
    return status;
}

hn_status hn_tpl_get_slice(hn_tpl_run *r, const hn_tval *of, const hn_tval bounds[3],
                           hn_tval *out)
{
    int64_t length = 0, at[3], n = 0;
    if (of->kind == HN_TV_UNDEFINED)
        return hn_tv_undefined_error(of);
    HN_REQUIRE(of->kind != HN_TV_DICT, HN_ERR_FORMAT, "unhashable type: 'slice'");
    HN_REQUIRE(of->kind == HN_TV_TEXT || hn_tv_is_sequence(of) || of->kind == HN_TV_RANGE,
               HN_ERR_FORMAT, "'%s' object is not subscriptable", hn_tv_type(of));
    HN_TRY(hn_tv_length(r, of, &length));
    HN_TRY(slice_indices(bounds, length, at, &n));
    if (of->kind == HN_TV_TEXT) {
        HN_TRY(slice_text(r, of, at, n, out));
        out->is_markup = of->is_markup;
        return HN_OK;
    }
    if (of->kind == HN_TV_RANGE) {
        const hn_tpl_range *from = of->as.range;
        hn_tpl_range *range = hn_tpl_new(r, sizeof *range);
        if (!range)
            return HN_ERR_MEMORY;
        *range = (hn_tpl_range){ from->start + at[0] * from->step,
                                 from->start + at[1] * from->step, from->step * at[2], n };
        *out = (hn_tval){ .kind = HN_TV_RANGE, .as.range = range };
        return HN_OK;
    }
    hn_tval list;
    HN_TRY(hn_tv_list_new(r, of->kind, &list));
    for (int64_t i = 0; i < n; i++)
        HN_TRY(hn_tv_list_add(r, list.as.list, &of->as.list->at[at[0] + i * at[2]]));
    *out = list;
    return HN_OK;
}

hn_status hn_tpl_get_path(hn_tpl_run *r, const hn_tval *of, const hn_tval *path, hn_tval *out)
{
    hn_tval item = *of;
    if (path->kind == HN_TV_MISSING || path->kind == HN_TV_NONE) {
        *out = item;
        return HN_OK;
    }
    if (path->kind != HN_TV_TEXT)
        return hn_tpl_get_item(r, &item, path, out);
    const hn_tpl_text text = path->as.text;
    for (size_t begin = 0, end; begin <= text.bytes; begin = end + 1) {
        bool is_number = true;
        int64_t number = 0;
        for (end = begin; end < text.bytes && text.text[end] != '.'; end++) {
            const char c = text.text[end];
            is_number = is_number && c >= '0' && c <= '9' && number < INT64_MAX / 10 - 10;
            number = is_number ? number * 10 + (c - '0') : 0;
        }
        const hn_tval key = is_number && end > begin
                                ? hn_tv_int(number)
                                : hn_tv_text(text.text + begin, end - begin);
        HN_TRY(hn_tpl_get_item(r, &item, &key, out));
        item = *out;
    }
    return HN_OK;
}
