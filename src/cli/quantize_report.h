/* quantize_report.h: what hone quantize did, as a table: types, sizes and bits by kind of tensor, and
 * where rows did not fit the type that was meant, and why. */
#ifndef HN_CLI_QUANTIZE_REPORT_H
#define HN_CLI_QUANTIZE_REPORT_H

#include "convert/quantize.h"

#include <stdio.h>

enum { HN_MOST_FALLBACKS = 64 };

typedef struct hn_fallback {
    hn_dtype meant, is;
    int64_t row; /* elements */
    int n;
    char first[96]; /* of the tensors */
} hn_fallback;

typedef struct hn_quantize_report {
    struct {
        int n, types[HN_N_DTYPES];
        double was, is, numbers;
    } kinds[HN_N_TENSOR_KINDS];
    hn_fallback fallbacks[HN_MOST_FALLBACKS];
    int n_fallbacks;
} hn_quantize_report;

/* hn_quantize_options.told; `report` begins zeroed. */
void hn_quantize_report_add(void *report, const hn_quantized *tensor);

/* `asked`: the type that was asked for; what it is not found in is said on `notes`. */
void hn_quantize_report_print(const hn_quantize_report *report, hn_dtype asked, FILE *out, FILE *notes);

#endif
