/* value.h: what a template computes with: Python's values. Private to this folder.
 *
 * Values are copied freely; what they point to lives in the run's arena until the run ends.
 * Lists and dicts never change after they were made, as the sandbox refuses it. */
#ifndef HN_TEXT_TEMPLATE_VALUE_H
#define HN_TEXT_TEMPLATE_VALUE_H

#include "text/template/own.h"

typedef struct hn_tpl_run hn_tpl_run;

typedef enum hn_tv_kind {
    HN_TV_MISSING, /* no argument given, no variable set; never seen by a template */
    HN_TV_UNDEFINED,
    HN_TV_NONE,
    HN_TV_BOOL,
    HN_TV_INT,
    HN_TV_FLOAT,
    HN_TV_TEXT,
    HN_TV_LIST,
    HN_TV_TUPLE,
    HN_TV_DICT,
    HN_TV_RANGE,
    HN_TV_VIEW,      /* of a dict */
    HN_TV_GENERATOR, /* can be walked once; has no length and no items */
    HN_TV_NAMESPACE,
    HN_TV_FUNCTION, /* with or without self */
    HN_TV_MACRO,
    HN_TV_LOOP,
    HN_TV_CYCLER,
    HN_TV_JOINER
} hn_tv_kind;

typedef struct hn_tval {
    hn_tv_kind kind;
    bool is_markup; /* text that was marked safe: + and % escape what is added */
    union {
        bool boolean;
        int64_t integer;
        double number;
        hn_tpl_text text;
        struct hn_tpl_list *list;
        struct hn_tpl_dict *dict; /* also of a namespace */
        struct hn_tpl_range *range;
        struct hn_tpl_view *view;
        struct hn_tpl_generator *generator;
        const struct hn_tpl_undefined *undefined;
        const struct hn_tpl_bound *function;
        struct hn_tpl_macro *macro;
        struct hn_tpl_loop *loop;
        struct hn_tpl_cycler *cycler;
        struct hn_tpl_joiner *joiner;
    } as;
} hn_tval;

typedef struct hn_tpl_list {
    hn_tval *at;
    size_t n, room;
    bool is_group; /* of groupby: has .grouper and .list */
} hn_tpl_list;

typedef struct hn_tpl_dict {
    hn_tval *keys, *values; /* in order of insertion */
    size_t n, room;
    uint32_t *index; /* of positions + 1, by hash; NULL while small */
    size_t index_room;
} hn_tpl_dict;

typedef struct hn_tpl_range {
    int64_t start, stop, step, n;
} hn_tpl_range;

typedef struct hn_tpl_view {
    hn_tpl_dict *dict;
    char which; /* k(eys) v(alues) i(tems) */
} hn_tpl_view;

/* Made eagerly; a failure on the way waits until somebody walks that far, as Python's would. */
typedef struct hn_tpl_generator {
    hn_tpl_list items;
    size_t next;
    const char *failure; /* after the items, or NULL */
    hn_status status;
} hn_tpl_generator;

typedef struct hn_tpl_undefined {
    const char *hint;  /* the whole message, or NULL */
    const char *owner; /* type of what lacks it, or NULL: a variable */
    hn_tval name;
} hn_tpl_undefined;

typedef struct hn_tpl_iter {
    hn_tval of;
    size_t next; /* index, or byte of a text */
} hn_tpl_iter;

static inline hn_tval hn_tv_none(void) { return (hn_tval){ .kind = HN_TV_NONE }; }
static inline hn_tval hn_tv_bool(bool b)
{
    return (hn_tval){ .kind = HN_TV_BOOL, .as.boolean = b };
}
static inline hn_tval hn_tv_int(int64_t i)
{
    return (hn_tval){ .kind = HN_TV_INT, .as.integer = i };
}
static inline hn_tval hn_tv_float(double d)
{
    return (hn_tval){ .kind = HN_TV_FLOAT, .as.number = d };
}
static inline hn_tval hn_tv_text(const char *text, size_t bytes)
{
    return (hn_tval){ .kind = HN_TV_TEXT, .as.text = { text, bytes } };
}
/* A part of a text, each byte whose it was. */
static inline hn_tval hn_tv_part(hn_tpl_text of, size_t begin, size_t end)
{
    return (hn_tval){ .kind = HN_TV_TEXT, .as.text = hn_tpl_part(of, begin, end) };
}
static inline bool hn_tv_is_sequence(const hn_tval *v)
{
    return v->kind == HN_TV_LIST || v->kind == HN_TV_TUPLE;
}
/* Of bool and int. */
static inline bool hn_tv_is_integer(const hn_tval *v)
{
    return v->kind == HN_TV_INT || v->kind == HN_TV_BOOL;
}
static inline int64_t hn_tv_integer(const hn_tval *v)
{
    return v->kind == HN_TV_BOOL ? v->as.boolean : v->as.integer;
}
bool hn_tv_is(const hn_tval *text, const char *word);

/* Python's names: 'str', 'NoneType'. */
const char *hn_tv_type(const hn_tval *v);
hn_status hn_tv_is_true(hn_tpl_run *r, const hn_tval *v, bool *out);
hn_status hn_tv_equal(hn_tpl_run *r, const hn_tval *a, const hn_tval *b, bool *out);
/* -1, 0, 1, or 2: a NaN. `op` is for the message. */
hn_status hn_tv_order(hn_tpl_run *r, const hn_tval *a, const hn_tval *b, const char *op,
                      int *out);
hn_status hn_tv_contains(hn_tpl_run *r, const hn_tval *in, const hn_tval *what, bool *out);
hn_status hn_tv_length(hn_tpl_run *r, const hn_tval *v, int64_t *out);
/* The failure that using this undefined is. */
hn_status hn_tv_undefined_error(const hn_tval *undefined);

/* Iteration: begins only what can be iterated; *done when there is no more. */
hn_status hn_tv_iter(hn_tpl_run *r, const hn_tval *of, hn_tpl_iter *out);
hn_status hn_tv_next(hn_tpl_run *r, hn_tpl_iter *it, hn_tval *out, bool *done);
hn_status hn_tv_collect(hn_tpl_run *r, const hn_tval *of, hn_tval *out); /* a list */

/* Making. */
hn_status hn_tv_list_new(hn_tpl_run *r, hn_tv_kind kind, hn_tval *out);
hn_status hn_tv_list_add(hn_tpl_run *r, hn_tpl_list *list, const hn_tval *item);
hn_status hn_tv_pair(hn_tpl_run *r, const hn_tval *a, const hn_tval *b, hn_tval *out);
hn_status hn_tv_dict_new(hn_tpl_run *r, hn_tval *out);
hn_status hn_tv_dict_set(hn_tpl_run *r, hn_tpl_dict *d, const hn_tval *key,
                         const hn_tval *value);
/* NULL if there is none. */
hn_status hn_tv_dict_get(hn_tpl_run *r, const hn_tpl_dict *d, const hn_tval *key,
                         hn_tval **out);
hn_status hn_tv_hash(hn_tpl_run *r, const hn_tval *v, uint64_t *out);
/* Every pair of a dict's items, or of what dict() takes. */
hn_status hn_tv_dict_merge(hn_tpl_run *r, hn_tpl_dict *d, const hn_tval *from);
hn_status hn_tv_copy_text(hn_tpl_run *r, const char *text, size_t bytes, hn_tval *out);
/* Takes what was written; frees nothing. Of a hn_str it is data. */
hn_status hn_tv_from_str(hn_tpl_run *r, const hn_str *text, hn_tval *out);
hn_status hn_tv_from_words(hn_tpl_run *r, const hn_tpl_str *words, hn_tval *out);
/* A copy that is the template's own, for the tokens of its model and the roles of messages. */
hn_status hn_tv_own_text(hn_tpl_run *r, const char *text, size_t bytes, hn_tval *out);
hn_status hn_tv_undefined(hn_tpl_run *r, const char *hint, const hn_tval *owner,
                          const hn_tval *name, hn_tval *out);
hn_status hn_tv_from_json(hn_tpl_run *r, const hn_json *json, hn_tval *out);

/* Writing: str(v) and repr(v). A text's bytes stay whose they were; all else is data. */
hn_status hn_tv_write(hn_tpl_run *r, const hn_tval *v, hn_tpl_str *to);
hn_status hn_tv_write_repr(hn_tpl_run *r, const hn_tval *v, hn_str *to);
hn_status hn_tv_to_text(hn_tpl_run *r, const hn_tval *v, hn_tval *out); /* keeps markup */
void hn_tv_write_float(double d, hn_str *to);
/* Shortest digits that read back the same; value = 0.DIGITS * 10^point. Finite, not 0. */
int hn_tv_float_digits(double d, char digits[20], int *point);
void hn_tv_escape(hn_tpl_str *to, hn_tpl_text text); /* & < > ' " as entities */

/* Texts count code points. */
int64_t hn_tv_text_length(hn_tpl_text text);
size_t hn_tv_text_offset(hn_tpl_text text, int64_t code_points); /* bytes before that many */

#endif
