/* Tensors that fell back for the same reason are one line, with the first one's name; the last line takes what has
 * no room. */
#include "cli/quantize_report.h"

#include <string.h>

/* The number of a type; HN_MOST_TYPES - 1 of one that is not there. */
static int number_of(const char *type)
{
    int i = 0;
    while (i < HN_MOST_TYPES - 1 && hn_tensor_type(i) && strcmp(hn_tensor_type(i), type) != 0)
        i++;
    return i;
}

void hn_quantize_report_add(void *context, const hn_lm_quantized *t)
{
    hn_quantize_report *r = context;
    r->kinds[t->use].n++;
    r->kinds[t->use].types[number_of(t->is)]++;
    r->kinds[t->use].was += (double)t->was_bytes;
    r->kinds[t->use].is += (double)t->is_bytes;
    r->kinds[t->use].numbers += (double)t->numbers;
    if (t->is_kept || !strcmp(t->meant, t->is))
        return;
    int i = 0;
    while (i < r->n_fallbacks && (strcmp(r->fallbacks[i].meant, t->meant) || strcmp(r->fallbacks[i].is, t->is) ||
                                  r->fallbacks[i].row != t->row))
        i++;
    if (i == HN_MOST_FALLBACKS) /* the last line counts the rest */
        i--;
    hn_fallback *f = &r->fallbacks[i];
    if (i == r->n_fallbacks) {
        *f = (hn_fallback){ .meant = t->meant, .is = t->is, .row = t->row, .block = t->block };
        snprintf(f->first, sizeof f->first, "%s", t->name);
        r->n_fallbacks++;
    }
    f->n++;
}

static void print_size(double bytes, FILE *out)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    fprintf(out, unit ? "%8.2f %-3s" : "%8.0f %-3s", bytes, units[unit]);
}

static void print_line(const char *what, int n, double was, double is, double numbers, FILE *out)
{
    fprintf(out, "%-14s %7d  ", what, n);
    print_size(was, out);
    fputs(" -> ", out);
    print_size(is, out);
    fprintf(out, "  %6.2f", numbers > 0 ? 8 * is / numbers : 0);
}

static const struct {
    hn_lm_use use;
    const char *name;
} lines[HN_N_USES] = { { HN_LM_USE_EMBEDDING, "embedding" }, { HN_LM_USE_ATTENTION, "attention" },
                       { HN_LM_USE_FEED_FORWARD, "ffn" },    { HN_LM_USE_EXPERTS, "experts" },
                       { HN_LM_USE_HEAD, "head" },           { HN_LM_USE_NORMS, "norms, biases" },
                       { HN_LM_USE_OTHER, "other" } };

static void print_kinds(const hn_quantize_report *r, FILE *out)
{
    double was = 0, is = 0, numbers = 0;
    int n = 0;
    fprintf(out, "%-14s %7s  %12s    %12s  %6s  %s\n", "kind", "tensors", "before", "after", "bits", "types");
    for (int line = 0; line < HN_N_USES; line++) {
        const hn_lm_use k = lines[line].use;
        if (!r->kinds[k].n)
            continue;
        const char *between = "  ";
        print_line(lines[line].name, r->kinds[k].n, r->kinds[k].was, r->kinds[k].is,
                   r->kinds[k].numbers, out);
        for (int d = 0; d < HN_MOST_TYPES && hn_tensor_type(d); d++)
            if (r->kinds[k].types[d]) {
                fprintf(out, "%s%d %s", between, r->kinds[k].types[d], hn_tensor_type(d));
                between = ", ";
            }
        fputc('\n', out);
        n += r->kinds[k].n;
        was += r->kinds[k].was;
        is += r->kinds[k].is;
        numbers += r->kinds[k].numbers;
    }
    print_line("all", n, was, is, numbers, out);
    fputc('\n', out);
}

void hn_quantize_report_print(const hn_quantize_report *r, const char *asked, FILE *out, FILE *notes)
{
    int n_asked = 0;
    print_kinds(r, out);
    for (int i = 0; i < r->n_fallbacks; i++) {
        const hn_fallback *f = &r->fallbacks[i];
        fprintf(out, "%d %s of %lld, no multiple of the %lld in a block of %s: %s (%s%s)\n", f->n,
                f->n == 1 ? "tensor has rows" : "tensors have rows", (long long)f->row,
                (long long)f->block, f->meant, f->is, f->first,
                f->n == 1 ? "" : ", ...");
    }
    for (int k = 0; k < HN_N_USES; k++)
        n_asked += r->kinds[k].types[number_of(asked)];
    if (!n_asked)
        fprintf(notes, "no tensor is %s, which was asked for: the file is named after a type that it does not have\n",
                asked);
}
