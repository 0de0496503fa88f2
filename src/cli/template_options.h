/* template_options.h: which chat template, in every command that uses one of a model. */
#ifndef HN_CLI_TEMPLATE_OPTIONS_H
#define HN_CLI_TEMPLATE_OPTIONS_H

#include "cli/command.h"

/* `field`: an hn_template_args, or what has its fields. */
typedef struct hn_template_args {
    const char *file, *name; /* a file of one's own; the name of one of the model's */
} hn_template_args;

#define HN_TEMPLATE_OPTIONS(type, field, of, what)                                             \
    HN_TEXT(type, field.file, "template", "FILE", of " instead of the model's" what),          \
        HN_TEXT(type, field.name, "template-name", "NAME", "the model's template of this name" what)

#endif
