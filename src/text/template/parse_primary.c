/* What operators stand between: literals, names, calls, subscripts, filters and tests. */
#include "text/template/fn.h"

#include <string.h>

static bool is_op(const hn_tpl_parser *p, const char *op)
{
    return hn_tpl_is(p, HN_TPL_OP, op);
}
static bool accept_op(hn_tpl_parser *p, const char *op)
{
    return hn_tpl_accept(p, HN_TPL_OP, op);
}

hn_status hn_tpl_deeper(hn_tpl_parser *p)
{
    if (p->depth >= HN_TPL_MAX_NESTING)
        return hn_tpl_wrong(p, p->at->line, "nested deeper than %d", HN_TPL_MAX_NESTING);
    p->depth++;
    return HN_OK;
}

hn_status hn_tpl_unexpected(const hn_tpl_parser *p, const char *what)
{
    const hn_tpl_token *token = p->at;
    if (token->kind == HN_TPL_NAME || token->kind == HN_TPL_OP)
        return hn_tpl_wrong(p, token->line, "%s '%.*s'", what,
                            (int)(token->text.bytes < 80 ? token->text.bytes : 80),
                            token->text.text);
    static const char *const words[] = { [HN_TPL_END] = "end of template",
                                         [HN_TPL_PRINT_END] = "end of print statement",
                                         [HN_TPL_BLOCK_END] = "end of statement block" };
    const bool known = token->kind < sizeof words / sizeof *words && words[token->kind];
    return hn_tpl_wrong(p, token->line, "%s '%s'", what, known ? words[token->kind] : "token");
}

/* A left operand becomes the first of a new node. */
hn_status hn_tpl_wrap(hn_tpl_parser *p, hn_tpl_node_kind kind, char op, hn_tpl_node **node)
{
    hn_tpl_node *left = *node;
    HN_TRY(hn_tpl_node_new(p, kind, left->line, node));
    (*node)->a = left;
    (*node)->op = op;
    return HN_OK;
}

/* Long chains of operators lean left and are walked by recursion: they count as nesting. */
hn_status hn_tpl_chain(hn_tpl_parser *p, int *n)
{
    if (++*n > HN_TPL_MAX_NESTING)
        return hn_tpl_wrong(p, p->at->line, "more than %d operators in a row",
                            HN_TPL_MAX_NESTING);
    return HN_OK;
}

static hn_status parse_list(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(hn_tpl_node_new(p, HN_TPL_LIST, p->at[-1].line, out));
    for (hn_tpl_node **to = &(*out)->kids; !is_op(p, "]"); to = &(*to)->next) {
        if (to != &(*out)->kids)
            HN_TRY(hn_tpl_expect(p, HN_TPL_OP, ","));
        if (is_op(p, "]"))
            break;
        HN_TRY(hn_tpl_parse_expression(p, true, to));
    }
    return hn_tpl_expect(p, HN_TPL_OP, "]");
}

static hn_status parse_dict(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(hn_tpl_node_new(p, HN_TPL_DICT, p->at[-1].line, out));
    for (hn_tpl_node **to = &(*out)->kids; !is_op(p, "}"); to = &(*to)->next) {
        if (to != &(*out)->kids)
            HN_TRY(hn_tpl_expect(p, HN_TPL_OP, ","));
        if (is_op(p, "}"))
            break;
        HN_TRY(hn_tpl_node_new(p, HN_TPL_PAIR, p->at->line, to));
        HN_TRY(hn_tpl_parse_expression(p, true, &(*to)->a));
        HN_TRY(hn_tpl_expect(p, HN_TPL_OP, ":"));
        HN_TRY(hn_tpl_parse_expression(p, true, &(*to)->b));
    }
    return hn_tpl_expect(p, HN_TPL_OP, "}");
}

static bool at_tuple_end(const hn_tpl_parser *p, const char *end_or_null)
{
    return p->at->kind == HN_TPL_PRINT_END || p->at->kind == HN_TPL_BLOCK_END ||
           is_op(p, ")") || (end_or_null && hn_tpl_is(p, HN_TPL_NAME, end_or_null));
}

typedef hn_status (*item_parser)(hn_tpl_parser *p, bool flag, hn_tpl_node **out);

/* Items with commas between: a tuple if there is a comma, or `()`. */
static hn_status parse_items(hn_tpl_parser *p, item_parser item, bool flag,
                             const char *end_or_null, hn_tpl_node **out)
{
    hn_tpl_node *first = NULL;
    bool is_tuple = false;
    const int line = p->at->line;
    for (hn_tpl_node **to = &first;; to = &(*to)->next) {
        if (to != &first && !hn_tpl_accept(p, HN_TPL_OP, ","))
            break;
        is_tuple = to != &first;
        if (at_tuple_end(p, end_or_null))
            break;
        HN_TRY(item(p, flag, to));
        if (!is_op(p, ","))
            break;
    }
    is_tuple = is_tuple || (first && first->next);
    *out = first;
    if (!is_tuple)
        return HN_OK;
    HN_TRY(hn_tpl_node_new(p, HN_TPL_TUPLE, line, out));
    (*out)->kids = first;
    return HN_OK;
}

hn_status hn_tpl_parse_tuple(hn_tpl_parser *p, bool with_if, const char *end_or_null,
                             hn_tpl_node **out)
{
    HN_TRY(parse_items(p, hn_tpl_parse_expression, with_if, end_or_null, out));
    return *out ? HN_OK : hn_tpl_unexpected(p, "Expected an expression, got");
}

static hn_status parse_target_item(hn_tpl_parser *p, bool with_namespace, hn_tpl_node **out)
{
    const hn_tpl_token *token = p->at;
    if (with_namespace && token->kind == HN_TPL_NAME && token[1].kind == HN_TPL_OP &&
        token[1].text.bytes == 1 && token[1].text.text[0] == '.') {
        HN_TRY(hn_tpl_node_new(p, HN_TPL_NS_ATTR, token->line, out));
        HN_TRY(hn_tpl_take_name(p, &(*out)->name));
        p->at++;
        return hn_tpl_take_name(p, &(*out)->name2);
    }
    return hn_tpl_parse_primary(p, out);
}

static hn_status check_target(hn_tpl_parser *p, hn_tpl_node *node)
{
    switch (node->kind) {
    case HN_TPL_NS_ATTR:
        return HN_OK;
    case HN_TPL_VARIABLE:
        if (p->n_fors && !strcmp(node->name, "loop"))
            return hn_tpl_wrong(p, node->line,
                                "Can't assign to special loop variable in for-loop target");
        return HN_OK;
    case HN_TPL_TUPLE:
        for (hn_tpl_node *kid = node->kids; kid; kid = kid->next)
            HN_TRY(check_target(p, kid));
        return HN_OK;
    default:
        return hn_tpl_wrong(p, node->line, "can't assign to '%s'",
                            node->kind == HN_TPL_LIST   ? "list"
                            : node->kind == HN_TPL_DICT ? "dict"
                                                        : "const");
    }
}

hn_status hn_tpl_parse_target(hn_tpl_parser *p, const char *end_or_null, bool with_namespace,
                              hn_tpl_node **out)
{
    HN_TRY(parse_items(p, parse_target_item, with_namespace, end_or_null, out));
    if (!*out)
        return hn_tpl_unexpected(p, "Expected an expression, got");
    return check_target(p, *out);
}

hn_status hn_tpl_parse_parenthesis(hn_tpl_parser *p, hn_tpl_node **out)
{
    const int line = p->at->line;
    HN_TRY(parse_items(p, hn_tpl_parse_expression, true, NULL, out));
    if (!*out)
        HN_TRY(hn_tpl_node_new(p, HN_TPL_TUPLE, line, out));
    return hn_tpl_expect(p, HN_TPL_OP, ")");
}

static hn_status parse_name(hn_tpl_parser *p, hn_tpl_node **out)
{
    static const char *const words[] = { "true", "True", "false", "False", "none", "None" };
    for (int i = 0; i < 6; i++)
        if (hn_tpl_accept(p, HN_TPL_NAME, words[i])) {
            HN_TRY(hn_tpl_node_new(p, i < 4 ? HN_TPL_CONST_BOOL : HN_TPL_CONST_NONE,
                                   p->at[-1].line, out));
            (*out)->flag = i < 2;
            return HN_OK;
        }
    HN_TRY(hn_tpl_node_new(p, HN_TPL_VARIABLE, p->at->line, out));
    p->use.caller |= hn_tpl_is(p, HN_TPL_NAME, "caller");
    p->use.kwargs |= hn_tpl_is(p, HN_TPL_NAME, "kwargs");
    p->use.varargs |= hn_tpl_is(p, HN_TPL_NAME, "varargs");
    return hn_tpl_take_name(p, &(*out)->name);
}

/* Strings side by side are one. */
static hn_status parse_string(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(hn_tpl_node_new(p, HN_TPL_CONST_TEXT, p->at->line, out));
    (*out)->text = (p->at++)->text;
    size_t n = 0, bytes = (*out)->text.bytes;
    for (; p->at[n].kind == HN_TPL_STRING; n++)
        bytes += p->at[n].text.bytes;
    if (!n)
        return HN_OK;
    char *joined = hn_tpl_arena_new(&p->t->arena, bytes + 1);
    if (!joined)
        return HN_ERR_MEMORY;
    size_t at = (*out)->text.bytes;
    memcpy(joined, (*out)->text.text, at);
    for (; p->at->kind == HN_TPL_STRING; p->at++) {
        memcpy(joined + at, p->at->text.text, p->at->text.bytes);
        at += p->at->text.bytes;
    }
    (*out)->text = (hn_tpl_text){ joined, bytes };
    return HN_OK;
}

hn_status hn_tpl_parse_primary(hn_tpl_parser *p, hn_tpl_node **out)
{
    const hn_tpl_token *token = p->at;
    if (token->kind == HN_TPL_NAME)
        return parse_name(p, out);
    if (token->kind == HN_TPL_STRING)
        return parse_string(p, out);
    if (token->kind == HN_TPL_INT || token->kind == HN_TPL_FLOAT) {
        p->at++;
        HN_TRY(hn_tpl_node_new(
            p, token->kind == HN_TPL_INT ? HN_TPL_CONST_INT : HN_TPL_CONST_FLOAT, token->line,
            out));
        (*out)->integer = token->integer;
        (*out)->number = token->number;
        return HN_OK;
    }
    HN_TRY(hn_tpl_deeper(p));
    if (accept_op(p, "("))
        HN_TRY(hn_tpl_parse_parenthesis(p, out));
    else if (accept_op(p, "["))
        HN_TRY(parse_list(p, out));
    else if (accept_op(p, "{"))
        HN_TRY(parse_dict(p, out));
    else
        return hn_tpl_unexpected(p, "unexpected");
    p->depth--;
    return HN_OK;
}

/* Within brackets: an expression or a slice. */
static hn_status parse_subscript(hn_tpl_parser *p, hn_tpl_node **out)
{
    hn_tpl_node *parts[3] = { NULL };
    int i = 0;
    for (; i < 3; i++) {
        if (!is_op(p, ":") && !is_op(p, "]") && !is_op(p, ","))
            HN_TRY(hn_tpl_parse_expression(p, true, &parts[i]));
        if (i == 2 || !accept_op(p, ":"))
            break;
    }
    *out = parts[0];
    if (i == 0)
        return *out ? HN_OK : hn_tpl_unexpected(p, "unexpected");
    HN_TRY(hn_tpl_node_new(p, HN_TPL_SLICE, p->at->line, out));
    (*out)->a = parts[0];
    (*out)->b = parts[1];
    (*out)->c = parts[2];
    return HN_OK;
}

static hn_status parse_brackets(hn_tpl_parser *p, hn_tpl_node **out)
{
    hn_tpl_node *first = NULL;
    const int line = p->at[-1].line;
    for (hn_tpl_node **to = &first; !is_op(p, "]"); to = &(*to)->next) {
        if (to != &first)
            HN_TRY(hn_tpl_expect(p, HN_TPL_OP, ","));
        HN_TRY(parse_subscript(p, to));
    }
    *out = first;
    if (!first || first->next) {
        HN_TRY(hn_tpl_node_new(p, HN_TPL_TUPLE, line, out));
        (*out)->kids = first;
    }
    return hn_tpl_expect(p, HN_TPL_OP, "]");
}

static hn_status parse_argument(hn_tpl_parser *p, hn_tpl_node *call, hn_tpl_node ***arg,
                                hn_tpl_node ***keyword)
{
    const hn_tpl_token *token = p->at;
    if (accept_op(p, "*")) {
        if (call->c || call->d)
            return hn_tpl_wrong(p, token->line, "invalid syntax for function call expression");
        return hn_tpl_parse_expression(p, true, &call->c);
    }
    if (accept_op(p, "**")) {
        if (call->d)
            return hn_tpl_wrong(p, token->line, "invalid syntax for function call expression");
        return hn_tpl_parse_expression(p, true, &call->d);
    }
    const bool is_keyword = token->kind == HN_TPL_NAME && token[1].kind == HN_TPL_OP &&
                            token[1].text.bytes == 1 && token[1].text.text[0] == '=';
    if (call->d || (!is_keyword && (call->c || call->more)))
        return hn_tpl_wrong(p, token->line, "invalid syntax for function call expression");
    if (!is_keyword) {
        HN_TRY(hn_tpl_parse_expression(p, true, *arg));
        *arg = &(**arg)->next;
        return HN_OK;
    }
    HN_TRY(hn_tpl_node_new(p, HN_TPL_PAIR, token->line, *keyword));
    HN_TRY(hn_tpl_take_name(p, &(**keyword)->name));
    p->at++;
    HN_TRY(hn_tpl_parse_expression(p, true, &(**keyword)->a));
    *keyword = &(**keyword)->next;
    return HN_OK;
}

/* After "(": kids are positional, more are keywords, c is *args and d is **kwargs. */
static hn_status parse_arguments(hn_tpl_parser *p, hn_tpl_node *call)
{
    hn_tpl_node **arg = &call->kids, **keyword = &call->more;
    for (bool first = true; !is_op(p, ")"); first = false) {
        if (!first) {
            HN_TRY(hn_tpl_expect(p, HN_TPL_OP, ","));
            if (is_op(p, ")"))
                break;
        }
        HN_TRY(parse_argument(p, call, &arg, &keyword));
    }
    for (const hn_tpl_node *one = call->more; one; one = one->next)
        for (const hn_tpl_node *other = one->next; other; other = other->next)
            if (one->name == other->name)
                return hn_tpl_wrong(p, other->line, "keyword argument repeated: %s", one->name);
    return hn_tpl_expect(p, HN_TPL_OP, ")");
}

hn_status hn_tpl_parse_call(hn_tpl_parser *p, hn_tpl_node **node)
{
    const int line = p->at[-1].line;
    HN_TRY(hn_tpl_wrap(p, HN_TPL_CALL, 0, node));
    (*node)->line = line;
    HN_TRY(hn_tpl_deeper(p));
    HN_TRY(parse_arguments(p, *node));
    p->depth--;
    return HN_OK;
}

hn_status hn_tpl_parse_postfix(hn_tpl_parser *p, hn_tpl_node **node)
{
    for (int n = 0;;) {
        const int line = p->at->line;
        HN_TRY(hn_tpl_chain(p, &n));
        if (accept_op(p, ".")) {
            HN_TRY(
                hn_tpl_wrap(p, p->at->kind == HN_TPL_INT ? HN_TPL_ITEM : HN_TPL_ATTR, 0, node));
            (*node)->line = line;
            if (p->at->kind == HN_TPL_INT)
                HN_TRY(hn_tpl_parse_primary(p, &(*node)->b));
            else if (p->at->kind != HN_TPL_NAME)
                return hn_tpl_wrong(p, p->at->line, "expected name or number");
            else
                HN_TRY(hn_tpl_take_name(p, &(*node)->name));
        } else if (accept_op(p, "[")) {
            HN_TRY(hn_tpl_wrap(p, HN_TPL_ITEM, 0, node));
            (*node)->line = line;
            HN_TRY(hn_tpl_deeper(p));
            HN_TRY(parse_brackets(p, &(*node)->b));
            p->depth--;
        } else if (accept_op(p, "(")) {
            HN_TRY(hn_tpl_parse_call(p, node));
        } else {
            return HN_OK;
        }
    }
}

/* name.name: interned whole. */
static hn_status parse_dotted(hn_tpl_parser *p, const char **out)
{
    const hn_tpl_token *first = p->at;
    HN_TRY(hn_tpl_take_name(p, out));
    if (!is_op(p, "."))
        return HN_OK;
    return hn_tpl_wrong(p, first->line, "No filter or test has a dot in its name: '%s.'", *out);
}

static hn_status find_function(hn_tpl_parser *p, hn_tpl_node *node, bool is_filter)
{
    const hn_tpl_fn *fn =
        is_filter ? hn_tpl_filter_find(node->name) : hn_tpl_test_find(node->name);
    node->function = fn;
    if (!fn && !p->is_optional && !p->unknown)
        p->unknown = node;
    return HN_OK;
}

/* Under `if`, unknown filters and tests are errors only when reached; that a value stands
 * before an `if` is known when it was read. So the first unknown one waits for the end of the
 * outermost expression. */
hn_status hn_tpl_refuse_unknown(const hn_tpl_parser *p)
{
    if (!p->unknown || p->n_expressions)
        return HN_OK;
    return hn_tpl_wrong(p, p->unknown->line, "No %s named '%s'.",
                        p->unknown->kind == HN_TPL_FILTER ? "filter" : "test",
                        p->unknown->name);
}

hn_status hn_tpl_parse_filters(hn_tpl_parser *p, bool starts_with_name, hn_tpl_node *value,
                               hn_tpl_node **out)
{
    *out = value;
    for (int n = 0; starts_with_name || accept_op(p, "|"); starts_with_name = false) {
        HN_TRY(hn_tpl_chain(p, &n));
        hn_tpl_node *node = NULL;
        HN_TRY(hn_tpl_node_new(p, HN_TPL_FILTER, p->at->line, &node));
        node->a = *out;
        *out = node;
        HN_TRY(parse_dotted(p, &node->name));
        HN_TRY(find_function(p, node, true));
        if (accept_op(p, "(")) {
            HN_TRY(hn_tpl_deeper(p));
            HN_TRY(parse_arguments(p, node));
            p->depth--;
        }
    }
    return hn_tpl_refuse_unknown(p);
}

hn_status hn_tpl_parse_test(hn_tpl_parser *p, hn_tpl_node **node)
{
    const int line = p->at[-1].line;
    const bool negated = hn_tpl_accept(p, HN_TPL_NAME, "not");
    HN_TRY(hn_tpl_wrap(p, HN_TPL_TEST, 0, node));
    hn_tpl_node *test = *node;
    test->line = line;
    HN_TRY(parse_dotted(p, &test->name));
    HN_TRY(find_function(p, test, false));
    const hn_tpl_token_kind kind = p->at->kind;
    if (accept_op(p, "(")) {
        HN_TRY(hn_tpl_deeper(p));
        HN_TRY(parse_arguments(p, test));
        p->depth--;
    } else if ((kind == HN_TPL_NAME || kind == HN_TPL_STRING || kind == HN_TPL_INT ||
                kind == HN_TPL_FLOAT || is_op(p, "[") || is_op(p, "{")) &&
               !hn_tpl_is(p, HN_TPL_NAME, "else") && !hn_tpl_is(p, HN_TPL_NAME, "or") &&
               !hn_tpl_is(p, HN_TPL_NAME, "and")) {
        if (hn_tpl_is(p, HN_TPL_NAME, "is"))
            return hn_tpl_wrong(p, p->at->line, "You cannot chain multiple tests with is");
        HN_TRY(hn_tpl_parse_primary(p, &test->kids));
        HN_TRY(hn_tpl_parse_postfix(p, &test->kids));
    }
    return negated ? hn_tpl_wrap(p, HN_TPL_NOT, 0, node) : HN_OK;
}
