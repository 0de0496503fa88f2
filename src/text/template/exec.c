/* Statements, scopes and macros.
 *
 * A scope is a list of names, and scopes are searched outwards. Loops, macros, blocks that
 * capture and `with` have their own; `if` has none. A macro sees the scope where it was made.
 */
#include "text/template/fn.h"

#include <string.h>

hn_status hn_tpl_emit(hn_tpl_run *r, hn_tpl_text text)
{
    hn_tpl_put(r->out, text);
    HN_REQUIRE(r->out->text.length <= r->options.max_bytes, HN_ERR_FORMAT,
               "output of more than %zu bytes", r->options.max_bytes);
    return hn_tpl_charge(r, text.bytes);
}

void hn_tpl_capture_begin(hn_tpl_run *r, hn_tpl_capture *c)
{
    c->text = hn_tpl_str_on(&r->budget.heap);
    c->before = r->out;
    r->out = &c->text;
    r->n_captures++;
}

hn_status hn_tpl_capture_end(hn_tpl_run *r, hn_tpl_capture *c, hn_status status, hn_tval *out)
{
    r->out = c->before;
    r->n_captures--;
    if (status == HN_OK)
        status = hn_tv_from_words(r, &c->text, out);
    hn_tpl_str_free(&c->text);
    return status;
}

hn_status hn_tpl_scope_new(hn_tpl_run *r, hn_tpl_scope *around, const char **unset,
                           hn_tpl_scope **out)
{
    *out = hn_tpl_new(r, sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    (*out)->around = around;
    const hn_tval missing = { 0 };
    for (; unset && *unset; unset++)
        HN_TRY(hn_tpl_set(r, *out, *unset, &missing));
    return HN_OK;
}

hn_status hn_tpl_set(hn_tpl_run *r, hn_tpl_scope *scope, const char *name, const hn_tval *value)
{
    for (size_t i = 0; i < scope->n; i++)
        if (scope->at[i].name == name) {
            scope->at[i].value = *value;
            return HN_OK;
        }
    if (scope->n == scope->room) {
        const size_t room = scope->room ? 2 * scope->room : 4;
        hn_tpl_variable *grown = hn_tpl_new(r, room * sizeof *grown);
        if (!grown)
            return HN_ERR_MEMORY;
        if (scope->n)
            memcpy(grown, scope->at, scope->n * sizeof *grown);
        scope->at = grown;
        scope->room = room;
    }
    scope->at[scope->n++] = (hn_tpl_variable){ name, *value };
    return HN_OK;
}

static hn_status find_namespace(hn_tpl_run *r, const hn_tpl_node *target, hn_tval *out)
{
    const hn_tpl_node name = { .kind = HN_TPL_VARIABLE,
                               .name = target->name,
                               .line = target->line };
    HN_TRY(hn_tpl_eval(r, &name, out));
    HN_REQUIRE(out->kind == HN_TV_NAMESPACE, HN_ERR_FORMAT,
               "cannot assign attribute on non-namespace object");
    return HN_OK;
}

/* Namespaces are looked at before the value is computed. */
static hn_status check_namespaces(hn_tpl_run *r, const hn_tpl_node *target)
{
    hn_tval ns;
    if (target->kind == HN_TPL_NS_ATTR)
        return find_namespace(r, target, &ns);
    for (const hn_tpl_node *kid = target->kids; kid; kid = kid->next)
        HN_TRY(check_namespaces(r, kid));
    return HN_OK;
}

hn_status hn_tpl_assign(hn_tpl_run *r, const hn_tpl_node *target, const hn_tval *value)
{
    if (target->kind == HN_TPL_VARIABLE)
        return hn_tpl_set(r, r->scope, target->name, value);
    if (target->kind == HN_TPL_NS_ATTR) {
        hn_tval ns;
        HN_TRY(find_namespace(r, target, &ns));
        HN_REQUIRE(target->name2[0] != '_', HN_ERR_FORMAT,
                   "Chat templates cannot store underscore-prefixed attributes on a namespace, "
                   "but got '%s'. Please rename the attribute.",
                   target->name2);
        const hn_tval key = hn_tv_text(target->name2, strlen(target->name2));
        return hn_tv_dict_set(r, ns.as.dict, &key, value);
    }
    size_t n = 0;
    hn_tval items;
    for (const hn_tpl_node *kid = target->kids; kid; kid = kid->next)
        n++;
    hn_tpl_iter it;
    if (hn_tv_iter(r, value, &it) != HN_OK)
        return hn_fail(HN_ERR_FORMAT, "cannot unpack non-iterable %s object",
                       hn_tv_type(value));
    HN_TRY(hn_tv_collect(r, value, &items));
    HN_REQUIRE(items.as.list->n >= n, HN_ERR_FORMAT,
               "not enough values to unpack (expected %zu, got %zu)", n, items.as.list->n);
    HN_REQUIRE(items.as.list->n == n, HN_ERR_FORMAT, "too many values to unpack (expected %zu)",
               n);
    size_t i = 0;
    for (const hn_tpl_node *kid = target->kids; kid; kid = kid->next)
        HN_TRY(hn_tpl_assign(r, kid, &items.as.list->at[i++]));
    return HN_OK;
}

static hn_status exec_in(hn_tpl_run *r, hn_tpl_scope *scope, const hn_tpl_node *body)
{
    hn_tpl_scope *before = r->scope;
    r->scope = scope;
    const hn_status status = hn_tpl_exec(r, body);
    r->scope = before;
    return status;
}

/* A body in its own scope, as text, then through the filters if there are any. */
static hn_status capture(hn_tpl_run *r, const hn_tpl_node *node, const hn_tpl_node *filters,
                         hn_tval *out)
{
    hn_tpl_scope *scope = NULL, *before = r->scope;
    hn_tpl_capture c;
    HN_TRY(hn_tpl_scope_new(r, r->scope, node->unset, &scope));
    hn_tpl_capture_begin(r, &c);
    hn_status status = exec_in(r, scope, node->kids);
    HN_TRY(hn_tpl_capture_end(r, &c, status, out));
    if (!filters || r->flow != HN_TPL_ON)
        return HN_OK;
    r->scope = scope;
    status = hn_tpl_eval(r, filters, out);
    r->scope = before;
    return status;
}

static hn_status exec_set(hn_tpl_run *r, const hn_tpl_node *node)
{
    hn_tval value;
    if (node->kind == HN_TPL_SET) {
        HN_TRY(check_namespaces(r, node->a));
        HN_TRY(hn_tpl_eval(r, node->b, &value));
    } else {
        HN_TRY(capture(r, node, node->b, &value));
        if (r->flow != HN_TPL_ON)
            return HN_OK; /* break and continue leave the block, and what it wrote */
    }
    return hn_tpl_assign(r, node->a, &value);
}

static hn_status exec_filter_block(hn_tpl_run *r, const hn_tpl_node *node)
{
    hn_tval value;
    HN_TRY(capture(r, node, node->a, &value));
    if (r->flow != HN_TPL_ON)
        return HN_OK;
    return hn_tv_write(r, &value, r->out);
}

static hn_status exec_with(hn_tpl_run *r, const hn_tpl_node *node)
{
    hn_tpl_scope *scope = NULL, *before = r->scope;
    HN_TRY(hn_tpl_scope_new(r, r->scope, node->unset, &scope));
    for (const hn_tpl_node *pair = node->params; pair; pair = pair->next) {
        hn_tval value;
        HN_TRY(hn_tpl_eval(r, pair->b, &value));
        r->scope = scope;
        const hn_status status = hn_tpl_assign(r, pair->a, &value);
        r->scope = before;
        HN_TRY(status);
    }
    return exec_in(r, scope, node->kids);
}

/* What a body may name without having it as a parameter: caller, kwargs, varargs. `used` says
 * which keywords went to parameters. */
static hn_status bind_specials(hn_tpl_run *r, const hn_tpl_node *node, const hn_tpl_call *c,
                               uint64_t used, hn_tpl_scope *scope)
{
    size_t n_params = 0;
    bool has_caller = false;
    for (const hn_tpl_node *p = node->params; p; p = p->next, n_params++)
        has_caller |= !strcmp(p->name, "caller");
    hn_tval caller, kwargs, varargs;
    HN_TRY(hn_tv_undefined(r, "No caller defined", NULL, NULL, &caller));
    HN_TRY(hn_tv_dict_new(r, &kwargs));
    for (size_t i = 0; i < c->n_keywords; i++) {
        const char *name = c->keywords[i].name;
        const hn_tval key = hn_tv_text(name, strlen(name));
        if (used >> i & 1)
            continue;
        if (node->uses_caller && !has_caller && !strcmp(name, "caller"))
            caller = c->keywords[i].value;
        else if (!node->uses_kwargs)
            return hn_fail(HN_ERR_FORMAT, "macro '%s' takes no keyword argument '%s'",
                           node->name ? node->name : "None", name);
        else
            HN_TRY(hn_tv_dict_set(r, kwargs.as.dict, &key, &c->keywords[i].value));
    }
    HN_TRY(hn_tv_list_new(r, HN_TV_TUPLE, &varargs));
    for (size_t i = n_params; i < c->n_args; i++)
        HN_TRY(hn_tv_list_add(r, varargs.as.list, &c->args[i]));
    HN_REQUIRE(node->uses_varargs || c->n_args <= n_params, HN_ERR_FORMAT,
               "macro '%s' takes not more than %zu argument(s)",
               node->name ? node->name : "None", n_params);
    static const char *const names[] = { "caller", "kwargs", "varargs" };
    const hn_tval *const values[] = { &caller, &kwargs, &varargs };
    const bool uses[] = { node->uses_caller && !has_caller, node->uses_kwargs,
                          node->uses_varargs };
    for (int i = 0; i < 3; i++) {
        const char *name = hn_tpl_interned(r->t, (hn_tpl_text){ names[i], strlen(names[i]) });
        if (uses[i] && name)
            HN_TRY(hn_tpl_set(r, scope, name, values[i]));
    }
    return HN_OK;
}

/* Parameters in order: given by place, by name, by default, or undefined. */
static hn_status bind_params(hn_tpl_run *r, const hn_tpl_macro *m, const hn_tpl_call *c,
                             hn_tpl_scope *scope)
{
    uint64_t used = 0;
    size_t at = 0;
    const hn_tval missing = { 0 };
    HN_REQUIRE(c->n_keywords <= 64, HN_ERR_FORMAT, "more than 64 keyword arguments");
    for (const hn_tpl_node *p = m->node->params; p; p = p->next, at++) {
        const hn_tval *value = at < c->n_args ? &c->args[at] : &missing;
        for (size_t i = 0; at >= c->n_args && i < c->n_keywords; i++)
            if (!strcmp(c->keywords[i].name, p->name)) {
                value = &c->keywords[i].value;
                used |= (uint64_t)1 << i;
            }
        HN_TRY(hn_tpl_set(r, scope, p->name, value));
    }
    HN_TRY(bind_specials(r, m->node, c, used, scope));
    for (const hn_tpl_node *p = m->node->params; p; p = p->next) {
        hn_tval value = { 0 };
        for (size_t i = 0; i < scope->n; i++)
            if (scope->at[i].name == p->name)
                value = scope->at[i].value;
        if (value.kind != HN_TV_MISSING)
            continue;
        if (p->a) {
            HN_TRY(hn_tpl_eval(r, p->a, &value));
        } else {
            hn_str hint = hn_str_on(&r->budget.heap);
            hn_tval text;
            hn_str_print(&hint, "parameter '%s' was not provided", p->name);
            const hn_status status = hn_tv_from_str(r, &hint, &text);
            hn_str_free(&hint);
            HN_TRY(status);
            HN_TRY(hn_tv_undefined(r, text.as.text.text, NULL, NULL, &value));
        }
        HN_TRY(hn_tpl_set(r, scope, p->name, &value));
    }
    return HN_OK;
}

hn_status hn_tpl_call_macro(hn_tpl_run *r, const hn_tpl_macro *m, const hn_tpl_call *c,
                            hn_tval *out)
{
    hn_tpl_scope *scope = NULL, *before = r->scope;
    hn_tpl_capture taken;
    HN_TRY(hn_tpl_enter(r));
    HN_TRY(hn_tpl_scope_new(r, m->scope, m->node->unset, &scope));
    r->scope = scope;
    hn_status status = bind_params(r, m, c, scope);
    hn_tpl_capture_begin(r, &taken);
    if (status == HN_OK)
        status = hn_tpl_exec(r, m->node->more);
    status = hn_tpl_capture_end(r, &taken, status, out);
    r->scope = before;
    if (status == HN_OK)
        hn_tpl_leave(r);
    return status;
}

static hn_status new_macro(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out)
{
    hn_tpl_macro *m = hn_tpl_new(r, sizeof *m);
    if (!m)
        return HN_ERR_MEMORY;
    *m = (hn_tpl_macro){ node, r->scope, node->name };
    *out = (hn_tval){ .kind = HN_TV_MACRO, .as.macro = m };
    return HN_OK;
}

static hn_status exec_call_block(hn_tpl_run *r, const hn_tpl_node *node)
{
    hn_tval caller, result;
    HN_TRY(new_macro(r, node, &caller));
    HN_TRY(hn_tpl_call_node(r, node->a, &caller, &result));
    return hn_tv_write(r, &result, r->out);
}

/* The place is known only where the block writes to the output itself. */
static hn_status exec_generation(hn_tpl_run *r, const hn_tpl_node *node)
{
    hn_tpl_scope *scope = NULL;
    const size_t begin = r->out->text.length;
    const hn_tpl_call nothing = { 0 };
    HN_TRY(hn_tpl_scope_new(r, r->scope, node->unset, &scope));
    HN_TRY(bind_specials(r, node, &nothing, 0, scope));
    HN_TRY(exec_in(r, scope, node->more));
    if (!r->spans)
        return HN_OK;
    HN_REQUIRE(!r->n_captures, HN_ERR_UNSUPPORTED,
               "a generation block inside a macro or captured block has no known place");
    hn_template_spans *spans = r->spans;
    if (spans->n == spans->room) {
        const size_t room = spans->room ? 2 * spans->room : 16;
        HN_REQUIRE(room <= r->options.max_memory / 4 / sizeof *spans->at, HN_ERR_MEMORY,
                   "%zu generation blocks", spans->n); /* they outlive the budget's heap */
        hn_template_span *grown =
            hn_realloc_array(r->t->heap, HN_TAG_TEXT, spans->at, room, sizeof *grown);
        r->budget.is_dry = r->budget.is_dry || !grown;
        if (!grown)
            return HN_ERR_MEMORY;
        spans->at = grown;
        spans->room = room;
    }
    spans->at[spans->n++] = (hn_template_span){ begin, r->out->text.length };
    return HN_OK;
}

static hn_status exec_print(hn_tpl_run *r, const hn_tpl_node *node)
{
    hn_tval value;
    HN_TRY(hn_tpl_eval(r, node->a, &value));
    HN_TRY(hn_tv_write(r, &value, r->out));
    return hn_tpl_emit(r, (hn_tpl_text){ "", 0 });
}

static hn_status exec_if(hn_tpl_run *r, const hn_tpl_node *node)
{
    for (;;) {
        hn_tval test;
        bool holds = false;
        HN_TRY(hn_tpl_eval(r, node->a, &test));
        HN_TRY(hn_tv_is_true(r, &test, &holds));
        if (holds)
            return hn_tpl_exec(r, node->kids);
        if (!node->more || node->more->kind != HN_TPL_IF || !node->more->flag)
            return hn_tpl_exec(r, node->more);
        node = node->more;
    }
}

static hn_status exec_macro(hn_tpl_run *r, const hn_tpl_node *node)
{
    hn_tval macro;
    HN_TRY(new_macro(r, node, &macro));
    return hn_tpl_set(r, r->scope, node->name, &macro);
}

static hn_status exec_one(hn_tpl_run *r, const hn_tpl_node *node)
{
    switch (node->kind) {
    case HN_TPL_OUTPUT:
        return hn_tpl_emit(r, hn_tpl_owned(r->t, node->text));
    case HN_TPL_PRINT:
        return exec_print(r, node);
    case HN_TPL_FOR:
        return hn_tpl_exec_for(r, node);
    case HN_TPL_IF:
        return exec_if(r, node);
    case HN_TPL_MACRO:
        return exec_macro(r, node);
    case HN_TPL_CALL_BLOCK:
        return exec_call_block(r, node);
    case HN_TPL_FILTER_BLOCK:
        return exec_filter_block(r, node);
    case HN_TPL_SET:
    case HN_TPL_SET_BLOCK:
        return exec_set(r, node);
    case HN_TPL_WITH:
        return exec_with(r, node);
    case HN_TPL_GENERATION:
        return exec_generation(r, node);
    default:
        r->flow = node->kind == HN_TPL_BREAK ? HN_TPL_LEAVE : HN_TPL_AGAIN;
        return HN_OK;
    }
}

hn_status hn_tpl_exec(hn_tpl_run *r, const hn_tpl_node *body)
{
    HN_TRY(hn_tpl_enter(r));
    for (const hn_tpl_node *node = body; node && r->flow == HN_TPL_ON; node = node->next) {
        hn_status status = hn_tpl_step(r, 1);
        if (status == HN_OK)
            status = exec_one(r, node);
        if (status != HN_OK) {
            if (!r->failed_line)
                r->failed_line = node->line;
            return status;
        }
    }
    hn_tpl_leave(r);
    return HN_OK;
}
