/* Pieces of a page: text, charts, tables of experts. */
#include "train/report_parts.h"

#include "base/mathfn.h"

#include <math.h>

void hn_page_add_text(hn_str *page, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const char c = text[i];
        if (c == '<')
            hn_str_add(page, "&lt;");
        else if (c == '>')
            hn_str_add(page, "&gt;");
        else if (c == '&')
            hn_str_add(page, "&amp;");
        else if (c == '"')
            hn_str_add(page, "&quot;");
        else if (c == '\'')
            hn_str_add(page, "&#39;");
        else if ((unsigned char)c < 32 && c != '\n' && c != '\t')
            hn_str_add(page, "&#xFFFD;"); /* HTML has no such characters */
        else
            hn_str_add_char(page, c);
    }
}

/* ---- charts ---- */

enum { WIDTH = 720, HEIGHT = 240, LEFT = 64, RIGHT = 12, TOP = 12, BOTTOM = 28, MOST_POINTS = 600 };

typedef struct axes {
    double x0, x1, y0, y1;
} axes;

static axes measure(const hn_page_series *series, int n)
{
    axes a = { INFINITY, -INFINITY, INFINITY, -INFINITY };
    for (int s = 0; s < n; s++)
        for (size_t i = 0; i < series[s].n; i++) {
            const double x = series[s].x[i], y = series[s].y[i];
            if (!isfinite(x) || !isfinite(y))
                continue;
            a.x0 = x < a.x0 ? x : a.x0;
            a.x1 = x > a.x1 ? x : a.x1;
            a.y0 = y < a.y0 ? y : a.y0;
            a.y1 = y > a.y1 ? y : a.y1;
        }
    if (!(a.x1 >= a.x0))
        a = (axes){ 0, 1, 0, 1 };
    if (a.y0 > 0 && a.y0 < a.y1 / 2)
        a.y0 = 0;
    if (!(a.x1 > a.x0))
        a.x1 = a.x0 + 1;
    if (!(a.y1 > a.y0))
        a.y1 = a.y0 + (fabs(a.y0) > 0 ? fabs(a.y0) / 10 : 1);
    return a;
}

static double place_x(const axes *a, double x)
{
    return LEFT + (x - a->x0) / (a->x1 - a->x0) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const axes *a, double y)
{
    return HEIGHT - BOTTOM - (y - a->y0) / (a->y1 - a->y0) * (HEIGHT - TOP - BOTTOM);
}

static void add_axes(hn_str *page, const axes *a)
{
    for (int i = 0; i <= 4; i++) {
        const double y = a->y0 + (a->y1 - a->y0) * i / 4, x = a->x0 + (a->x1 - a->x0) * i / 4;
        hn_str_print(page, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>"
                           "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>"
                           "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g</text>\n",
                     LEFT, WIDTH - RIGHT, place_y(a, y), place_y(a, y), LEFT - 6, place_y(a, y) + 4, y,
                     place_x(a, x), HEIGHT - 8, x);
    }
}

/* Means of runs of points, where there are more than a screen shows. */
static void add_line(hn_str *page, const axes *a, const hn_page_series *s)
{
    const size_t at_once = (s->n + MOST_POINTS - 1) / MOST_POINTS;
    hn_str_print(page, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", s->colour);
    for (size_t i = 0; i < s->n; i += at_once) {
        double x = 0, y = 0;
        size_t n = 0;
        for (size_t k = i; k < i + at_once && k < s->n; k++) {
            if (!isfinite(s->y[k]) || !isfinite(s->x[k]))
                continue;
            x += s->x[k];
            y += s->y[k];
            n++;
        }
        if (n)
            hn_str_print(page, "%.1f,%.1f ", place_x(a, x / (double)n), place_y(a, y / (double)n));
    }
    hn_str_add(page, "\"/>\n");
    for (size_t i = 0; s->n <= 60 && i < s->n; i++)
        if (isfinite(s->y[i]) && isfinite(s->x[i]))
            hn_str_print(page, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\" fill=\"%s\"/>\n",
                         place_x(a, s->x[i]), place_y(a, s->y[i]), s->colour);
}

void hn_page_add_chart(hn_str *page, const char *title, const hn_page_series *series, int n)
{
    const axes a = measure(series, n);
    hn_str_print(page, "<figure><figcaption>%s", title);
    for (int s = 0; s < n && n > 1; s++)
        hn_str_print(page, " <span style=\"color:%s\">%s</span>", series[s].colour, series[s].name);
    hn_str_print(page, "</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", WIDTH,
                 HEIGHT, title);
    add_axes(page, &a);
    for (int s = 0; s < n; s++)
        add_line(page, &a, &series[s]);
    hn_str_add(page, "</svg></figure>\n");
}

/* ---- experts ---- */

/* Of the shares of all tokens, over that of equal ones: 1 is balance, 0 one expert for all. */
static double entropy(const hn_run_report_layer *l, double all)
{
    double h = 0;
    for (int64_t i = 0; i < l->n_experts; i++) {
        const double p = all > 0 ? l->tokens[i] / all : 0;
        h -= p > 0 ? p * hn_math_log(p) : 0;
    }
    return l->n_experts > 1 ? h / hn_math_log((double)l->n_experts) : 1;
}

static void add_layer(hn_str *page, const hn_run_report_layer *l, int64_t *dead)
{
    double all = 0, most = 0;
    for (int64_t i = 0; i < l->n_experts; i++) {
        all += l->tokens[i];
        most = l->tokens[i] > most ? l->tokens[i] : most;
    }
    hn_str_print(page, "<details open><summary>layer %lld: entropy of the load %.3f of 1, the busiest expert "
                       "%.2f times the mean</summary>\n<table><tr><th>expert</th><th>tokens</th><th>share"
                       "</th><th>gradient norm</th><th></th></tr>\n",
                 (long long)l->layer, entropy(l, all),
                 all > 0 ? most * (double)l->n_experts / all : 0.0);
    for (int64_t i = 0; i < l->n_experts; i++) {
        const double share = all > 0 ? l->tokens[i] / all : 0;
        const bool is_dead = !(l->tokens[i] > 0);
        *dead += is_dead;
        hn_str_print(page, "<tr%s><td>%lld</td><td>%.0f</td><td>%.2f %%</td><td>%.4g</td><td><svg "
                           "viewBox=\"0 0 200 10\" class=\"bar\"><rect width=\"%.1f\" height=\"10\"/></svg>"
                           "</td></tr>\n",
                     is_dead ? " class=\"dead\"" : "", (long long)i, l->tokens[i], 100 * share,
                     l->norms[i], most > 0 ? 200 * l->tokens[i] / most : 0.0);
    }
    hn_str_add(page, "</table></details>\n");
}

void hn_page_add_experts(hn_str *page, const hn_run_report *r)
{
    int64_t dead = 0, n = 0;
    if (!r->n_layers)
        return;
    hn_str_print(page, "<h2>Experts</h2>\n<p>Tokens of the %lld steps that were looked at, and gradient norms "
                       "of the last of them.</p>\n", (long long)r->layers[0].n_looks);
    for (int i = 0; i < r->n_layers; i++) {
        add_layer(page, &r->layers[i], &dead);
        n += r->layers[i].n_experts;
    }
    hn_str_print(page, "<p id=\"dead\"><strong>Dead experts: %lld of %lld</strong>", (long long)dead,
                 (long long)n);
    const char *between = ": ";
    for (int i = 0; i < r->n_layers; i++)
        for (int64_t e = 0; e < r->layers[i].n_experts; e++)
            if (!(r->layers[i].tokens[e] > 0)) {
                hn_str_print(page, "%slayer %lld expert %lld", between, (long long)r->layers[i].layer,
                             (long long)e);
                between = ", ";
            }
    hn_str_add(page, "</p>\n");
}
