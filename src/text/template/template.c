/* The arena, names, and the two doors: parse and render. */
#include "text/template/fn.h"

#include "base/utf8.h"

#include <string.h>

typedef struct hn_tpl_chunk {
    struct hn_tpl_chunk *next;
    size_t unused; /* keeps what follows aligned to 16 bytes */
} hn_tpl_chunk;

enum { FIRST_CHUNK = 16 << 10, LARGEST_CHUNK = 1 << 20 };

void *hn_tpl_arena_new(hn_tpl_arena *arena, size_t bytes)
{
    if (bytes > SIZE_MAX / 4 || (arena->limit && bytes > arena->limit - arena->used)) {
        hn_fail(HN_ERR_MEMORY, "a template wants more than %zu bytes of memory", arena->limit);
        return NULL;
    }
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > arena->left) {
        size_t room = arena->used < FIRST_CHUNK ? FIRST_CHUNK : arena->used;
        room = room > LARGEST_CHUNK ? LARGEST_CHUNK : room;
        room = bytes > room ? bytes : room;
        hn_tpl_chunk *chunk = hn_alloc(arena->heap, HN_TAG_TEXT, sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->at = (char *)(chunk + 1);
        arena->left = room;
    }
    void *made = arena->at;
    arena->at += bytes;
    arena->left -= bytes;
    arena->used += bytes;
    if (arena->limit && arena->used > arena->limit)
        arena->used = arena->limit;
    return made;
}

void hn_tpl_arena_free(hn_tpl_arena *arena)
{
    for (hn_tpl_chunk *next; arena->chunks; arena->chunks = next) {
        next = arena->chunks->next;
        hn_free(arena->heap, arena->chunks);
    }
}

static unsigned bucket(hn_tpl_text name)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < name.bytes; i++)
        h = (h ^ (unsigned char)name.text[i]) * 16777619u;
    return (h ^ (h >> 16)) & 255;
}

static hn_tpl_name *find_name(const hn_template *t, hn_tpl_text name)
{
    for (hn_tpl_name *n = t->names[bucket(name)]; n; n = n->next)
        if (n->bytes == name.bytes && !memcmp(n->text, name.text, name.bytes))
            return n;
    return NULL;
}

const char *hn_tpl_interned(const hn_template *t, hn_tpl_text name)
{
    const hn_tpl_name *n = find_name(t, name);
    return n ? n->text : NULL;
}

void hn_tpl_note_read(hn_template *t, const char *name)
{
    hn_tpl_name *n = find_name(t, (hn_tpl_text){ name, strlen(name) });
    if (n)
        n->is_read = true;
}

const char *hn_tpl_intern(hn_template *t, hn_tpl_text name)
{
    const char *known = hn_tpl_interned(t, name);
    if (known)
        return known;
    if (t->n_names++ >= HN_TPL_MAX_NAMES) {
        hn_fail(HN_ERR_MEMORY, "%s: more than %d names", t->name, HN_TPL_MAX_NAMES);
        return NULL;
    }
    hn_tpl_name *made = hn_tpl_arena_new(&t->arena, sizeof *made);
    char *copy = hn_tpl_arena_new(&t->arena, name.bytes + 1);
    if (!made || !copy)
        return NULL;
    memcpy(copy, name.text, name.bytes);
    *made = (hn_tpl_name){ t->names[bucket(name)], name.bytes, copy, false };
    t->names[bucket(name)] = made;
    return copy;
}

bool hn_template_mentions(const hn_template *t, const char *name)
{
    const hn_tpl_name *n = find_name(t, (hn_tpl_text){ name, strlen(name) });
    return n && n->is_read;
}

/* A copy with "\n" for every line end, without one at the very end, as jinja2 does it. */
static hn_status copy_source(hn_template *t, const char *source, size_t bytes, hn_tpl_text *out)
{
    char *copy = hn_tpl_arena_new(&t->arena, bytes + 1);
    size_t n = 0;
    if (!copy)
        return HN_ERR_MEMORY;
    for (size_t i = 0, one = 0; i < bytes; i += one) {
        one = hn_utf8_length(source + i, bytes - i);
        HN_REQUIRE(one, HN_ERR_FORMAT, "%s: byte %zu: not UTF-8", t->name, i);
        if (source[i] == '\r') {
            one += i + 1 < bytes && source[i + 1] == '\n';
            copy[n++] = '\n';
            continue;
        }
        memcpy(copy + n, source + i, one);
        n += one;
    }
    if (n && copy[n - 1] == '\n')
        n--;
    *out = (hn_tpl_text){ copy, n };
    copy[n] = '\0';
    return HN_OK;
}

static bool is_literal(const hn_tpl_token *token)
{
    return token->kind == HN_TPL_DATA || token->kind == HN_TPL_STRING;
}

/* All that the template writes of itself, for whoever looks for its markers. */
static hn_status keep_words(hn_template *t, const hn_tpl_tokens *tokens)
{
    size_t bytes = 0;
    for (size_t i = 0; i < tokens->n; i++)
        bytes += is_literal(&tokens->at[i]) ? tokens->at[i].text.bytes + 1 : 0;
    char *words = hn_tpl_arena_new(&t->arena, bytes + 1);
    t->ones = hn_tpl_arena_new(&t->arena, bytes + 1);
    if (!words || !t->ones)
        return HN_ERR_MEMORY;
    memset(t->ones, 1, bytes);
    t->words = (hn_tpl_text){ words, bytes };
    for (size_t i = 0; i < tokens->n; i++)
        if (is_literal(&tokens->at[i])) {
            const hn_tpl_text text = tokens->at[i].text;
            memcpy(words, text.text, text.bytes);
            words += text.bytes + 1;
        }
    return HN_OK;
}

static hn_status read_source(hn_template *t, const char *source, size_t bytes)
{
    hn_tpl_text text;
    hn_tpl_tokens tokens = { 0 };
    HN_REQUIRE(bytes <= HN_TPL_MAX_SOURCE, HN_ERR_FORMAT, "%s: %zu bytes: expected at most %d",
               t->name, bytes, HN_TPL_MAX_SOURCE);
    HN_TRY(copy_source(t, source, bytes, &text));
    hn_status status = hn_tpl_lex(t, text, &tokens);
    hn_tpl_parser p = { .t = t, .at = tokens.at };
    if (status == HN_OK)
        status = hn_tpl_parse_body(&p, &t->body);
    if (status == HN_OK)
        status = keep_words(t, &tokens);
    hn_free(t->heap, tokens.at);
    return status == HN_OK ? hn_tpl_resolve(t) : status;
}

hn_status hn_template_parse(hn_heap *heap, const char *name, const char *source, size_t bytes,
                            hn_template **out)
{
    *out = NULL;
    hn_template *t = hn_alloc(heap, HN_TAG_TEXT, sizeof *t);
    if (!t)
        return HN_ERR_MEMORY;
    t->heap = heap;
    t->arena.heap = heap;
    char *copy = hn_tpl_arena_new(&t->arena, strlen(name) + 1);
    if (copy)
        memcpy(copy, name, strlen(name));
    t->name = copy;
    const hn_status status = copy ? read_source(t, source, bytes) : HN_ERR_MEMORY;
    if (status != HN_OK) {
        hn_template_free(t);
        return status;
    }
    *out = t;
    return HN_OK;
}

void hn_template_free(hn_template *t)
{
    if (!t)
        return;
    hn_tpl_arena_free(&t->arena);
    hn_free(t->heap, t);
}

/* Templates write '<|' + role + '|>': a role that is one is no more than its place in the conversation, which whoever
 * speaks to the model has to say anyway. Any other word there stays data, and makes no token. */
static bool is_role(hn_tpl_text text)
{
    static const char *const roles[] = {
#define HN_CHAT_ROLE(name) #name,
#include "text/template/roles.def"
#undef HN_CHAT_ROLE
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strlen(roles[i]) == text.bytes && !memcmp(roles[i], text.text, text.bytes))
            return true;
    return false;
}

static hn_status own_roles(hn_tpl_run *r, hn_tval *messages)
{
    const hn_tval key = hn_tv_text("role", 4);
    for (size_t i = 0; messages->kind == HN_TV_LIST && i < messages->as.list->n; i++) {
        const hn_tval *message = &messages->as.list->at[i];
        hn_tval *role = NULL;
        if (message->kind == HN_TV_DICT)
            HN_TRY(hn_tv_dict_get(r, message->as.dict, &key, &role));
        if (role && role->kind == HN_TV_TEXT && is_role(role->as.text))
            HN_TRY(hn_tv_own_text(r, role->as.text.text, role->as.text.bytes, role));
    }
    return HN_OK;
}

static hn_status set_variables(hn_tpl_run *r, const hn_template_input *input)
{
    for (size_t i = 0; i < input->n_vars; i++) {
        const hn_template_var *v = &input->vars[i];
        const char *name = hn_tpl_interned(r->t, (hn_tpl_text){ v->name, strlen(v->name) });
        hn_tval value;
        if (!name)
            continue; /* nothing asks for it */
        if (v->json)
            HN_TRY(hn_tv_from_json(r, v->json, &value));
        else if (v->is_own)
            HN_TRY(hn_tv_own_text(r, v->text, strlen(v->text), &value));
        else
            value = hn_tv_text(v->text, strlen(v->text));
        if (v->has_roles)
            HN_TRY(own_roles(r, &value));
        HN_TRY(hn_tpl_set(r, r->root, name, &value));
    }
    return HN_OK;
}

static hn_status run_body(hn_tpl_run *r, const hn_template_input *input)
{
    hn_tpl_scope *top = NULL;
    HN_TRY(hn_tpl_scope_new(r, NULL, NULL, &r->root));
    HN_TRY(set_variables(r, input));
    HN_TRY(hn_tpl_scope_new(r, r->root, r->t->unset, &top));
    r->scope = top;
    HN_TRY(hn_tpl_exec(r, r->t->body));
    return hn_tpl_str_status(r->out);
}

static void *acquire(void *context, size_t bytes, size_t alignment)
{
    hn_tpl_budget *budget = context;
    (void)alignment; /* a heap's blocks have it */
    if (bytes > budget->limit - budget->used) {
        budget->is_spent = true;
        return NULL;
    }
    void *block = hn_alloc(budget->source, HN_TAG_TEXT, bytes);
    budget->used += block ? bytes : 0;
    budget->is_dry = budget->is_dry || !block;
    return block;
}

static void release(void *context, void *block, size_t bytes)
{
    hn_tpl_budget *budget = context;
    budget->used -= bytes;
    hn_free(budget->source, block);
}

static hn_template_options with_defaults(const hn_template_options *given)
{
    hn_template_options o = *given;
    o.max_bytes = o.max_bytes ? o.max_bytes : (size_t)32 << 20;
    o.max_memory = o.max_memory ? o.max_memory : (size_t)128 << 20;
    o.max_steps = o.max_steps ? o.max_steps : 50000000;
    o.max_depth = o.max_depth ? o.max_depth : 600;
    return o;
}

static void begin(hn_tpl_run *r, const hn_template *t, const hn_template_input *input, hn_template_spans *spans)
{
    *r = (hn_tpl_run){ .t = t, .options = with_defaults(&input->options), .spans = spans };
    r->budget.source = t->heap;
    r->budget.limit = r->options.max_memory;
    const hn_heap_hook hook = { .acquire = acquire, .release = release, .context = &r->budget, .is_zeroed = true };
    hn_heap_init(&r->budget.heap, &hook);
    r->arena = (hn_tpl_arena){ .heap = &r->budget.heap, .limit = r->options.max_memory };
}

/* A template that asks for too much is at fault, not the machine. */
static hn_status name_failure(const hn_tpl_run *r, hn_status status)
{
    if (status == HN_ERR_MEMORY && !r->budget.is_dry)
        status = hn_fail(HN_ERR_FORMAT, "it wants more than %zu bytes of memory", r->options.max_memory);
    return r->failed_line ? hn_fail_within(status, "%s:%d: ", r->t->name, r->failed_line)
                          : hn_fail_within(status, "%s: ", r->t->name);
}

void hn_template_origins_free(hn_template_origins *origins)
{
    if (origins->heap)
        hn_free(origins->heap, origins->own.at);
    *origins = (hn_template_origins){ 0 };
}

hn_text_origins hn_template_origins_view(const hn_template_origins *origins)
{
    return (hn_text_origins){ origins->own.at, origins->own.n, origins->words.data, origins->words.bytes };
}

hn_span hn_template_last_words(const hn_template_origins *origins, const hn_str *output)
{
    const hn_template_spans *own = &origins->own;
    const size_t begin = own->n && own->at[own->n - 1].end == output->length ? own->at[own->n - 1].begin : output->length;
    return (hn_span){ output->text + begin, output->length - begin };
}

static hn_status give_origins(const hn_template *t, const hn_tpl_str *text, size_t base, hn_template_origins *out)
{
    if (out->heap != t->heap)
        hn_template_origins_free(out);
    out->heap = t->heap;
    out->words = (hn_span){ t->words.text, t->words.bytes };
    return hn_tpl_spans_of(t->heap, text, base, &out->own);
}

hn_status hn_template_render(const hn_template *t, const hn_template_input *input, hn_str *out,
                             hn_template_spans *spans_or_null, hn_template_origins *origins_or_null)
{
    hn_tpl_run r;
    begin(&r, t, input, spans_or_null);
    hn_tpl_str text = hn_tpl_str_on(&r.budget.heap);
    r.out = &text;
    if (spans_or_null)
        spans_or_null->n = 0;
    if (origins_or_null)
        origins_or_null->own.n = 0;
    hn_status status = run_body(&r, input);
    if (r.budget.is_spent || r.budget.is_dry) /* texts lose what they are refused, whoever looks */
        status = HN_ERR_MEMORY;
    if (status == HN_OK) {
        for (size_t i = 0; spans_or_null && i < spans_or_null->n; i++) {
            spans_or_null->at[i].begin += out->length;
            spans_or_null->at[i].end += out->length;
        }
        if (origins_or_null)
            status = give_origins(t, &text, out->length, origins_or_null);
        if (status == HN_OK) {
            hn_str_add_bytes(out, text.text.text, text.text.length);
            status = hn_str_status(out);
        }
    } else {
        status = name_failure(&r, status);
    }
    hn_tpl_str_free(&text);
    hn_tpl_arena_free(&r.arena);
    return status;
}
