/* The gradient that ggml issue 1491 is about, through the installed library:
 *     cc gradient.c $(pkg-config --cflags --libs hone) -o gradient
 * a = b = [1 0 0 0], eps 1e-4: d sum(b * rms_norm(a)) / da is [0.0007995... 0 0 0]. */
#include <hone/hone.h>

#include <stdio.h>

static hn_status gradient(hn_engine *engine, const char *plan, float out[4])
{
    static const float a[4] = { 1, 0, 0, 0 };
    const int64_t dim[2] = { 1, 4 };
    hn_builder *builder = NULL;
    hn_exec *exec = NULL;
    hn_node *grad = NULL;
    hn_status status = hn_builder_new(&builder, engine);
    if (status != HN_OK)
        return status;
    hn_node *x = hn_builder_leaf(builder, "weight", "a", "f32", 2, dim);
    hn_node *b = hn_builder_leaf(builder, "input", "b", "f32", 2, dim);
    hn_node *y = hn_builder_op(builder, "rms_norm", "eps=1e-4", 1, &x);
    hn_node *product = hn_builder_op(builder, "mul", NULL, 2, (hn_node *[]){ y, b });
    hn_node *flat = hn_builder_op(builder, "reshape", "shape=4", 1, &product);
    hn_node *loss = hn_builder_op(builder, "sum", NULL, 1, &flat);
    status = hn_builder_gradients(builder, loss, 1, &x, 0, &grad);
    if (status == HN_OK)
        status = hn_exec_new(&exec, builder, 1, &grad, plan);
    if (status == HN_OK)
        status = hn_exec_write(exec, x, a, sizeof a);
    if (status == HN_OK)
        status = hn_exec_write(exec, b, a, sizeof a);
    if (status == HN_OK)
        status = hn_exec_run(exec);
    if (status == HN_OK)
        status = hn_exec_read(exec, 0, out, 4 * sizeof *out);
    hn_exec_free(exec);
    hn_builder_free(builder);
    return status;
}

int main(void)
{
    static const char *const plans[] = { "separate", "reuse", "inplace", "poison" };
    hn_engine *engine;
    int bad = 0;
    if (hn_engine_new(&engine, NULL) != HN_OK) {
        fprintf(stderr, "%s\n", hn_error_message());
        return 1;
    }
    for (int i = 0; i < 4; i++) {
        float g[4];
        if (gradient(engine, plans[i], g) != HN_OK) {
            fprintf(stderr, "%s: %s\n", plans[i], hn_error_message());
            bad = 1;
            continue;
        }
        printf("%-9s %.9g %g %g %g\n", plans[i], (double)g[0], (double)g[1], (double)g[2],
               (double)g[3]);
        bad |= !(g[0] > 0.000799f && g[0] < 0.0008f && g[1] == 0 && g[2] == 0 && g[3] == 0);
    }
    hn_engine_free(engine);
    return bad;
}
