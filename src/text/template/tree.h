/* tree.h: a template after reading: nodes in an arena. Private to this folder. */
#ifndef HN_TEXT_TEMPLATE_TREE_H
#define HN_TEXT_TEMPLATE_TREE_H

#include "text/template/template.h"

/* Memory that is freed at once. Blocks are zero. */
typedef struct hn_tpl_arena {
    hn_heap *heap;
    struct hn_tpl_chunk *chunks;
    char *at;
    size_t left, used, limit; /* limit 0: none */
} hn_tpl_arena;

void *hn_tpl_arena_new(hn_tpl_arena *arena, size_t bytes); /* NULL and a message */
void hn_tpl_arena_free(hn_tpl_arena *arena);

/* `own` tells the template's own words from what it was given: a byte for each of the text's, 1 where it is the
 * template's; NULL: none is. So whoever makes a text and does not say whose it is has made one of data. */
typedef struct hn_tpl_text {
    const char *text; /* UTF-8, not ended */
    size_t bytes;
    const uint8_t *own;
} hn_tpl_text;

static inline hn_tpl_text hn_tpl_part(hn_tpl_text of, size_t begin, size_t end)
{
    return (hn_tpl_text){ of.text + begin, end - begin, of.own ? of.own + begin : NULL };
}

typedef enum hn_tpl_token_kind {
    HN_TPL_END,
    HN_TPL_DATA,
    HN_TPL_PRINT_BEGIN,
    HN_TPL_PRINT_END,
    HN_TPL_BLOCK_BEGIN,
    HN_TPL_BLOCK_END,
    HN_TPL_NAME,
    HN_TPL_STRING,
    HN_TPL_INT,
    HN_TPL_FLOAT,
    HN_TPL_OP
} hn_tpl_token_kind;

typedef struct hn_tpl_token {
    hn_tpl_token_kind kind;
    int line;
    hn_tpl_text text; /* a name, an operator, data, or a string without escapes */
    int64_t integer;
    double number;
} hn_tpl_token;

typedef struct hn_tpl_tokens {
    hn_tpl_token *at;
    size_t n, room;
} hn_tpl_tokens;

typedef enum hn_tpl_node_kind {
    /* expressions */
    HN_TPL_CONST_NONE,
    HN_TPL_CONST_BOOL,
    HN_TPL_CONST_INT,
    HN_TPL_CONST_FLOAT,
    HN_TPL_CONST_TEXT,
    HN_TPL_VARIABLE,
    HN_TPL_NS_ATTR, /* target only: name.name2 */
    HN_TPL_LIST,
    HN_TPL_TUPLE,
    HN_TPL_DICT, /* kids are key (a) and value (b) */
    HN_TPL_ATTR,
    HN_TPL_ITEM,
    HN_TPL_SLICE,
    HN_TPL_CALL,
    HN_TPL_FILTER,
    HN_TPL_TEST,
    HN_TPL_NOT,
    HN_TPL_NEG,
    HN_TPL_POS,
    HN_TPL_BINARY, /* op: + - * / f(loor) % p(ower) */
    HN_TPL_AND,
    HN_TPL_OR,
    HN_TPL_COMPARE, /* a, then kids with op: = ! < > l(e) g(e) i(n) n(ot in) */
    HN_TPL_CONCAT,
    HN_TPL_IF_ELSE, /* b if a else c */
    HN_TPL_PAIR,    /* of a dict, keyword, comparison, with */
    /* statements */
    HN_TPL_OUTPUT, /* text as it stands */
    HN_TPL_PRINT,
    HN_TPL_FOR, /* a in b if c: kids, else more */
    HN_TPL_IF,  /* a: kids, else more */
    HN_TPL_MACRO,
    HN_TPL_CALL_BLOCK,
    HN_TPL_FILTER_BLOCK,
    HN_TPL_SET,
    HN_TPL_SET_BLOCK,
    HN_TPL_WITH,
    HN_TPL_BREAK,
    HN_TPL_CONTINUE,
    HN_TPL_GENERATION
} hn_tpl_node_kind;

typedef struct hn_tpl_node {
    hn_tpl_node_kind kind;
    int line;
    char op;
    bool flag;                                   /* a loop is recursive, a bool is true */
    bool uses_caller, uses_kwargs, uses_varargs; /* of a macro's body */
    const char *name, *name2;                    /* interned: equal names are one pointer */
    hn_tpl_text text;
    int64_t integer;
    double number;
    struct hn_tpl_node *a, *b, *c, *d;
    struct hn_tpl_node *kids, *more, *params, *next;
    /* Names that the scope hides until it sets them, ending in NULL; of a loop's else. */
    const char **unset, **unset_more;
    const void *function; /* of a filter or test; NULL: unknown, an error when reached */
} hn_tpl_node;

typedef struct hn_tpl_name {
    struct hn_tpl_name *next;
    size_t bytes;
    char *text;
    bool is_read; /* somewhere from the world outside, and not only as a member's name or what the template sets */
} hn_tpl_name;

enum { HN_TPL_MAX_NAMES = 8192, HN_TPL_MAX_SOURCE = 4 << 20 };

struct hn_template {
    hn_heap *heap;
    hn_tpl_arena arena;
    const char *name;
    struct hn_tpl_name *names[256]; /* interned, by hash */
    size_t n_names;
    hn_tpl_node *body;
    const char **unset;
    hn_tpl_text words; /* all its literals, a NUL after each */
    uint8_t *ones;     /* as many as the words have bytes: no literal is longer */
};

/* NULL and a message: no memory, or too many. */
const char *hn_tpl_intern(hn_template *t, hn_tpl_text name);
/* NULL if the template has no such name. */
const char *hn_tpl_interned(const hn_template *t, hn_tpl_text name);
/* Of an interned name: it is read from the world outside. */
void hn_tpl_note_read(hn_template *t, const char *name);

/* Adds tokens, END last. `source` has only \n at line ends and outlives them. */
hn_status hn_tpl_lex(hn_template *t, hn_tpl_text source, hn_tpl_tokens *out);

/* The reader of tokens that statements and expressions share. */
enum { HN_TPL_MAX_NESTING = 200 };
typedef struct hn_tpl_macro_use {
    bool caller, kwargs, varargs;
} hn_tpl_macro_use;
typedef struct hn_tpl_parser {
    hn_template *t;
    const hn_tpl_token *at;
    int depth;
    int n_loops;                /* around, in this function: break may stand here */
    int n_fors;                 /* around, anywhere: `loop` is not to be assigned */
    bool is_optional;           /* under an if: unknown filters are errors only when reached */
    int n_expressions;          /* around */
    const hn_tpl_node *unknown; /* the first filter or test that nobody knows */
    hn_tpl_macro_use use;
} hn_tpl_parser;

hn_status hn_tpl_wrong(const hn_tpl_parser *p, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool hn_tpl_is(const hn_tpl_parser *p, hn_tpl_token_kind kind, const char *text_or_null);
bool hn_tpl_accept(hn_tpl_parser *p, hn_tpl_token_kind kind, const char *text_or_null);
hn_status hn_tpl_expect(hn_tpl_parser *p, hn_tpl_token_kind kind, const char *text_or_null);
hn_status hn_tpl_node_new(hn_tpl_parser *p, hn_tpl_node_kind kind, int line, hn_tpl_node **out);
hn_status hn_tpl_take_name(hn_tpl_parser *p, const char **out);

/* Expressions. Ends of a tuple without parentheses are PRINT_END, BLOCK_END, ')' and `end`. */
hn_status hn_tpl_parse_expression(hn_tpl_parser *p, bool with_if, hn_tpl_node **out);
hn_status hn_tpl_parse_tuple(hn_tpl_parser *p, bool with_if, const char *end_or_null,
                             hn_tpl_node **out);
hn_status hn_tpl_parse_parenthesis(hn_tpl_parser *p, hn_tpl_node **out);
hn_status hn_tpl_parse_primary(hn_tpl_parser *p, hn_tpl_node **out);
hn_status hn_tpl_parse_filters(hn_tpl_parser *p, bool starts_with_name, hn_tpl_node *value,
                               hn_tpl_node **out);
/* Names, tuples of them and, with_namespace, n.attr. */
hn_status hn_tpl_parse_target(hn_tpl_parser *p, const char *end_or_null, bool with_namespace,
                              hn_tpl_node **out);

/* Parts of them: a left operand that becomes the first of a new node; what follows a primary.
 */
hn_status hn_tpl_wrap(hn_tpl_parser *p, hn_tpl_node_kind kind, char op, hn_tpl_node **node);
hn_status hn_tpl_parse_postfix(hn_tpl_parser *p, hn_tpl_node **node);
hn_status hn_tpl_parse_call(hn_tpl_parser *p, hn_tpl_node **node);
hn_status hn_tpl_parse_test(hn_tpl_parser *p, hn_tpl_node **node);
hn_status hn_tpl_deeper(hn_tpl_parser *p); /* then p->depth-- */
hn_status hn_tpl_chain(hn_tpl_parser *p, int *n);
hn_status hn_tpl_unexpected(const hn_tpl_parser *p, const char *what);
hn_status hn_tpl_refuse_unknown(const hn_tpl_parser *p);

/* Statements, to the end. */
hn_status hn_tpl_parse_body(hn_tpl_parser *p, hn_tpl_node **out);

/* Fills `unset` of all scopes: jinja2 decides where names live before it runs. */
hn_status hn_tpl_resolve(hn_template *t);

#endif
