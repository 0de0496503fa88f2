/* option_value.h: what a user gave an option, read: on the command line and in a run.toml alike. */
#ifndef HN_BASE_OPTION_VALUE_H
#define HN_BASE_OPTION_VALUE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* HN_ERR_ARGUMENT names the option, what was expected and what was found. */
hn_status hn_option_int(const char *name, const char *value, int64_t low, int64_t high, int64_t *out);
hn_status hn_option_real(const char *name, const char *value, double *out); /* not negative, and of f32 */
/* Neither infinite in f32, nor 0 there unless it is 0. */
bool hn_is_of_f32(double x);
/* "8G", "512M", "1.5g": bytes. */
hn_status hn_memory_parse(const char *text, size_t *out);

#endif
