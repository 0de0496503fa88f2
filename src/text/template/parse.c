/* Statements, and the template itself. */
#include "text/template/fn.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ELIFS = 500 };

hn_status hn_tpl_wrong(const hn_tpl_parser *p, int line, const char *format, ...)
{
    char what[600];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return hn_fail(HN_ERR_FORMAT, "%s:%d: %s", p->t->name, line, what);
}

bool hn_tpl_is(const hn_tpl_parser *p, hn_tpl_token_kind kind, const char *text_or_null)
{
    const hn_tpl_token *token = p->at;
    return token->kind == kind &&
           (!text_or_null || (strlen(text_or_null) == token->text.bytes &&
                              !memcmp(text_or_null, token->text.text, token->text.bytes)));
}

bool hn_tpl_accept(hn_tpl_parser *p, hn_tpl_token_kind kind, const char *text_or_null)
{
    if (!hn_tpl_is(p, kind, text_or_null))
        return false;
    p->at++;
    return true;
}

static const char *token_words(hn_tpl_token_kind kind)
{
    static const char *const words[] = {
        [HN_TPL_END] = "end of template",
        [HN_TPL_DATA] = "template data / text",
        [HN_TPL_PRINT_BEGIN] = "begin of print statement",
        [HN_TPL_PRINT_END] = "end of print statement",
        [HN_TPL_BLOCK_BEGIN] = "begin of statement block",
        [HN_TPL_BLOCK_END] = "end of statement block",
        [HN_TPL_NAME] = "name",
        [HN_TPL_STRING] = "string",
        [HN_TPL_INT] = "integer",
        [HN_TPL_FLOAT] = "float",
        [HN_TPL_OP] = "operator",
    };
    return words[kind];
}

hn_status hn_tpl_expect(hn_tpl_parser *p, hn_tpl_token_kind kind, const char *text_or_null)
{
    if (hn_tpl_accept(p, kind, text_or_null))
        return HN_OK;
    const char *want = text_or_null ? text_or_null : token_words(kind);
    const hn_tpl_token *found = p->at;
    if (found->kind == HN_TPL_END)
        return hn_tpl_wrong(p, found->line, "unexpected end of template, expected '%s'.", want);
    if (found->kind == HN_TPL_NAME || found->kind == HN_TPL_OP)
        return hn_tpl_wrong(p, found->line, "expected token '%s', got '%.*s'", want,
                            (int)(found->text.bytes < 80 ? found->text.bytes : 80),
                            found->text.text);
    return hn_tpl_wrong(p, found->line, "expected token '%s', got '%s'", want,
                        token_words(found->kind));
}

hn_status hn_tpl_node_new(hn_tpl_parser *p, hn_tpl_node_kind kind, int line, hn_tpl_node **out)
{
    *out = hn_tpl_arena_new(&p->t->arena, sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    (*out)->kind = kind;
    (*out)->line = line;
    return HN_OK;
}

hn_status hn_tpl_take_name(hn_tpl_parser *p, const char **out)
{
    const hn_tpl_token *token = p->at;
    HN_TRY(hn_tpl_expect(p, HN_TPL_NAME, NULL));
    *out = hn_tpl_intern(p->t, token->text);
    return *out ? HN_OK : HN_ERR_MEMORY;
}

static hn_status parse_until(hn_tpl_parser *p, const char *const *ends, hn_tpl_node **out);

/* "%}" and a body until one of the tags in `ends` (spaces between), whose name is the token
 * before p->at then. */
static hn_status parse_block(hn_tpl_parser *p, const char *const *ends, hn_tpl_node **out)
{
    hn_tpl_accept(p, HN_TPL_OP, ":");
    HN_TRY(hn_tpl_expect(p, HN_TPL_BLOCK_END, NULL));
    if (p->depth >= HN_TPL_MAX_NESTING)
        return hn_tpl_wrong(p, p->at->line, "nested deeper than %d", HN_TPL_MAX_NESTING);
    p->depth++;
    HN_TRY(parse_until(p, ends, out));
    p->depth--;
    return HN_OK;
}

static bool ended_with(const hn_tpl_parser *p, const char *name)
{
    const hn_tpl_parser before = { .at = p->at - 1 };
    return hn_tpl_is(&before, HN_TPL_NAME, name);
}

static hn_status parse_for(hn_tpl_parser *p, hn_tpl_node **out)
{
    static const char *const ends[] = { "endfor", "else", NULL };
    HN_TRY(hn_tpl_node_new(p, HN_TPL_FOR, p->at[-1].line, out));
    hn_tpl_node *node = *out;
    const bool was_optional = p->is_optional;
    p->n_fors++;
    HN_TRY(hn_tpl_parse_target(p, "in", false, &node->a));
    p->is_optional = false;
    HN_TRY(hn_tpl_expect(p, HN_TPL_NAME, "in"));
    HN_TRY(hn_tpl_parse_tuple(p, false, "recursive", &node->b));
    if (hn_tpl_accept(p, HN_TPL_NAME, "if"))
        HN_TRY(hn_tpl_parse_expression(p, true, &node->c));
    node->flag = hn_tpl_accept(p, HN_TPL_NAME, "recursive");
    p->n_loops++;
    HN_TRY(parse_block(p, ends, &node->kids));
    p->n_loops--;
    if (ended_with(p, "else"))
        HN_TRY(parse_block(p, (const char *const[]){ "endfor", NULL }, &node->more));
    p->n_fors--;
    p->is_optional = was_optional;
    return HN_OK;
}

static hn_status parse_if(hn_tpl_parser *p, hn_tpl_node **out)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    const bool was_optional = p->is_optional;
    p->is_optional = true;
    HN_TRY(hn_tpl_node_new(p, HN_TPL_IF, p->at[-1].line, out));
    hn_tpl_node *node = *out;
    for (int n = 0;; n++) {
        if (n > MAX_ELIFS)
            return hn_tpl_wrong(p, p->at->line, "more than %d elif in a row", MAX_ELIFS);
        HN_TRY(hn_tpl_parse_tuple(p, false, NULL, &node->a));
        HN_TRY(parse_block(p, ends, &node->kids));
        if (ended_with(p, "elif")) {
            HN_TRY(hn_tpl_node_new(p, HN_TPL_IF, p->at->line, &node->more));
            node = node->more;
            node->flag = true; /* an elif, which nests no deeper */
            continue;
        }
        if (ended_with(p, "else"))
            HN_TRY(parse_block(p, (const char *const[]){ "endif", NULL }, &node->more));
        break;
    }
    p->is_optional = was_optional;
    return HN_OK;
}

/* (a, b=1): names whose `a` is the default. */
static hn_status parse_signature(hn_tpl_parser *p, hn_tpl_node **out)
{
    bool has_defaults = false;
    HN_TRY(hn_tpl_expect(p, HN_TPL_OP, "("));
    for (hn_tpl_node **to = out; !hn_tpl_is(p, HN_TPL_OP, ")"); to = &(*to)->next) {
        if (to != out)
            HN_TRY(hn_tpl_expect(p, HN_TPL_OP, ","));
        HN_TRY(hn_tpl_node_new(p, HN_TPL_VARIABLE, p->at->line, to));
        HN_TRY(hn_tpl_take_name(p, &(*to)->name));
        if (hn_tpl_accept(p, HN_TPL_OP, "=")) {
            HN_TRY(hn_tpl_parse_expression(p, true, &(*to)->a));
            has_defaults = true;
        } else if (has_defaults) {
            return hn_tpl_wrong(p, p->at->line,
                                "non-default argument follows default argument");
        }
    }
    return hn_tpl_expect(p, HN_TPL_OP, ")");
}

/* The body of a macro or call block is a function: loops around it cannot be left from it. */
static hn_status parse_function(hn_tpl_parser *p, const char *end, hn_tpl_node *node)
{
    const hn_tpl_macro_use around = p->use;
    const int n_loops = p->n_loops;
    const bool was_optional = p->is_optional;
    p->use = (hn_tpl_macro_use){ false };
    p->n_loops = 0;
    p->is_optional = false;
    HN_TRY(parse_block(p, (const char *const[]){ end, NULL }, &node->more));
    node->uses_caller = p->use.caller;
    node->uses_kwargs = p->use.kwargs;
    node->uses_varargs = p->use.varargs;
    p->use = (hn_tpl_macro_use){ around.caller || p->use.caller, around.kwargs || p->use.kwargs,
                                 around.varargs || p->use.varargs };
    p->n_loops = n_loops;
    p->is_optional = was_optional;
    if (!node->uses_caller)
        return HN_OK;
    for (const hn_tpl_node *param = node->params; param; param = param->next)
        if (!strcmp(param->name, "caller") && !param->a)
            return hn_tpl_wrong(p, node->line,
                                "When defining macros or call blocks the special \"caller\" "
                                "argument must be omitted or be given a default.");
    return HN_OK;
}

static hn_status parse_macro(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(hn_tpl_node_new(p, HN_TPL_MACRO, p->at[-1].line, out));
    HN_TRY(hn_tpl_take_name(p, &(*out)->name));
    HN_TRY(parse_signature(p, &(*out)->params));
    return parse_function(p, "endmacro", *out);
}

static hn_status parse_call_block(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(hn_tpl_node_new(p, HN_TPL_CALL_BLOCK, p->at[-1].line, out));
    if (hn_tpl_is(p, HN_TPL_OP, "("))
        HN_TRY(parse_signature(p, &(*out)->params));
    HN_TRY(hn_tpl_parse_expression(p, true, &(*out)->a));
    if ((*out)->a->kind != HN_TPL_CALL)
        return hn_tpl_wrong(p, (*out)->line, "expected call");
    return parse_function(p, "endcall", *out);
}

static hn_status parse_generation(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(hn_tpl_node_new(p, HN_TPL_GENERATION, p->at[-1].line, out));
    return parse_function(p, "endgeneration", *out);
}

static hn_status parse_filter_block(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(hn_tpl_node_new(p, HN_TPL_FILTER_BLOCK, p->at[-1].line, out));
    HN_TRY(hn_tpl_parse_filters(p, true, NULL, &(*out)->a));
    return parse_block(p, (const char *const[]){ "endfilter", NULL }, &(*out)->kids);
}

static hn_status parse_set(hn_tpl_parser *p, hn_tpl_node **out)
{
    hn_tpl_node *target = NULL;
    const int line = p->at[-1].line;
    HN_TRY(hn_tpl_parse_target(p, NULL, true, &target));
    const bool is_block = !hn_tpl_accept(p, HN_TPL_OP, "=");
    HN_TRY(hn_tpl_node_new(p, is_block ? HN_TPL_SET_BLOCK : HN_TPL_SET, line, out));
    (*out)->a = target;
    if (!is_block)
        return hn_tpl_parse_tuple(p, true, NULL, &(*out)->b);
    HN_TRY(hn_tpl_parse_filters(p, false, NULL, &(*out)->b));
    return parse_block(p, (const char *const[]){ "endset", NULL }, &(*out)->kids);
}

static hn_status parse_with(hn_tpl_parser *p, hn_tpl_node **out)
{
    HN_TRY(hn_tpl_node_new(p, HN_TPL_WITH, p->at[-1].line, out));
    for (hn_tpl_node **to = &(*out)->params; !hn_tpl_is(p, HN_TPL_BLOCK_END, NULL);
         to = &(*to)->next) {
        if (to != &(*out)->params)
            HN_TRY(hn_tpl_expect(p, HN_TPL_OP, ","));
        HN_TRY(hn_tpl_node_new(p, HN_TPL_PAIR, p->at->line, to));
        HN_TRY(hn_tpl_parse_target(p, NULL, false, &(*to)->a));
        HN_TRY(hn_tpl_expect(p, HN_TPL_OP, "="));
        HN_TRY(hn_tpl_parse_expression(p, true, &(*to)->b));
    }
    return parse_block(p, (const char *const[]){ "endwith", NULL }, &(*out)->kids);
}

static hn_status parse_print(hn_tpl_parser *p, hn_tpl_node **out)
{
    for (hn_tpl_node **to = out; !hn_tpl_is(p, HN_TPL_BLOCK_END, NULL); to = &(*to)->next) {
        if (to != out)
            HN_TRY(hn_tpl_expect(p, HN_TPL_OP, ","));
        HN_TRY(hn_tpl_node_new(p, HN_TPL_PRINT, p->at->line, to));
        HN_TRY(hn_tpl_parse_expression(p, true, &(*to)->a));
    }
    return HN_OK;
}

static hn_status parse_jump(hn_tpl_parser *p, hn_tpl_node **out)
{
    const bool is_break = ended_with(p, "break");
    if (!p->n_loops)
        return hn_tpl_wrong(p, p->at[-1].line, "'%s' outside loop",
                            is_break ? "break" : "continue");
    return hn_tpl_node_new(p, is_break ? HN_TPL_BREAK : HN_TPL_CONTINUE, p->at[-1].line, out);
}

/* An unknown tag, where `ends` was looked for. */
static hn_status unknown_tag(const hn_tpl_parser *p, const char *const *ends)
{
    static const char *const refused[] = { "include", "import", "from",
                                           "extends", "block",  "autoescape" };
    const hn_tpl_text name = p->at->text;
    const int bytes = (int)(name.bytes < 80 ? name.bytes : 80);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (hn_tpl_is(p, HN_TPL_NAME, refused[i]))
            return hn_fail(HN_ERR_UNSUPPORTED, "%s:%d: {%% %s %%} is not for chat templates",
                           p->t->name, p->at->line, refused[i]);
    if (!ends)
        return hn_tpl_wrong(p, p->at->line, "Encountered unknown tag '%.*s'.", bytes,
                            name.text);
    return hn_tpl_wrong(p, p->at->line,
                        "Encountered unknown tag '%.*s'. Jinja was looking for "
                        "the following tags: '%s'%s%s%s.",
                        bytes, name.text, ends[0], ends[1] ? " or '" : "",
                        ends[1] ? ends[1] : "", ends[1] ? "'" : "");
}

static hn_status parse_statement(hn_tpl_parser *p, const char *const *ends, hn_tpl_node **out)
{
    static const struct {
        const char *name;
        hn_status (*parse)(hn_tpl_parser *p, hn_tpl_node **out);
    } tags[] = { { "if", parse_if },
                 { "for", parse_for },
                 { "set", parse_set },
                 { "macro", parse_macro },
                 { "call", parse_call_block },
                 { "filter", parse_filter_block },
                 { "with", parse_with },
                 { "print", parse_print },
                 { "break", parse_jump },
                 { "continue", parse_jump },
                 { "generation", parse_generation } };
    if (p->at->kind != HN_TPL_NAME)
        return hn_tpl_wrong(p, p->at->line, "tag name expected");
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (hn_tpl_accept(p, HN_TPL_NAME, tags[i].name))
            return tags[i].parse(p, out);
    return unknown_tag(p, ends);
}

static bool at_end_tag(hn_tpl_parser *p, const char *const *ends)
{
    for (int i = 0; ends && ends[i]; i++)
        if (hn_tpl_accept(p, HN_TPL_NAME, ends[i]))
            return true;
    return false;
}

/* A body, up to a tag in `ends` (its name is taken; what follows is the caller's) or, with
 * NULL, to the end. */
static hn_status parse_until(hn_tpl_parser *p, const char *const *ends, hn_tpl_node **out)
{
    for (hn_tpl_node **to = out;;) {
        while (*to)
            to = &(*to)->next;
        const hn_tpl_token *token = p->at;
        if (hn_tpl_accept(p, HN_TPL_DATA, NULL)) {
            HN_TRY(hn_tpl_node_new(p, HN_TPL_OUTPUT, token->line, to));
            (*to)->text = token->text;
        } else if (hn_tpl_accept(p, HN_TPL_PRINT_BEGIN, NULL)) {
            HN_TRY(hn_tpl_node_new(p, HN_TPL_PRINT, token->line, to));
            HN_TRY(hn_tpl_parse_tuple(p, true, NULL, &(*to)->a));
            HN_TRY(hn_tpl_expect(p, HN_TPL_PRINT_END, NULL));
        } else if (hn_tpl_accept(p, HN_TPL_BLOCK_BEGIN, NULL)) {
            if (at_end_tag(p, ends))
                return HN_OK;
            HN_TRY(parse_statement(p, ends, to));
            HN_TRY(hn_tpl_expect(p, HN_TPL_BLOCK_END, NULL));
        } else if (!ends) {
            return hn_tpl_expect(p, HN_TPL_END, NULL);
        } else {
            return hn_tpl_wrong(p, token->line,
                                "Unexpected end of template. Jinja was looking "
                                "for the following tags: '%s'%s%s%s.",
                                ends[0], ends[1] ? " or '" : "", ends[1] ? ends[1] : "",
                                ends[1] ? "'" : "");
        }
    }
}

hn_status hn_tpl_parse_body(hn_tpl_parser *p, hn_tpl_node **out)
{
    return parse_until(p, NULL, out);
}
