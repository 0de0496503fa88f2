/* template.h: chat templates: the Jinja that models carry, rendered as Transformers renders it.
 *
 * The language is that of jinja2's ImmutableSandboxedEnvironment with trim_blocks,
 * lstrip_blocks, loop controls and {% generation %}; docs/templates.md says what is left out.
 * Templates are hostile input: depth, steps, memory and output are bounded, and nothing can be
 * reached but the variables given. A template is read once and rendered often, from any thread.
 * Messages name the template, the line and the cause: "chat template:12: 'messges' is
 * undefined". */
#ifndef HN_TEXT_TEMPLATE_TEMPLATE_H
#define HN_TEXT_TEMPLATE_TEMPLATE_H

#include "base/file.h"
#include "base/json.h"
#include "text/unicode/origins.h"

typedef struct hn_template hn_template;

/* A variable. Of `json` or `text` one is given; text is a string as it stands. All of it is data, save what these say. */
typedef struct hn_template_var {
    const char *name;
    const hn_json *json;
    const char *text;
    bool is_own;      /* the text counts as the template's own words: a token of its model */
    bool has_roles;   /* messages: the role of one, if it is a role at all, counts as the template's own word */
} hn_template_var;

/* What raise_exception("...") says is marked by HN_ERR_ARGUMENT and the word "raised"; every
 * other mistake of a template is HN_ERR_FORMAT, and what hone leaves out HN_ERR_UNSUPPORTED. */
typedef struct hn_template_options {
    const int64_t *clock; /* seconds since 1970 for strftime_now; NULL: the clock, local time */
    size_t max_bytes;     /* of output; 0: 32 MiB */
    size_t max_memory;    /* of all that a rendering holds at a time; 0: 128 MiB */
    int64_t max_steps;    /* 0: 50 million; about one a node, or 16 bytes of text */
    int max_depth;        /* of what is nested in the template or calls itself; 0: 600 */
} hn_template_options;

typedef hn_text_span hn_template_span; /* of the output */

/* Where {% generation %} blocks came to lie, or the template's own words, in order; hn_free(heap, at). */
typedef struct hn_template_spans {
    hn_template_span *at;
    size_t n, room;
} hn_template_spans;

/* `name` begins messages and is copied, as is the source. */
hn_status hn_template_parse(hn_heap *heap, const char *name, const char *source, size_t bytes,
                            hn_template **out);
void hn_template_free(hn_template *t); /* takes NULL */

/* Whether the source names this variable anywhere. */
bool hn_template_mentions(const hn_template *t, const char *name);

typedef struct hn_template_input {
    const hn_template_var *vars; /* of equal names the last counts */
    size_t n_vars;
    hn_template_options options;
} hn_template_input;

/* Whose each byte of the output is. Zeroed at first, and used again and again. */
typedef struct hn_template_origins {
    hn_heap *heap; /* of the template */
    hn_template_spans own; /* what the template's source wrote: all else is data */
    hn_span words;         /* all it can write; lives as long as the template */
} hn_template_origins;
void hn_template_origins_free(hn_template_origins *origins);
/* As encoding takes them: borrows. */
hn_text_origins hn_template_origins_view(const hn_template_origins *origins);
/* The end of an output that is all the template's own, "" if it ends in data. */
hn_span hn_template_last_words(const hn_template_origins *origins, const hn_str *output);

/* Adds to *out; on failure *out is as long as before. Spans are cleared first. */
hn_status hn_template_render(const hn_template *t, const hn_template_input *input, hn_str *out,
                             hn_template_spans *generated_or_null, hn_template_origins *origins_or_null);

#endif
