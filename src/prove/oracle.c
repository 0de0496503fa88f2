/* An interpreter: one buffer a node, in the order of creation. */
#include "prove/oracle.h"

#include "prove/turns.h"

#include <string.h>

struct hn_oracle {
    hn_heap *heap;
    const hn_graph *g;
    int n_applies, n_nodes; /* of the graph when this was made: it may have grown since */
    bool *needed;       /* by apply id */
    bool *present;      /* by node id: has memory; outputs that nobody reads have none, and are not computed */
    hn_tensor *value;   /* by node id */
    int *leaf_node;     /* by leaf id: the id of the node that is the leaf as given */
    uint8_t **sides;    /* by apply id: of its kinks, as of the last run that was not watched; NULL: it has none */
};

static hn_status as_oracle_type(const hn_type *type, hn_type *out)
{
    const bool is_number = hn_is_float(type->dtype) || hn_is_block(type->dtype);
    return hn_type_make(out, is_number ? HN_F64 : type->dtype, type->rank, type->dim);
}

static hn_status make_value(hn_oracle *o, int id, const hn_type *type)
{
    hn_type own;
    HN_TRY(as_oracle_type(type, &own));
    void *data = hn_alloc(o->heap, HN_TAG_PROVE, hn_type_bytes(&own));
    if (!data)
        return HN_ERR_MEMORY;
    o->value[id] = hn_tensor_at(&own, data);
    o->present[id] = true;
    return HN_OK;
}

static void mark(hn_oracle *o, int n_wanted, hn_node *const *wanted)
{
    for (int i = 0; i < n_wanted; i++)
        if (wanted[i]->by)
            o->needed[wanted[i]->by->id] = true;
    for (int i = o->n_applies - 1; i >= 0; i--)
        for (int j = 0; o->needed[i] && j < o->g->applies[i]->n_in; j++)
            if (o->g->applies[i]->in[j] && o->g->applies[i]->in[j]->by)
                o->needed[o->g->applies[i]->in[j]->by->id] = true;
}

static hn_status make_node(hn_oracle *o, const hn_node *node)
{
    if (o->present[node->id])
        return HN_OK;
    HN_TRY(make_value(o, node->id, &node->type));
    if (!node->by) {
        o->leaf_node[node->leaf->id] = node->id;
        if (node->leaf->data) {
            const hn_tensor given = hn_tensor_at(&node->leaf->type, node->leaf->data);
            hn_tensor_copy(&o->value[node->id], &given);
        }
    }
    return HN_OK;
}

static hn_call call_of(const hn_oracle *o, const hn_apply *a)
{
    hn_call call = { .op = a->op, .attrs = a->attrs, .n_in = a->n_in, .n_out = a->n_out };
    for (int i = 0; i < a->n_in; i++)
        call.in[i] = a->in[i] ? &o->value[a->in[i]->id] : NULL;
    for (int k = 0; k < a->n_out; k++)
        call.out[k] = o->present[a->out[k]->id] ? &o->value[a->out[k]->id] : NULL;
    return call;
}

static hn_status make_sides(hn_oracle *o)
{
    for (int i = 0; i < o->n_applies; i++) {
        if (!o->needed[i])
            continue;
        const hn_call call = call_of(o, o->g->applies[i]);
        const size_t n = hn_turns_count(&call);
        o->sides[i] = n ? hn_alloc(o->heap, HN_TAG_PROVE, n) : NULL;
        if (n && !o->sides[i])
            return HN_ERR_MEMORY;
    }
    return HN_OK;
}

/* An op's first output has memory always (op.h), the others where they are wanted or read. */
static hn_status make_nodes(hn_oracle *o, int n_wanted, hn_node *const *wanted)
{
    mark(o, n_wanted, wanted);
    for (int i = 0; i < o->g->n_leaves; i++)
        o->leaf_node[i] = -1;
    for (int i = 0; i < n_wanted; i++)
        HN_TRY(make_node(o, wanted[i]));
    for (int i = 0; i < o->n_applies; i++) {
        const hn_apply *a = o->g->applies[i];
        if (!o->needed[i])
            continue;
        for (int j = 0; j < a->n_in; j++)
            if (a->in[j])
                HN_TRY(make_node(o, a->in[j]));
        HN_TRY(make_node(o, a->out[0]));
    }
    return HN_OK;
}

hn_status hn_oracle_new(hn_oracle **out, const hn_graph *g, int n_wanted, hn_node *const *wanted)
{
    *out = NULL;
    hn_oracle *o = hn_alloc(g->heap, HN_TAG_PROVE, sizeof *o);
    if (!o)
        return HN_ERR_MEMORY;
    o->heap = g->heap;
    o->g = g;
    o->n_applies = g->n_applies;
    o->n_nodes = g->n_nodes;
    const size_t nodes = (size_t)g->n_nodes + 1;
    o->needed = hn_alloc_array(o->heap, HN_TAG_PROVE, (size_t)g->n_applies + 1, sizeof(bool));
    o->present = hn_alloc_array(o->heap, HN_TAG_PROVE, nodes, sizeof(bool));
    o->value = hn_alloc_array(o->heap, HN_TAG_PROVE, nodes, sizeof *o->value);
    o->leaf_node = hn_alloc_array(o->heap, HN_TAG_PROVE, (size_t)g->n_leaves + 1, sizeof(int));
    o->sides = hn_alloc_array(o->heap, HN_TAG_PROVE, (size_t)g->n_applies + 1, sizeof *o->sides);
    hn_status status = HN_ERR_MEMORY;
    if (o->needed && o->present && o->value && o->leaf_node && o->sides)
        status = make_nodes(o, n_wanted, wanted);
    if (status == HN_OK)
        status = make_sides(o);
    if (status != HN_OK) {
        hn_oracle_free(o);
        return status;
    }
    *out = o;
    return HN_OK;
}

void hn_oracle_free(hn_oracle *o)
{
    if (!o)
        return;
    for (int i = 0; o->present && o->value && i < o->n_nodes; i++)
        if (o->present[i])
            hn_free(o->heap, o->value[i].data);
    for (int i = 0; o->sides && i < o->n_applies; i++)
        hn_free(o->heap, o->sides[i]);
    hn_free(o->heap, o->needed);
    hn_free(o->heap, o->present);
    hn_free(o->heap, o->value);
    hn_free(o->heap, o->leaf_node);
    hn_free(o->heap, o->sides);
    hn_free(o->heap, o);
}

hn_tensor *hn_oracle_leaf(hn_oracle *o, const hn_leaf *leaf)
{
    const int id = o->leaf_node[leaf->id];
    return id < 0 ? NULL : &o->value[id];
}

hn_status hn_oracle_give(hn_oracle *o, const hn_leaf *leaf, const hn_tensor *value)
{
    hn_tensor *own = hn_oracle_leaf(o, leaf);
    if (!own) /* nothing that is wanted depends on it */
        return HN_OK;
    HN_REQUIRE(hn_count(&own->type) == hn_count(&value->type), HN_ERR_SHAPE,
               "%s: %lld elements given, %lld expected", leaf->name,
               (long long)hn_count(&value->type), (long long)hn_count(&own->type));
    hn_tensor_copy(own, value);
    return HN_OK;
}

const hn_tensor *hn_oracle_value(const hn_oracle *o, const hn_node *node)
{
    return o->present[node->id] ? &o->value[node->id] : NULL;
}

/* Whether an integer result would change; it keeps what it was if so. */
static bool keep_choice(hn_oracle *o, const hn_apply *a, int k, const hn_tensor *fresh)
{
    const hn_tensor *old = &o->value[a->out[k]->id];
    return memcmp(old->data, fresh->data, hn_type_bytes(&old->type)) != 0;
}

static hn_status evaluate(hn_oracle *o, const hn_apply *a, bool watch, bool *moved)
{
    hn_call call = call_of(o, a);
    hn_tensor fresh[HN_MAX_OUT];
    hn_status status = HN_OK;
    for (int k = 0; k < a->n_out; k++) {
        const hn_tensor *own = call.out[k];
        if (!own)
            continue;
        fresh[k] = *own;
        call.out[k] = &fresh[k];
        if (hn_is_float(own->type.dtype) || !watch)
            continue;
        fresh[k].data = hn_alloc(o->heap, HN_TAG_PROVE, hn_type_bytes(&own->type));
        if (!fresh[k].data)
            status = HN_ERR_MEMORY;
    }
    if (status == HN_OK)
        a->op->forward(&call);
    if (o->sides[a->id] && watch)
        *moved = *moved || hn_turns_moved(&call, o->sides[a->id]);
    else if (o->sides[a->id])
        hn_turns_keep(&call, o->sides[a->id]);
    for (int k = 0; k < a->n_out; k++)
        if (call.out[k] && fresh[k].data != o->value[a->out[k]->id].data) {
            if (status == HN_OK && keep_choice(o, a, k, &fresh[k]))
                *moved = true;
            hn_free(o->heap, fresh[k].data);
        }
    return status;
}

hn_status hn_oracle_run(hn_oracle *o, bool watch, bool *moved)
{
    if (moved)
        *moved = false;
    for (int i = 0; i < o->n_applies; i++)
        if (o->needed[i])
            HN_TRY(evaluate(o, o->g->applies[i], watch, moved));
    return HN_OK;
}
