/* fn.h: one rendering, and the functions that a template may call. Private. */
#ifndef HN_TEXT_TEMPLATE_FN_H
#define HN_TEXT_TEMPLATE_FN_H

#include "text/template/value.h"

typedef struct hn_tpl_variable {
    const char *name; /* interned */
    hn_tval value;
} hn_tpl_variable;

typedef struct hn_tpl_scope {
    struct hn_tpl_scope *around;
    hn_tpl_variable *at;
    size_t n, room;
} hn_tpl_scope;

typedef enum hn_tpl_flow { HN_TPL_ON, HN_TPL_LEAVE, HN_TPL_AGAIN } hn_tpl_flow;

/* One for a whole rendering: whatever asks for memory, blocks, loops, filters, texts and lists on
 * their way, asks here, and all of it together may not be more than the limit. */
typedef struct hn_tpl_budget {
    hn_heap heap;    /* gives what the budget allows, of: */
    hn_heap *source;
    size_t limit, used;
    bool is_spent;   /* it refused: what was made since then may lack words, and is not given out */
    bool is_dry;     /* the source had no more, which is no fault of the template */
} hn_tpl_budget;

struct hn_tpl_run {
    const hn_template *t;
    hn_tpl_budget budget;
    hn_template_options options; /* defaults filled in */
    hn_tpl_arena arena;
    hn_tpl_str *out; /* the output, or what a block captures */
    size_t out_start;
    int n_captures;
    hn_template_spans *spans;
    int64_t steps;
    int depth;
    int failed_line; /* 0 until something failed */
    hn_tpl_flow flow;
    hn_tpl_scope *root, *scope;
};

typedef struct hn_tpl_keyword {
    const char *name;
    hn_tval value;
} hn_tpl_keyword;

enum { HN_TPL_MAX_PARAMS = 6 };

typedef struct hn_tpl_call {
    hn_tval self; /* of a method; of a filter or test, what stands before it */
    const hn_tval *args;
    size_t n_args;
    const hn_tpl_keyword *keywords;
    size_t n_keywords;
    const char *name;
    hn_tval slots[HN_TPL_MAX_PARAMS]; /* by parameter; MISSING where not given */
} hn_tpl_call;

/* `params`: names between spaces, those with '=' optional; "*" takes all as it comes; a leading
 * '/' means that none may be given by name. */
typedef struct hn_tpl_fn {
    const char *name, *params;
    hn_status (*call)(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out);
} hn_tpl_fn;

typedef struct hn_tpl_bound {
    const hn_tpl_fn *fn;
    hn_tval self;
} hn_tpl_bound;

typedef struct hn_tpl_macro {
    const hn_tpl_node *node;
    hn_tpl_scope *scope;
    const char *name;
} hn_tpl_macro;

typedef struct hn_tpl_loop {
    const hn_tpl_node *node;
    hn_tpl_scope *around; /* of the loop */
    hn_tpl_iter items;
    bool is_filtered; /* `if` is still to be asked of each item */
    bool has_after;   /* looked ahead */
    int64_t length;   /* -1: not known */
    int64_t index0, depth0;
    hn_tval before, current, after; /* MISSING where there is none */
    hn_tval changed;                /* what changed() was given last; MISSING at first */
} hn_tpl_loop;

typedef struct hn_tpl_cycler {
    hn_tpl_list *items;
    size_t at;
} hn_tpl_cycler;

typedef struct hn_tpl_joiner {
    hn_tval separator;
    bool is_used;
} hn_tpl_joiner;

/* Running. */
hn_status hn_tpl_step(hn_tpl_run *r, int64_t n);
hn_status hn_tpl_charge(hn_tpl_run *r, size_t bytes); /* work done on so much text */
/* Whether a text in the making may grow on: a loop asks after each round, or goes on through gigabytes that it
 * cannot have. */
hn_status hn_tpl_fits(hn_tpl_run *r, const hn_str *text);
hn_status hn_tpl_enter(hn_tpl_run *r);                /* depth; then hn_tpl_leave */
static inline void hn_tpl_leave(hn_tpl_run *r) { r->depth--; }
void *hn_tpl_new(hn_tpl_run *r, size_t bytes);
hn_status hn_tpl_eval(hn_tpl_run *r, const hn_tpl_node *node, hn_tval *out);
hn_status hn_tpl_exec(hn_tpl_run *r, const hn_tpl_node *body);
hn_status hn_tpl_emit(hn_tpl_run *r, hn_tpl_text text);
hn_status hn_tpl_exec_for(hn_tpl_run *r, const hn_tpl_node *node);
hn_status hn_tpl_loop_again(hn_tpl_run *r, const hn_tpl_loop *loop, const hn_tval *items,
                            hn_tval *out);
hn_status hn_tpl_loop_attr(hn_tpl_run *r, hn_tpl_loop *loop, const char *name, hn_tval *out);
/* Runs a body with its output taken: capture, body, then captured. */
typedef struct hn_tpl_capture {
    hn_tpl_str text, *before;
} hn_tpl_capture;
void hn_tpl_capture_begin(hn_tpl_run *r, hn_tpl_capture *c);
hn_status hn_tpl_capture_end(hn_tpl_run *r, hn_tpl_capture *c, hn_status status, hn_tval *out);

hn_status hn_tpl_scope_new(hn_tpl_run *r, hn_tpl_scope *around, const char **unset,
                           hn_tpl_scope **out);
hn_status hn_tpl_set(hn_tpl_run *r, hn_tpl_scope *scope, const char *name,
                     const hn_tval *value);
hn_status hn_tpl_assign(hn_tpl_run *r, const hn_tpl_node *target, const hn_tval *value);

hn_status hn_tpl_call_value(hn_tpl_run *r, const hn_tval *callee, hn_tpl_call *c, hn_tval *out);
/* A call as written; a call block adds `caller`. */
hn_status hn_tpl_call_node(hn_tpl_run *r, const hn_tpl_node *node,
                           const hn_tval *caller_or_null, hn_tval *out);
hn_status hn_tpl_call_fn(hn_tpl_run *r, const hn_tpl_fn *fn, hn_tpl_call *c, hn_tval *out);
hn_status hn_tpl_call_macro(hn_tpl_run *r, const hn_tpl_macro *m, const hn_tpl_call *c,
                            hn_tval *out);

/* Lookups. a.b tries attributes first, a['b'] items first. */
hn_status hn_tpl_get_attr(hn_tpl_run *r, const hn_tval *of, const char *name, hn_tval *out);
hn_status hn_tpl_get_item(hn_tpl_run *r, const hn_tval *of, const hn_tval *key, hn_tval *out);
hn_status hn_tpl_get_slice(hn_tpl_run *r, const hn_tval *of, const hn_tval bounds[3],
                           hn_tval *out);
/* Of the filters that take attribute="a.b.0": MISSING is the item itself. */
hn_status hn_tpl_get_path(hn_tpl_run *r, const hn_tval *of, const hn_tval *path, hn_tval *out);

/* Operators: + - * / f(loor) % p(ower). */
hn_status hn_tpl_binary(hn_tpl_run *r, char op, const hn_tval *a, const hn_tval *b,
                        hn_tval *out);
hn_status hn_tpl_negate(hn_tpl_run *r, const hn_tval *v, hn_tval *out);
hn_status hn_tpl_percent(hn_tpl_run *r, const hn_tval *format, const hn_tval *args,
                         hn_tval *out);
hn_status hn_tpl_str_format(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out);
/* What stands after ':' in {} and is the whole of format(). */
hn_status hn_tpl_format_spec(hn_tpl_run *r, const hn_tval *v, hn_tpl_text spec, hn_tpl_str *to);

/* Tables. NULL if there is no such name. */
const hn_tpl_fn *hn_tpl_filter_find(const char *name);
const hn_tpl_fn *hn_tpl_test_find(const char *name);
const hn_tpl_fn *hn_tpl_global_find(const char *name);
const hn_tpl_fn *hn_tpl_method_find(const hn_tval *of, const char *name);
extern const hn_tpl_fn hn_tpl_text_filters[], hn_tpl_list_filters[], hn_tpl_value_filters[];
extern const hn_tpl_fn hn_tpl_str_methods[], hn_tpl_str_tests[], hn_tpl_str_splits[];
extern const hn_tpl_fn hn_tpl_methods_of_dict[], hn_tpl_methods_of_list[];
const hn_tpl_fn *hn_tpl_fn_find(const hn_tpl_fn *table, const char *name);
hn_status hn_tpl_tojson(hn_tpl_run *r, hn_tpl_call *c, hn_tval *out);
hn_status hn_tpl_strftime(hn_tpl_run *r, hn_tpl_text format, hn_str *to);

/* A generator fails only when it is walked that far: keeps a failure in it and returns HN_OK,
 * save for limits. `depth` is the run's from before. */
hn_status hn_tpl_defer(hn_tpl_run *r, hn_tpl_generator *g, int depth, hn_status status);

/* Arguments as a C type, or HN_ERR_FORMAT. MISSING gives `otherwise`. */
hn_status hn_tpl_want_int(const hn_tpl_call *c, int slot, int64_t otherwise, int64_t *out);
hn_status hn_tpl_want_text(const hn_tpl_call *c, int slot, const char *otherwise,
                           hn_tpl_text *out);
hn_status hn_tpl_want_bool(hn_tpl_run *r, const hn_tpl_call *c, int slot, bool otherwise,
                           bool *out);

#endif
