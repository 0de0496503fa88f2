#include "cli/quantize_report.h"

#include <string.h>

void hn_quantize_report_add(void *context, const hn_quantized *t)
{
    hn_quantize_report *r = context;
    const hn_tensor_kind kind = hn_tensor_kind_of(t->name, t->was);
    r->kinds[kind].n++;
    r->kinds[kind].types[t->is->dtype]++;
    r->kinds[kind].was += (double)hn_type_bytes(t->was);
    r->kinds[kind].is += (double)hn_type_bytes(t->is);
    r->kinds[kind].numbers += (double)hn_count(t->is);
    if (t->is_kept || t->meant == t->is->dtype)
        return;
    const int64_t row = hn_last_dim(t->is);
    int i = 0;
    while (i < r->n_fallbacks && (r->fallbacks[i].meant != t->meant || r->fallbacks[i].is != t->is->dtype ||
                                  r->fallbacks[i].row != row))
        i++;
    if (i == HN_MOST_FALLBACKS) /* the last line counts the rest */
        i--;
    hn_fallback *f = &r->fallbacks[i];
    if (i == r->n_fallbacks) {
        *f = (hn_fallback){ .meant = t->meant, .is = t->is->dtype, .row = row };
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

static void print_kinds(const hn_quantize_report *r, FILE *out)
{
    double was = 0, is = 0, numbers = 0;
    int n = 0;
    fprintf(out, "%-14s %7s  %12s    %12s  %6s  %s\n", "kind", "tensors", "before", "after", "bits", "types");
    for (int k = 0; k < HN_N_TENSOR_KINDS; k++) {
        if (!r->kinds[k].n)
            continue;
        const char *between = "  ";
        print_line(hn_tensor_kind_text((hn_tensor_kind)k), r->kinds[k].n, r->kinds[k].was, r->kinds[k].is,
                   r->kinds[k].numbers, out);
        for (int d = 0; d < HN_N_DTYPES; d++)
            if (r->kinds[k].types[d]) {
                fprintf(out, "%s%d %s", between, r->kinds[k].types[d], hn_dtype_name((hn_dtype)d));
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

void hn_quantize_report_print(const hn_quantize_report *r, hn_dtype asked, FILE *out, FILE *notes)
{
    int n_asked = 0;
    print_kinds(r, out);
    for (int i = 0; i < r->n_fallbacks; i++) {
        const hn_fallback *f = &r->fallbacks[i];
        fprintf(out, "%d %s of %lld, no multiple of the %lld in a block of %s: %s (%s%s)\n", f->n,
                f->n == 1 ? "tensor has rows" : "tensors have rows", (long long)f->row,
                (long long)hn_dtype_block(f->meant), hn_dtype_name(f->meant), hn_dtype_name(f->is), f->first,
                f->n == 1 ? "" : ", ...");
    }
    for (int k = 0; k < HN_N_TENSOR_KINDS; k++)
        n_asked += r->kinds[k].types[asked];
    if (!n_asked)
        fprintf(notes, "no tensor is %s, which was asked for: the file is named after a type that it does not have\n",
                hn_dtype_name(asked));
}
