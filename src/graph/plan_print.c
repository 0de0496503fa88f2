/* What the planner decided, and nothing that it did not. */
#include "graph/plan_print.h"

static const char *step_name(const hn_step *step, char *text)
{
    if (step->apply)
        return hn_apply_text(step->apply, text);
    return step->crosses ? "copy between devices" : "copy";
}

static void print_output(const hn_plan *plan, const hn_step *step, int o, hn_str *out)
{
    char type[HN_TYPE_TEXT];
    const hn_value *v = &plan->values[step->out[o]];
    const hn_root *root = &plan->roots[v->root];
    hn_str_print(out, "  %s", hn_type_text(&v->type, type));
    if (root->leaf)
        hn_str_print(out, " in %s", root->leaf->name);
    else
        hn_str_print(out, " @%zu", root->offset + (size_t)v->at);
    if (step->took[o] >= 0)
        hn_str_print(out, " (over input %d)", step->took[o]);
}

static void print_step(const hn_plan *plan, int s, hn_str *out)
{
    const hn_step *step = &plan->steps[s];
    char name[HN_NODE_TEXT];
    hn_str_print(out, "%5d  %d  %-34s", s, step->device, step_name(step, name));
    for (int o = 0; o < step->n_out; o++)
        if (step->out[o] != HN_NO_VALUE)
            print_output(plan, step, o, out);
    char attrs[256] = "";
    if (step->apply)
        hn_attrs_print(step->apply->op->attrs, step->apply->attrs, attrs, sizeof attrs);
    if (attrs[0])
        hn_str_print(out, "  %s", attrs);
    if (hn_step_is_view(step))
        hn_str_add(out, "  view");
    else if (!step->support.has_kernel)
        hn_str_add(out, "  by the op's own forward");
    if (step->scratch >= 0)
        hn_str_print(out, "  scratch %zu", plan->roots[step->scratch].bytes);
    hn_str_add(out, "\n");
}

static size_t largest_live(const hn_plan *plan, int device)
{
    size_t most = 0;
    for (int s = 0; s < plan->n_steps; s++) {
        size_t live = 0;
        for (int r = 0; r < plan->n_roots; r++) {
            const hn_root *root = &plan->roots[r];
            if (!root->leaf && root->device == device && root->first <= s && s <= root->last)
                live += root->bytes;
        }
        if (live > most)
            most = live;
    }
    return most;
}

void hn_plan_text(const hn_plan *plan, hn_str *out)
{
    hn_str_print(out, "plan %s: %d steps\n step  on  op\n", hn_plan_mode_name(plan->options.mode),
                 plan->n_steps);
    for (int s = 0; s < plan->n_steps; s++)
        print_step(plan, s, out);
    for (int d = 0; d < plan->n_devices; d++) {
        size_t separate = 0;
        for (int r = 0; r < plan->n_roots; r++)
            if (!plan->roots[r].leaf && plan->roots[r].device == d)
                separate += plan->roots[r].bytes;
        hn_str_print(out,
                     "device %d: workspace %zu bytes; alive at once at most %zu; all roots %zu\n", d,
                     plan->workspace[d], largest_live(plan, d), separate);
    }
}

/* ---- the picture ---- */

enum { WIDTH = 1200, HEIGHT = 420, LEFT = 20, GAP = 40 };

static void draw_root(const hn_plan *plan, int r, double top, double x_scale, double y_scale,
                      hn_str *out)
{
    static const char *const colours[] = { "#4e79a7", "#f28e2b", "#59a14f", "#edc948",
                                           "#b07aa1", "#76b7b2", "#ff9da7", "#9c755f" };
    const hn_root *root = &plan->roots[r];
    const int last = root->last < plan->n_steps ? root->last : plan->n_steps - 1;
    const double x = LEFT + root->first * x_scale, width = (last - root->first + 1) * x_scale;
    const double height = (double)root->bytes * y_scale;
    const double y = top + HEIGHT - (double)root->offset * y_scale - height;
    char name[HN_NODE_TEXT];
    hn_str_print(out,
                 "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" "
                 "fill-opacity=\"%s\" stroke=\"#fff\" stroke-width=\"0.3\"><title>%s, step %d to "
                 "%d, %zu bytes at %zu%s</title></rect>\n",
                 x, y, width, height, colours[r % 8], root->is_scratch ? "0.35" : "0.85",
                 step_name(&plan->steps[root->first], name), root->first, root->last, root->bytes,
                 root->offset, root->is_scratch ? ", scratch" : "");
}

void hn_plan_svg(const hn_plan *plan, hn_str *out)
{
    const int height = plan->n_devices * (HEIGHT + GAP) + GAP;
    hn_str_print(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                 "font-family=\"sans-serif\" font-size=\"12\">\n"
                 "<rect width=\"100%%\" height=\"100%%\" fill=\"#fcfcfc\"/>\n",
                 WIDTH + 2 * LEFT, height);
    const double x_scale = plan->n_steps ? (double)WIDTH / plan->n_steps : 1;
    for (int d = 0; d < plan->n_devices; d++) {
        const double top = d * (HEIGHT + GAP) + GAP;
        const size_t bytes = plan->workspace[d] ? plan->workspace[d] : 1;
        hn_str_print(out,
                     "<text x=\"%d\" y=\"%.0f\">device %d, plan %s: %zu bytes (upwards) over %d "
                     "steps</text>\n",
                     LEFT, top - 8, d, hn_plan_mode_name(plan->options.mode), plan->workspace[d],
                     plan->n_steps);
        for (int r = 0; r < plan->n_roots; r++)
            if (!plan->roots[r].leaf && plan->roots[r].device == d && plan->roots[r].bytes)
                draw_root(plan, r, top, x_scale, HEIGHT / (double)bytes, out);
    }
    hn_str_add(out, "</svg>\n");
}
