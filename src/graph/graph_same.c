/* Applications are compared in order and their inputs by number, which is enough: as long as all before were the
 * same, equal numbers are the same nodes. */
#include "graph/graph_same.h"

#include <string.h>

static bool are_types_same(const hn_type *a, const hn_type *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank || a->layout != b->layout)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

static hn_status same_leaf(const hn_leaf *a, const hn_leaf *b)
{
    char left[HN_TYPE_TEXT], right[HN_TYPE_TEXT];
    HN_REQUIRE(a->kind == b->kind && !strcmp(a->name, b->name), HN_ERR_FORMAT, "%s, and %s", a->name,
               b->name);
    HN_REQUIRE(are_types_same(&a->type, &b->type), HN_ERR_FORMAT, "%s is %s, and %s", a->name,
               hn_type_text(&a->type, left), hn_type_text(&b->type, right));
    HN_REQUIRE(!a->data || !memcmp(a->data, b->data, hn_type_bytes(&a->type)), HN_ERR_FORMAT,
               "the numbers of %s differ", a->name);
    return HN_OK;
}

/* Nodes are numbered as they are made: in graphs that are the same so far, alike. */
static bool are_inputs_same(const hn_apply *a, const hn_apply *b)
{
    for (int i = 0; i < a->n_in; i++)
        if (!a->in[i] != !b->in[i] || (a->in[i] && a->in[i]->id != b->in[i]->id))
            return false;
    return true;
}

static hn_status same_apply(const hn_apply *a, const hn_apply *b)
{
    enum { ROOM = 512 };
    char left[ROOM] = "", right[ROOM] = "", name[HN_NODE_TEXT], other[HN_NODE_TEXT];
    HN_REQUIRE(a->op == b->op && a->n_in == b->n_in && a->n_out == b->n_out && !strcmp(a->scope, b->scope),
               HN_ERR_FORMAT, "%s, and %s", hn_apply_text(a, name), hn_apply_text(b, other));
    if (!hn_attrs_same(a->op->attrs, a->attrs, b->attrs)) {
        hn_attrs_print(a->op->attrs, a->attrs, left, sizeof left);
        hn_attrs_print(b->op->attrs, b->attrs, right, sizeof right);
        return hn_fail(HN_ERR_FORMAT, "%s with %s, and with %s", hn_apply_text(a, name), left, right);
    }
    HN_REQUIRE(are_inputs_same(a, b), HN_ERR_FORMAT, "%s has other inputs", hn_apply_text(a, name));
    for (int i = 0; i < a->n_out; i++)
        HN_REQUIRE(are_types_same(&a->out[i]->type, &b->out[i]->type), HN_ERR_FORMAT,
                   "%s has another shape", hn_apply_text(a, name));
    return HN_OK;
}

hn_status hn_graph_same(const hn_graph *a, const hn_graph *b)
{
    char name[HN_NODE_TEXT];
    for (int i = 0; i < a->n_leaves && i < b->n_leaves; i++)
        HN_TRY(same_leaf(a->leaves[i], b->leaves[i]));
    for (int i = 0; i < a->n_applies && i < b->n_applies; i++)
        HN_TRY(same_apply(a->applies[i], b->applies[i]));
    if (a->n_applies == b->n_applies && a->n_leaves == b->n_leaves)
        return HN_OK;
    const hn_graph *longer = a->n_applies > b->n_applies ? a : b;
    const int shorter = a->n_applies > b->n_applies ? b->n_applies : a->n_applies;
    return hn_fail(HN_ERR_FORMAT, "%s is in one of them alone",
                   a->n_applies != b->n_applies ? hn_apply_text(longer->applies[shorter], name)
                                                : "a leaf");
}
