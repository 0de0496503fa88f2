/* Layers turn by the same angles, so these are made when the first of them asks: once for all layers alike, of
 * queries and of keys. */
#include "nn/rounding.h"

#include "ops/rope_table.h"

struct nn_angles {
    const struct nn_angles *next; /* made before */
    hn_rope_spec spec;
    hn_node *divisors;
    hn_node *all;           /* [T, width]: cosines, then sines */
    hn_node *cosine, *sine; /* in bf16, [T, 1, width / 2] each */
};

static hn_node *columns(nn_build *b, hn_node *x, int64_t begin, int64_t end)
{
    return hn_contiguous(b->g, hn_slice(b->g, x, 2, begin, end, 1));
}

static void make(nn_build *b, nn_angles *made)
{
    hn_graph *g = b->g;
    const int64_t width = made->spec.width;
    made->all = hn_rope_angles(g, b->positions, made->divisors, NULL, &made->spec);
    if (!made->spec.narrow_angle)
        return;
    hn_node *one = hn_reshape(g, nn_round(b, made->all), (hn_ints){ 3, { -1, 1, width } });
    made->cosine = columns(b, one, 0, width / 2);
    made->sine = columns(b, one, width / 2, width);
}

/* NULL: no memory, which the graph knows. */
static const nn_angles *angles_of(nn_build *b, hn_node *divisors, const hn_rope_spec *spec)
{
    for (const nn_angles *a = b->angles; a; a = a->next)
        if (a->divisors == divisors && hn_attrs_same(hn_op_rope_angles.attrs, &a->spec, spec))
            return a;
    nn_angles *made = hn_graph_alloc(b->g, sizeof *made);
    if (!made)
        return NULL;
    *made = (nn_angles){ .next = b->angles, .spec = *spec, .divisors = divisors };
    make(b, made);
    b->angles = made;
    return made;
}

hn_node *nn_rope(nn_build *b, hn_node *x, hn_node *divisors, const hn_rope_spec *spec)
{
    hn_graph *g = b->g;
    hn_rope_spec own = *spec;
    own.narrow_angle = b->o.numerics == HN_NUMERICS_BF16;
    const nn_angles *angles = angles_of(b, divisors, &own);
    if (!angles)
        return &g->poison;
    if (!own.narrow_angle || hn_is_poison(g, x))
        return hn_rope(g, x, angles->all);
    const int64_t head = x->type.dim[2], width = own.width, half = width / 2;
    hn_node *first = columns(b, x, 0, half), *second = columns(b, x, half, width);
    hn_node *turned = nn_round(b, hn_sub(g, nn_mul(b, first, angles->cosine), nn_mul(b, second, angles->sine)));
    hn_node *other = nn_add(b, nn_mul(b, second, angles->cosine), nn_mul(b, first, angles->sine));
    hn_node *y = hn_concat(g, turned, other, 2);
    return width < head ? hn_concat(g, y, columns(b, x, width, head), 2) : y;
}
