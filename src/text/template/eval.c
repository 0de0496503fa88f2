/* Expressions. */
#include "text/template/fn.h"

#include "base/work.h"

#include <string.h>

enum { STEPS_A_LOOK = 1 << 14 };

hn_status hn_tpl_step(hn_tpl_run *r, int64_t n)
{
    const int64_t looked = r->steps / STEPS_A_LOOK;
    r->steps += n;
    HN_REQUIRE(r->steps <= r->options.max_steps, HN_ERR_FORMAT, "more than %lld steps",
               (long long)r->options.max_steps);
    return looked == r->steps / STEPS_A_LOOK ? HN_OK : hn_work_look("rendering");
}

hn_status hn_tpl_charge(hn_tpl_run *r, size_t bytes)
{
    return hn_tpl_step(r, (int64_t)(bytes / 16));
}

hn_status hn_tpl_fits(hn_tpl_run *r, const hn_str *text)
{
    HN_TRY(hn_str_status(text));
    HN_REQUIRE(text->length <= r->options.max_memory, HN_ERR_MEMORY, "text of more than %zu bytes", r->options.max_memory);
    return HN_OK;
}

/* A failure leaves the depth as it is: nothing runs after it, save where it is caught, which
 * restores the depth. */
hn_status hn_tpl_enter(hn_tpl_run *r)
{
    HN_REQUIRE(r->depth < r->options.max_depth, HN_ERR_FORMAT,
               "nested deeper than %d: maximum recursion depth exceeded", r->options.max_depth);
    r->depth++;
    return HN_OK;
}

void *hn_tpl_new(hn_tpl_run *r, size_t bytes) { return hn_tpl_arena_new(&r->arena, bytes); }

static hn_status find_variable(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    const hn_tpl_variable *found = NULL;
    for (const hn_tpl_scope *scope = r->scope; scope && !found; scope = scope->around)
        for (size_t i = 0; i < scope->n && !found; i++)
            if (scope->at[i].name == node->name)
                found = &scope->at[i];
    if (found && found->value.kind != HN_TV_MISSING) {
        *out = found->value;
        return HN_OK;
    }
    const hn_tpl_fn *fn = found ? NULL : hn_tpl_global_find(node->name);
    if (fn) {
        hn_tpl_bound *bound = hn_tpl_new(r, sizeof *bound);
        if (!bound)
            return HN_ERR_MEMORY;
        bound->fn = fn;
        *out = (hn_tval){ .kind = HN_TV_FUNCTION, .as.function = bound };
        return HN_OK;
    }
    const hn_tval name = hn_tv_text(node->name, strlen(node->name));
    return hn_tv_undefined(r, NULL, NULL, &name, out);
}

static hn_status eval_items(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    HN_TRY(hn_tv_list_new(r, node->kind == HN_TPL_TUPLE ? HN_TV_TUPLE : HN_TV_LIST, out));
    for (const hn_tpl_node *kid = node->kids; kid; kid = kid->next) {
        hn_tval item;
        HN_TRY(hn_tpl_eval(r, kid, &item));
        HN_TRY(hn_tv_list_add(r, out->as.list, &item));
    }
    return HN_OK;
}

static hn_status eval_dict(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    HN_TRY(hn_tv_dict_new(r, out));
    for (const hn_tpl_node *kid = node->kids; kid; kid = kid->next) {
        hn_tval key, value;
        HN_TRY(hn_tpl_eval(r, kid->a, &key));
        HN_TRY(hn_tpl_eval(r, kid->b, &value));
        HN_TRY(hn_tv_dict_set(r, out->as.dict, &key, &value));
    }
    return HN_OK;
}

static hn_status eval_item(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    hn_tval of, key;
    HN_TRY(hn_tpl_eval(r, node->a, &of));
    if (node->b->kind != HN_TPL_SLICE) {
        HN_TRY(hn_tpl_eval(r, node->b, &key));
        return hn_tpl_get_item(r, &of, &key, out);
    }
    hn_tval bounds[3] = { hn_tv_none(), hn_tv_none(), hn_tv_none() };
    const hn_tpl_node *const parts[3] = { node->b->a, node->b->b, node->b->c };
    for (int i = 0; i < 3; i++)
        if (parts[i])
            HN_TRY(hn_tpl_eval(r, parts[i], &bounds[i]));
    return hn_tpl_get_slice(r, &of, bounds, out);
}

static hn_status add_keyword(hn_tpl_run *r, hn_tpl_keyword *keywords, size_t *n,
                             const hn_tpl_keyword *keyword)
{
    for (size_t i = 0; i < *n; i++)
        HN_REQUIRE(strcmp(keywords[i].name, keyword->name) != 0, HN_ERR_FORMAT,
                   "got multiple values for keyword argument '%s'", keyword->name);
    keywords[(*n)++] = *keyword;
    return hn_tpl_step(r, (int64_t)*n);
}

static hn_status eval_keywords(hn_tpl_run *r, const hn_tpl_node *node, hn_tpl_call *c)
{
    hn_tval more = { 0 };
    size_t room = 0;
    for (const hn_tpl_node *kid = node->more; kid; kid = kid->next)
        room++;
    if (node->d) {
        HN_TRY(hn_tpl_eval(r, node->d, &more));
        HN_REQUIRE(more.kind == HN_TV_DICT, HN_ERR_FORMAT,
                   "argument after ** must be a mapping, not %s", hn_tv_type(&more));
        room += more.as.dict->n;
    }
    if (!room)
        return HN_OK;
    hn_tpl_keyword *keywords = hn_tpl_new(r, room * sizeof *keywords), one;
    if (!keywords)
        return HN_ERR_MEMORY;
    for (const hn_tpl_node *kid = node->more; kid; kid = kid->next) {
        one.name = kid->name;
        HN_TRY(hn_tpl_eval(r, kid->a, &one.value));
        HN_TRY(add_keyword(r, keywords, &c->n_keywords, &one));
    }
    for (size_t i = 0; node->d && i < more.as.dict->n; i++) {
        const hn_tval *key = &more.as.dict->keys[i];
        HN_REQUIRE(key->kind == HN_TV_TEXT, HN_ERR_FORMAT, "keywords must be strings");
        hn_tval copy;
        HN_TRY(hn_tv_copy_text(r, key->as.text.text, key->as.text.bytes, &copy));
        one = (hn_tpl_keyword){ copy.as.text.text, more.as.dict->values[i] };
        HN_TRY(add_keyword(r, keywords, &c->n_keywords, &one));
    }
    c->keywords = keywords;
    return HN_OK;
}

/* The arguments of a call, filter or test. */
static hn_status eval_arguments(hn_tpl_run *r, const hn_tpl_node *node, hn_tpl_call *c)
{
    if (node->kids || node->c) {
        hn_tval args;
        HN_TRY(eval_items(r, node, &args));
        if (node->c) {
            hn_tval more, list;
            HN_TRY(hn_tpl_eval(r, node->c, &more));
            HN_TRY(hn_tv_collect(r, &more, &list));
            for (size_t i = 0; i < list.as.list->n; i++)
                HN_TRY(hn_tv_list_add(r, args.as.list, &list.as.list->at[i]));
        }
        c->args = args.as.list->at;
        c->n_args = args.as.list->n;
    }
    return eval_keywords(r, node, c);
}

hn_status hn_tpl_call_node(hn_tpl_run *r, const hn_tpl_node *node,
                           const hn_tval *caller_or_null, hn_tval *out)
{
    hn_tval callee;
    hn_tpl_call call = { .name = node->a->name };
    HN_TRY(hn_tpl_eval(r, node->a, &callee));
    HN_TRY(eval_arguments(r, node, &call));
    if (caller_or_null) { /* one more keyword, as jinja2 does it */
        hn_tpl_keyword *keywords = hn_tpl_new(r, (call.n_keywords + 1) * sizeof *keywords);
        if (!keywords)
            return HN_ERR_MEMORY;
        if (call.n_keywords)
            memcpy(keywords, call.keywords, call.n_keywords * sizeof *keywords);
        const hn_tpl_keyword caller = { "caller", *caller_or_null };
        HN_TRY(add_keyword(r, keywords, &call.n_keywords, &caller));
        call.keywords = keywords;
    }
    return hn_tpl_call_value(r, &callee, &call, out);
}

/* Of a filter block or set block the value is what was captured: *out, where node->a is NULL.
 */
static hn_status eval_filter(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    hn_tpl_call call = { .self = *out, .name = node->name };
    if (node->a)
        HN_TRY(hn_tpl_eval(r, node->a, &call.self));
    HN_REQUIRE(node->function, HN_ERR_FORMAT, "No %s named '%s' found.",
               node->kind == HN_TPL_FILTER ? "filter" : "test", node->name);
    HN_TRY(eval_arguments(r, node, &call));
    return hn_tpl_call_fn(r, node->function, &call, out);
}

static hn_status compare(hn_tpl_run *r, char op, const hn_tval *a, const hn_tval *b, bool *out)
{
    int order = 0;
    switch (op) {
    case '=':
        return hn_tv_equal(r, a, b, out);
    case '!':
        HN_TRY(hn_tv_equal(r, a, b, out));
        *out = !*out;
        return HN_OK;
    case 'i':
        return hn_tv_contains(r, b, a, out);
    case 'n':
        HN_TRY(hn_tv_contains(r, b, a, out));
        *out = !*out;
        return HN_OK;
    default:
        HN_TRY(hn_tv_order(r, a, b,
                           op == '<'   ? "<"
                           : op == '>' ? ">"
                           : op == 'l' ? "<="
                                       : ">=",
                           &order));
        *out = op == '<'   ? order == -1
               : op == '>' ? order == 1
               : op == 'l' ? order <= 0
                           : (order == 0 || order == 1);
        return HN_OK;
    }
}

/* a < b < c holds where both do; c is not looked at where the first does not. */
static hn_status eval_compare(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    hn_tval left, right;
    bool holds = true;
    HN_TRY(hn_tpl_eval(r, node->a, &left));
    for (const hn_tpl_node *kid = node->kids; kid && holds; kid = kid->next) {
        HN_TRY(hn_tpl_eval(r, kid->a, &right));
        HN_TRY(compare(r, kid->op, &left, &right, &holds));
        left = right;
    }
    *out = hn_tv_bool(holds);
    return HN_OK;
}

static hn_status eval_concat(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    hn_tpl_str text = hn_tpl_str_on(&r->budget.heap);
    hn_status status = HN_OK;
    for (const hn_tpl_node *kid = node->kids; kid && status == HN_OK; kid = kid->next) {
        hn_tval item;
        status = hn_tpl_eval(r, kid, &item);
        if (status == HN_OK)
            status = hn_tv_write(r, &item, &text);
        if (status == HN_OK)
            status = hn_tpl_fits(r, &text.text);
    }
    if (status == HN_OK)
        status = hn_tv_from_words(r, &text, out);
    hn_tpl_str_free(&text);
    return status;
}

static hn_status eval_if_else(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    hn_tval test;
    bool holds = false;
    HN_TRY(hn_tpl_eval(r, node->a, &test));
    HN_TRY(hn_tv_is_true(r, &test, &holds));
    if (holds)
        return hn_tpl_eval(r, node->b, out);
    if (node->c)
        return hn_tpl_eval(r, node->c, out);
    return hn_tv_undefined(
        r, "the inline if-expression evaluated to false and no else section was defined.", NULL,
        NULL, out);
}

static hn_status eval_and_or(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    bool holds = false;
    HN_TRY(hn_tpl_eval(r, node->a, out));
    HN_TRY(hn_tv_is_true(r, out, &holds));
    return holds == (node->kind == HN_TPL_AND) ? hn_tpl_eval(r, node->b, out) : HN_OK;
}

static hn_status eval_operator(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    hn_tval a, b;
    bool holds = false;
    HN_TRY(hn_tpl_eval(r, node->a, &a));
    switch (node->kind) {
    case HN_TPL_NOT:
        HN_TRY(hn_tv_is_true(r, &a, &holds));
        *out = hn_tv_bool(!holds);
        return HN_OK;
    case HN_TPL_NEG:
        return hn_tpl_negate(r, &a, out);
    case HN_TPL_POS:
        HN_TRY(hn_tpl_negate(r, &a, &b));
        *out = hn_tv_is_integer(&a) ? hn_tv_int(hn_tv_integer(&a)) : a;
        return HN_OK;
    default:
        HN_TRY(hn_tpl_eval(r, node->b, &b));
        return hn_tpl_binary(r, node->op, &a, &b, out);
    }
}

static hn_status eval_any(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    hn_tval of;
    switch (node->kind) {
    case HN_TPL_CONST_NONE:
        *out = hn_tv_none();
        return HN_OK;
    case HN_TPL_CONST_BOOL:
        *out = hn_tv_bool(node->flag);
        return HN_OK;
    case HN_TPL_CONST_INT:
        *out = hn_tv_int(node->integer);
        return HN_OK;
    case HN_TPL_CONST_FLOAT:
        *out = hn_tv_float(node->number);
        return HN_OK;
    case HN_TPL_CONST_TEXT:
        *out = (hn_tval){ .kind = HN_TV_TEXT, .as.text = hn_tpl_owned(r->t, node->text) };
        return HN_OK;
    case HN_TPL_VARIABLE:
        return find_variable(r, node, out);
    case HN_TPL_LIST:
    case HN_TPL_TUPLE:
        return eval_items(r, node, out);
    case HN_TPL_DICT:
        return eval_dict(r, node, out);
    case HN_TPL_ATTR:
        HN_TRY(hn_tpl_eval(r, node->a, &of));
        return hn_tpl_get_attr(r, &of, node->name, out);
    case HN_TPL_ITEM:
        return eval_item(r, node, out);
    case HN_TPL_CALL:
        return hn_tpl_call_node(r, node, NULL, out);
    case HN_TPL_FILTER:
    case HN_TPL_TEST:
        return eval_filter(r, node, out);
    case HN_TPL_COMPARE:
        return eval_compare(r, node, out);
    case HN_TPL_CONCAT:
        return eval_concat(r, node, out);
    case HN_TPL_IF_ELSE:
        return eval_if_else(r, node, out);
    case HN_TPL_AND:
    case HN_TPL_OR:
        return eval_and_or(r, node, out);
    case HN_TPL_SLICE:
        return hn_fail(HN_ERR_FORMAT, "a slice among several subscripts");
    default:
        return eval_operator(r, node, out);
    }
}

/* A chain of filters whose innermost has no value takes *out as it. */
hn_status hn_tpl_eval(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    HN_TRY(hn_tpl_step(r, 1));
    hn_status status = hn_tpl_enter(r);
    if (status == HN_OK)
        status = eval_any(r, node, out);
    if (status == HN_OK)
        hn_tpl_leave(r);
    else if (!r->failed_line)
        r->failed_line = node->line;
    return status;
}
