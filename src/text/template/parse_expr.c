/* Expressions, with jinja2's precedence: `not` under comparisons, `~` between + and *, filters
 * and tests tighter than any operator. */
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

static hn_status parse_unary(hn_tpl_parser *p, bool with_filter, hn_tpl_node **out)
{
    const int line = p->at->line;
    if (is_op(p, "-") || is_op(p, "+")) {
        HN_TRY(hn_tpl_node_new(p, is_op(p, "-") ? HN_TPL_NEG : HN_TPL_POS, line, out));
        p->at++;
        HN_TRY(hn_tpl_deeper(p));
        HN_TRY(parse_unary(p, false, &(*out)->a));
        p->depth--;
    } else {
        HN_TRY(hn_tpl_parse_primary(p, out));
    }
    HN_TRY(hn_tpl_parse_postfix(p, out));
    for (int n = 0; with_filter;) {
        HN_TRY(hn_tpl_chain(p, &n));
        if (is_op(p, "|"))
            HN_TRY(hn_tpl_parse_filters(p, false, *out, out));
        else if (hn_tpl_accept(p, HN_TPL_NAME, "is"))
            HN_TRY(hn_tpl_parse_test(p, out));
        else if (accept_op(p, "("))
            HN_TRY(hn_tpl_parse_call(p, out));
        else
            break;
    }
    return HN_OK;
}

static hn_status parse_power(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(parse_unary(p, true, out));
    for (int n = 0; accept_op(p, "**");) {
        HN_TRY(hn_tpl_chain(p, &n));
        HN_TRY(hn_tpl_wrap(p, HN_TPL_BINARY, 'p', out));
        HN_TRY(parse_unary(p, true, &(*out)->b));
    }
    return HN_OK;
}

static hn_status parse_product(hn_tpl_parser *p, hn_tpl_node **out)
{
    static const char *const ops[] = { "*", "//", "/", "%" };
    HN_TRY(parse_power(p, out));
    for (int n = 0;;) {
        int i = 0;
        while (i < 4 && !accept_op(p, ops[i]))
            i++;
        if (i == 4)
            return HN_OK;
        HN_TRY(hn_tpl_chain(p, &n));
        HN_TRY(hn_tpl_wrap(p, HN_TPL_BINARY, i == 1 ? 'f' : ops[i][0], out));
        HN_TRY(parse_power(p, &(*out)->b));
    }
}

static hn_status parse_concat(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(parse_product(p, out));
    if (!is_op(p, "~"))
        return HN_OK;
    hn_tpl_node *first = *out;
    HN_TRY(hn_tpl_node_new(p, HN_TPL_CONCAT, first->line, out));
    (*out)->kids = first;
    for (hn_tpl_node **to = &first->next; accept_op(p, "~"); to = &(*to)->next)
        HN_TRY(parse_product(p, to));
    return HN_OK;
}

static hn_status parse_sum(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(parse_concat(p, out));
    for (int n = 0; is_op(p, "+") || is_op(p, "-");) {
        const char op = (p->at++)->text.text[0];
        HN_TRY(hn_tpl_chain(p, &n));
        HN_TRY(hn_tpl_wrap(p, HN_TPL_BINARY, op, out));
        HN_TRY(parse_concat(p, &(*out)->b));
    }
    return HN_OK;
}

static char take_comparison(hn_tpl_parser *p)
{
    static const char *const ops[] = { "==", "!=", "<=", ">=", "<", ">" };
    static const char codes[] = "=!lg<>";
    for (int i = 0; i < 6; i++)
        if (accept_op(p, ops[i]))
            return codes[i];
    if (hn_tpl_accept(p, HN_TPL_NAME, "in"))
        return 'i';
    const hn_tpl_parser after = { .at = p->at + 1 };
    if (hn_tpl_is(p, HN_TPL_NAME, "not") && hn_tpl_is(&after, HN_TPL_NAME, "in")) {
        p->at += 2;
        return 'n';
    }
    return '\0';
}

static hn_status parse_compare(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(parse_sum(p, out));
    char op = take_comparison(p);
    if (!op)
        return HN_OK;
    HN_TRY(hn_tpl_wrap(p, HN_TPL_COMPARE, 0, out));
    for (hn_tpl_node **to = &(*out)->kids; op; op = take_comparison(p), to = &(*to)->next) {
        HN_TRY(hn_tpl_node_new(p, HN_TPL_PAIR, p->at->line, to));
        (*to)->op = op;
        HN_TRY(parse_sum(p, &(*to)->a));
    }
    return HN_OK;
}

static hn_status parse_not(hn_tpl_parser *p, hn_tpl_node **out)
{
    if (!hn_tpl_is(p, HN_TPL_NAME, "not"))
        return parse_compare(p, out);
    HN_TRY(hn_tpl_node_new(p, HN_TPL_NOT, (p->at++)->line, out));
    HN_TRY(hn_tpl_deeper(p));
    HN_TRY(parse_not(p, &(*out)->a));
    p->depth--;
    return HN_OK;
}

static hn_status parse_and(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(parse_not(p, out));
    for (int n = 0; hn_tpl_accept(p, HN_TPL_NAME, "and");) {
        HN_TRY(hn_tpl_chain(p, &n));
        HN_TRY(hn_tpl_wrap(p, HN_TPL_AND, 0, out));
        HN_TRY(parse_not(p, &(*out)->b));
    }
    return HN_OK;
}

static hn_status parse_or(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(parse_and(p, out));
    for (int n = 0; hn_tpl_accept(p, HN_TPL_NAME, "or");) {
        HN_TRY(hn_tpl_chain(p, &n));
        HN_TRY(hn_tpl_wrap(p, HN_TPL_OR, 0, out));
        HN_TRY(parse_and(p, &(*out)->b));
    }
    return HN_OK;
}

hn_status hn_tpl_parse_expression(hn_tpl_parser *p, bool with_if, hn_tpl_node **out)
{
    const hn_tpl_node *unknown_before = p->unknown;
    p->n_expressions++;
    HN_TRY(hn_tpl_deeper(p));
    HN_TRY(parse_or(p, out));
    for (int n = 0; with_if && hn_tpl_accept(p, HN_TPL_NAME, "if");) {
        HN_TRY(hn_tpl_chain(p, &n));
        hn_tpl_node *value = *out;
        HN_TRY(hn_tpl_node_new(p, HN_TPL_IF_ELSE, value->line, out));
        (*out)->b = value;
        HN_TRY(parse_or(p, &(*out)->a));
        if (hn_tpl_accept(p, HN_TPL_NAME, "else"))
            HN_TRY(hn_tpl_parse_expression(p, true, &(*out)->c));
        p->unknown = unknown_before;
    }
    p->depth--;
    p->n_expressions--;
    return hn_tpl_refuse_unknown(p);
}
