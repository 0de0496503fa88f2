/* Where names live, as jinja2 decides it before anything runs: a name that a scope sets, and
 * did not read before, is undefined there until it is set, even if the world outside has one.
 * Under `if` that is not certain, so the world outside shows through. */
#include "text/template/tree.h"

#include <string.h>

typedef struct symbol {
    const char *name;
    bool is_stored, is_unset, is_declared; /* declared: a loop's or macro's own */
} symbol;

typedef struct symbols {
    struct symbols *around;
    symbol *at;
    size_t n, room;
} symbols;

typedef struct resolver {
    hn_template *t;
    hn_status status;
    int depth;
} resolver;

/* Operators in a row lean left, so an expression may be deeper than what the parser went
 * through. */
enum { MAX_DEPTH = 1000 };

static symbol *find(const symbols *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].name == name)
            return &s->at[i];
    return NULL;
}

static const symbol *find_around(const symbols *s, const char *name)
{
    const symbol *found = NULL;
    for (; s && !found; s = s->around)
        found = find(s, name);
    return found;
}

static bool is_known(const symbols *s, const char *name) { return find_around(s, name) != NULL; }

static void add(resolver *x, symbols *s, symbol one)
{
    if (s->n == s->room) {
        const size_t room = s->room ? 2 * s->room : 16;
        symbol *grown = hn_realloc_array(x->t->heap, HN_TAG_TEXT, s->at, room, sizeof *grown);
        if (!grown) {
            x->status = HN_ERR_MEMORY;
            return;
        }
        s->at = grown;
        s->room = room;
    }
    s->at[s->n++] = one;
}

static void load(resolver *x, symbols *s, const char *name)
{
    const symbol *known = find_around(s, name);
    if (!known || (!known->is_unset && !known->is_declared))
        hn_tpl_note_read(x->t, name);
    if (!known)
        add(x, s, (symbol){ .name = name });
}

static void store(resolver *x, symbols *s, const char *name)
{
    symbol *known = find(s, name);
    if (known)
        known->is_stored = true;
    else
        add(x, s, (symbol){ name, true, !s->around || !is_known(s->around, name), false });
}

static void declare(resolver *x, symbols *s, const char *name)
{
    symbol *known = find(s, name);
    if (known)
        *known = (symbol){ name, true, false, true };
    else
        add(x, s, (symbol){ name, true, false, true });
}

/* Every name that an expression reads. */
static void read_names(resolver *x, symbols *s, const hn_tpl_node *node)
{
    if (!node || x->status != HN_OK)
        return;
    if (x->depth >= MAX_DEPTH) {
        x->status = hn_fail(HN_ERR_FORMAT, "%s:%d: an expression nested deeper than %d",
                            x->t->name, node->line, MAX_DEPTH);
        return;
    }
    x->depth++;
    if (node->kind == HN_TPL_VARIABLE || node->kind == HN_TPL_NS_ATTR)
        load(x, s, node->name);
    read_names(x, s, node->a);
    read_names(x, s, node->b);
    read_names(x, s, node->c);
    read_names(x, s, node->d);
    for (const hn_tpl_node *kid = node->kids; kid; kid = kid->next)
        read_names(x, s, kid);
    for (const hn_tpl_node *kid = node->more; kid; kid = kid->next)
        read_names(x, s, kid);
    x->depth--;
}

static void set_target(resolver *x, symbols *s, const hn_tpl_node *target, bool is_param)
{
    if (target->kind == HN_TPL_NS_ATTR)
        load(x, s, target->name);
    else if (target->kind == HN_TPL_VARIABLE && is_param)
        declare(x, s, target->name);
    else if (target->kind == HN_TPL_VARIABLE)
        store(x, s, target->name);
    for (const hn_tpl_node *kid = target->kids; kid; kid = kid->next)
        set_target(x, s, kid, is_param);
}

static void walk(resolver *x, symbols *s, const hn_tpl_node *body);

/* What is read where it hides nothing: a loop's condition, of which `targets_or_null` are its own, or a block's filter. */
static void read_apart(resolver *x, symbols *around, const hn_tpl_node *targets_or_null, const hn_tpl_node *node)
{
    symbols s = { .around = around };
    if (targets_or_null)
        set_target(x, &s, targets_or_null, true);
    read_names(x, &s, node);
    hn_free(x->t->heap, s.at);
}

/* What a branch does, on a copy; then names stored there are no longer unset. */
static void branch(resolver *x, symbols *s, const hn_tpl_node *body)
{
    symbols copy = { .around = s->around };
    for (size_t i = 0; i < s->n; i++)
        add(x, &copy, s->at[i]);
    walk(x, &copy, body);
    for (size_t i = 0; i < copy.n && x->status == HN_OK; i++) {
        symbol *known = find(s, copy.at[i].name);
        if (copy.at[i].is_stored && (!known || !known->is_stored))
            copy.at[i].is_unset = false;
        if (!known)
            add(x, s, copy.at[i]);
        else
            *known = copy.at[i];
    }
    hn_free(x->t->heap, copy.at);
}

/* The names of this scope; scopes within are looked at later. */
static void walk(resolver *x, symbols *s, const hn_tpl_node *body)
{
    for (const hn_tpl_node *node = body; node && x->status == HN_OK; node = node->next) {
        switch (node->kind) {
        case HN_TPL_FOR:
            read_names(x, s, node->b);
            read_apart(x, s, node->a, node->c);
            break;
        case HN_TPL_IF:
            read_names(x, s, node->a);
            branch(x, s, node->kids);
            branch(x, s, node->more);
            break;
        case HN_TPL_MACRO:
            store(x, s, node->name);
            break;
        case HN_TPL_SET:
            read_names(x, s, node->b);
            set_target(x, s, node->a, false);
            break;
        case HN_TPL_SET_BLOCK:
            read_apart(x, s, NULL, node->b);
            set_target(x, s, node->a, false);
            break;
        case HN_TPL_WITH:
            for (const hn_tpl_node *pair = node->params; pair; pair = pair->next)
                read_names(x, s, pair->b);
            break;
        case HN_TPL_PRINT:
        case HN_TPL_CALL_BLOCK:
        case HN_TPL_FILTER_BLOCK:
            read_names(x, s, node->a);
            break;
        default:
            break;
        }
    }
}

static void resolve_within(resolver *x, symbols *s, hn_tpl_node *body);

/* Walks a scope whose parameters are declared, writes down what it hides, goes inwards. */
static void resolve_scope(resolver *x, symbols *s, hn_tpl_node *body, const char ***unset)
{
    size_t n = 0;
    walk(x, s, body);
    for (size_t i = 0; i < s->n; i++)
        n += s->at[i].is_unset;
    if (n) {
        *unset = hn_tpl_arena_new(&x->t->arena, (n + 1) * sizeof **unset);
        if (!*unset)
            x->status = HN_ERR_MEMORY;
    }
    for (size_t i = 0, to = 0; *unset && i < s->n; i++)
        if (s->at[i].is_unset)
            (*unset)[to++] = s->at[i].name;
    if (x->status == HN_OK)
        resolve_within(x, s, body);
    hn_free(x->t->heap, s->at);
    *s = (symbols){ .around = s->around };
}

static void resolve_for(resolver *x, symbols *s, hn_tpl_node *node)
{
    symbols inner = { .around = s };
    const char *loop = hn_tpl_interned(x->t, (hn_tpl_text){ "loop", 4 });
    if (loop)
        declare(x, &inner, loop);
    set_target(x, &inner, node->a, true);
    resolve_scope(x, &inner, node->kids, &node->unset);
    resolve_scope(x, &inner, node->more, &node->unset_more);
}

static void resolve_function(resolver *x, symbols *s, hn_tpl_node *node)
{
    static const char *const specials[] = { "caller", "kwargs", "varargs" };
    const bool uses[] = { node->uses_caller, node->uses_kwargs, node->uses_varargs };
    symbols inner = { .around = s };
    for (int i = 0; i < 3; i++) {
        const char *name =
            hn_tpl_interned(x->t, (hn_tpl_text){ specials[i], strlen(specials[i]) });
        if (name && uses[i])
            declare(x, &inner, name);
    }
    for (const hn_tpl_node *p = node->params; p; p = p->next)
        declare(x, &inner, p->name);
    for (const hn_tpl_node *p = node->params; p; p = p->next)
        read_names(x, &inner, p->a);
    resolve_scope(x, &inner, node->more, &node->unset);
}

static void resolve_within(resolver *x, symbols *s, hn_tpl_node *body)
{
    for (hn_tpl_node *node = body; node && x->status == HN_OK; node = node->next) {
        symbols inner = { .around = s };
        switch (node->kind) {
        case HN_TPL_IF:
            resolve_within(x, s, node->kids);
            resolve_within(x, s, node->more);
            break;
        case HN_TPL_FOR:
            resolve_for(x, s, node);
            break;
        case HN_TPL_MACRO:
        case HN_TPL_CALL_BLOCK:
        case HN_TPL_GENERATION:
            resolve_function(x, s, node);
            break;
        case HN_TPL_WITH:
            for (const hn_tpl_node *pair = node->params; pair; pair = pair->next)
                set_target(x, &inner, pair->a, true);
            resolve_scope(x, &inner, node->kids, &node->unset);
            break;
        case HN_TPL_SET_BLOCK:
        case HN_TPL_FILTER_BLOCK:
            resolve_scope(x, &inner, node->kids, &node->unset);
            break;
        default:
            break;
        }
    }
}

hn_status hn_tpl_resolve(hn_template *t)
{
    resolver x = { .t = t };
    symbols top = { 0 };
    resolve_scope(&x, &top, t->body, &t->unset);
    return x.status;
}
