/* quantize_report.h: what hone quantize did, as a table: types, sizes and bits by kind of tensor, and
 * where rows did not fit the type that was meant, and why. */
#ifndef HN_CLI_QUANTIZE_REPORT_H
#define HN_CLI_QUANTIZE_REPORT_H

#include "hone/files.h"

#include <stdio.h>

enum { HN_MOST_FALLBACKS = 64, HN_MOST_TYPES = 64, HN_N_USES = HN_LM_USE_OTHER + 1 };

typedef struct hn_fallback {
    const char *meant, *is;
    int64_t row, block; /* elements */
    int n;
    char first[96]; /* of the tensors */
} hn_fallback;

typedef struct hn_quantize_report {
    struct {
        int n, types[HN_MOST_TYPES]; /* types: as hn_tensor_type has them */
        double was, is, numbers;
    } kinds[HN_N_USES];
    hn_fallback fallbacks[HN_MOST_FALLBACKS];
    int n_fallbacks;
} hn_quantize_report;

/* hn_lm_quantize_options.on_tensor; `report` begins zeroed. */
void hn_quantize_report_add(void *report, const hn_lm_quantized *tensor);

/* `asked`: the type that was asked for; what it is not found in is said on `notes`. */
void hn_quantize_report_print(const hn_quantize_report *report, const char *asked, FILE *out, FILE *notes);

#endif
