/* Where in a rendered conversation the supervised stretches lie.
 *
 * A template with {% generation %} blocks says so itself. Of any other, the beginning of a turn
 * is where the conversation before it, rendered with the prompt to go on, ends: that is exactly
 * what the model will have before it when it writes. This must be a prefix of the whole text,
 * or the model would be trained on what it never sees; then it is refused. The turn ends where
 * the conversation up to it ends or, if the template writes that otherwise (it leaves thoughts
 * out of earlier turns, say), with the first end token, which must come before the next
 * message's content. */
#include "data/example.h"

#include "data/keys.h"
#include "data/marks.h"

#include <math.h>
#include <string.h>

hn_status hn_stretches_add(hn_heap *heap, hn_stretches *to, hn_stretch stretch)
{
    if (to->n == to->room) {
        const size_t room = to->room ? 2 * to->room : 16;
        hn_stretch *more = hn_realloc_array(heap, HN_TAG_TEXT, to->at, room, sizeof *more);
        if (!more)
            return HN_ERR_MEMORY;
        to->at = more;
        to->room = room;
    }
    to->at[to->n++] = stretch;
    return HN_OK;
}

typedef struct finder {
    hn_example *example;
    const hn_example_rule *rule;
    const hn_record_part *part;
    hn_str *text;
    size_t n_messages, last_assistant; /* its index; SIZE_MAX: none */
} finder;

static hn_token_role role_of(const hn_json *message)
{
    const hn_json *role = hn_json_get(message, "role");
    const char *text = hn_json_string(role);
    return !strcmp(text, "assistant")                              ? HN_ROLE_ASSISTANT
           : !strcmp(text, "user")                                 ? HN_ROLE_USER
           : !strcmp(text, "system") || !strcmp(text, "developer") ? HN_ROLE_SYSTEM
           : !strcmp(text, "tool") || !strcmp(text, "function") || !strcmp(text, "ipython")
               ? HN_ROLE_TOOL
               : HN_ROLE_NONE;
}

/* Of predicting message i; 0: it is not trained. */
static float weight_of(const finder *f, size_t i, hn_token_role role)
{
    const hn_record *record = &f->example->record;
    const float given = record->has_weights ? record->weights[i] : NAN;
    if (i < f->part->n_prompt)
        return 0;
    if (f->rule->loss == HN_LOSS_WEIGHTS)
        return isnan(given) ? 0 : given;
    if (role != HN_ROLE_ASSISTANT || (f->rule->loss == HN_LOSS_LAST && i != f->last_assistant))
        return 0;
    return isnan(given) ? 1 : given;
}

/* Renders messages and tells how many of its bytes begin the text as well. */
static hn_status compare(finder *f, const hn_json *messages, bool prompt, size_t *same)
{
    hn_example *example = f->example;
    const hn_chat_request request = { .messages = messages,
                                      .tools = f->part->tools,
                                      .no_generation_prompt = !prompt,
                                      .template_name = f->rule->template_name,
                                      .vars = f->rule->vars,
                                      .n_vars = f->rule->n_vars,
                                      .options.clock = &hn_example_clock };
    HN_TRY(hn_tree_status(&example->record.tree));
    hn_str_clear(&example->rendered);
    HN_TRY(hn_chat_render(f->rule->chat, &request, &example->rendered, NULL, &example->rendered_origins));
    const hn_str *r = &example->rendered;
    size_t n = 0;
    while (n < r->length && n < f->text->length && r->text[n] == f->text->text[n])
        n++;
    *same = n;
    return HN_OK;
}

static hn_tree_node first_messages(finder *f, size_t n)
{
    hn_tree *tree = &f->example->record.tree;
    hn_tree_node some = hn_tree_new(tree, HN_JSON_ARRAY);
    const hn_json *m = hn_json_first(f->part->messages);
    for (size_t i = 0; i < n; i++, m = m->next)
        hn_tree_add(tree, &some, NULL, m);
    return some;
}

/* *bytes is the length of the first n messages if they begin the text, SIZE_MAX if not;
 * *differs is where. */
static hn_status render_first(finder *f, size_t n, bool prompt, size_t *bytes, size_t *differs)
{
    HN_TRY(compare(f, first_messages(f, n).value, prompt, differs));
    *bytes = *differs == f->example->rendered.length ? *differs : SIZE_MAX;
    return HN_OK;
}

/* Where at the latest the content of message i begins: there the text parts from one in which
 * that message says something else. */
static hn_status find_content(finder *f, size_t i, size_t *out)
{
    hn_tree *tree = &f->example->record.tree;
    const hn_json *m = hn_json_at(f->part->messages, i), *content = hn_json_get(m, "content");
    const char *text =
        hn_json_string(content);
    text += strspn(text, " \t\r\n");
    hn_tree_node some = first_messages(f, i), other = hn_tree_new(tree, HN_JSON_OBJECT);
    for (const hn_json *v = hn_json_first(m); v; v = v->next)
        if (strcmp(v->key, "content") != 0)
            hn_tree_add(tree, &other, v->key, v);
    hn_tree_add_text(tree, &other, "content", *text == 'A' ? "B" : "A", 1);
    hn_tree_add(tree, &some, NULL, other.value);
    return compare(f, some.value, false, out);
}

static hn_status refuse(const char *what, size_t i, size_t differs)
{
    return hn_fail(HN_ERR_UNSUPPORTED,
                   "chat template: message %zu: expected %s to begin the whole text, found a "
                   "difference at byte %zu; a template with {%% generation %%} blocks "
                   "(--template), --loss last or --set may do",
                   i + 1, what, differs);
}

/* Where an empty thought begins that the prompt to answer ends in: models that may think are
 * asked so not to. `bytes` if there is none. */
static const char *const thought_marks[][2] = { { "<think>", "</think>" },
                                                { "<|channel>thought", "<channel|>" } };
enum { N_MARKS = sizeof thought_marks / sizeof *thought_marks };

static size_t find_empty_thought(const char *prompt, size_t bytes)
{
    for (int i = 0; i < N_MARKS; i++) {
        size_t at = bytes;
        bool is_here = true;
        for (int k = 1; k >= 0 && is_here; k--) {
            const size_t n = strlen(thought_marks[i][k]);
            while (at && strchr(" \n", prompt[at - 1]))
                at--;
            is_here = at >= n && !memcmp(prompt + at - n, thought_marks[i][k], n);
            at -= is_here ? n : 0;
        }
        if (is_here)
            return at;
    }
    return bytes;
}

/* Whether the template writes a thought of its own, or the end of one, here. */
static bool begins_thought(const char *text)
{
    text += strspn(text, " \n");
    for (int i = 0; i < N_MARKS; i++)
        for (int k = 0; k < 2; k++)
            if (!strncmp(text, thought_marks[i][k], strlen(thought_marks[i][k])))
                return true;
    return false;
}

/* The last turn, where the prompt to answer (just rendered) has an empty thought that finished
 * turns are without: the model will have it before it when it answers, so it gets it here. */
static hn_status insert_thought(finder *f, size_t differs, size_t *begin)
{
    const hn_str *prompt = &f->example->rendered;
    const size_t at = find_empty_thought(prompt->text, prompt->length), old = f->text->length;
    const size_t n = prompt->length - at;
    if (!n || at > differs || begins_thought(f->text->text + at))
        return HN_OK;
    hn_str_add_bytes(f->text, prompt->text + at, n);
    HN_TRY(hn_str_status(f->text));
    memmove(f->text->text + at + n, f->text->text + at, old - at);
    memcpy(f->text->text + at, prompt->text + at, n);
    hn_stretches *messages = &f->example->messages;
    for (size_t k = 0; k < messages->n; k++)
        messages->at[k].end += messages->at[k].end > at ? n : 0;
    *begin = prompt->length;
    return hn_marks_insert(f->example, at, n);
}

/* Message i of the assistant, in a template that marks nothing. */
static hn_status find_turn(finder *f, size_t i, float weight)
{
    size_t begin = 0, end = 0, differs = 0;
    HN_REQUIRE(i, HN_ERR_UNSUPPORTED,
               "chat template: message 1: expected {%% generation %%} blocks, or a message "
               "before the assistant's first, found neither");
    HN_TRY(render_first(f, i, true, &begin, &differs));
    const bool is_last = i + 1 == f->n_messages;
    if (begin == SIZE_MAX && is_last)
        HN_TRY(insert_thought(f, differs, &begin));
    if (begin == SIZE_MAX)
        return refuse("the messages before it, with the prompt to answer,", i, differs);
    if (is_last)
        end = f->text->length;
    else
        HN_TRY(render_first(f, i + 1, false, &end, &differs));
    const bool is_open = end == SIZE_MAX; /* then there is a message after it */
    if (is_open)
        HN_TRY(find_content(f, i + 1, &end));
    const hn_stretch stretch = { .begin = begin,
                                 .end = end,
                                 .weight = weight,
                                 .is_open = is_open,
                                 .message = i + 1,
                                 .role = HN_ROLE_ASSISTANT };
    return hn_stretches_add(f->example->heap, &f->example->stretches, stretch);
}

/* A message of anybody, with what the template writes around it. */
static hn_status find_message(finder *f, size_t i, hn_stretch *out)
{
    size_t differs = 0;
    out->begin = 0;
    if (i)
        HN_TRY(render_first(f, i, false, &out->begin, &differs));
    if (out->begin == SIZE_MAX)
        return refuse("the messages before it", i, differs);
    HN_TRY(render_first(f, i + 1, false, &out->end, &differs));
    return out->end == SIZE_MAX ? refuse("it and the messages before it", i, differs) : HN_OK;
}

static hn_status find_by_prefix(finder *f)
{
    const hn_json *m = hn_json_first(f->part->messages);
    for (size_t i = 0; m; i++, m = m->next) {
        const hn_token_role role = role_of(m);
        hn_stretch s = {
            .weight = weight_of(f, i, role), .message = i + 1, .role = role, .is_marked = true
        };
        if (s.weight <= 0)
            continue;
        if (role == HN_ROLE_ASSISTANT) {
            HN_TRY(find_turn(f, i, s.weight));
            continue;
        }
        HN_TRY(find_message(f, i, &s));
        HN_TRY(hn_stretches_add(f->example->heap, &f->example->stretches, s));
    }
    return HN_OK;
}

/* Blocks and turns one to one; or more blocks than turns where every turn counts alike. */
static hn_status find_marked(finder *f, size_t n_assistant, bool all_alike)
{
    const hn_template_spans *spans = &f->example->spans;
    HN_REQUIRE(
        spans->n >= n_assistant, HN_ERR_UNSUPPORTED,
        "chat template: expected a {%% generation %%} block for each of %zu turns of the "
        "assistant, found %zu",
        n_assistant, spans->n);
    if (spans->n != n_assistant && !all_alike)
        return find_by_prefix(f);
    const hn_json *m = hn_json_first(f->part->messages);
    for (size_t i = 0, k = 0; k < spans->n; k++) {
        float weight = 1;
        if (spans->n == n_assistant) {
            for (; role_of(m) != HN_ROLE_ASSISTANT; i++)
                m = m->next;
            weight = weight_of(f, i++, HN_ROLE_ASSISTANT);
            m = m->next;
        }
        const hn_stretch s = { .begin = spans->at[k].begin,
                               .end = spans->at[k].end,
                               .weight = weight,
                               .is_marked = true,
                               .message = i,
                               .role = HN_ROLE_ASSISTANT };
        if (weight > 0)
            HN_TRY(hn_stretches_add(f->example->heap, &f->example->stretches, s));
    }
    return HN_OK;
}

/* For display: messages that cannot be told apart are left out. */
static hn_status find_messages(finder *f)
{
    const hn_json *m = hn_json_first(f->part->messages);
    size_t from = 0;
    for (size_t i = 0; m; i++, m = m->next) {
        size_t to = 0, differs = 0;
        const hn_status status = render_first(f, i + 1, false, &to, &differs);
        if (hn_is_no_answer(status))
            return status;
        if (status == HN_OK && to != SIZE_MAX && from != SIZE_MAX) {
            const hn_stretch s = { .begin = from, .end = to, .role = role_of(m) };
            HN_TRY(hn_stretches_add(f->example->heap, &f->example->messages, s));
        }
        from = status == HN_OK ? to : SIZE_MAX;
    }
    return HN_OK;
}

/* Words of any kind: an answer, a call, a thought. */
static bool says_something(const hn_json *message)
{
    static const char *const keys[] = { "content", "tool_calls", "reasoning_content", "thinking",
                                        "reasoning" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (hn_json_has_words(hn_json_get(message, keys[i])))
            return true;
    return false;
}

/* Whether a turn of the assistant that is to be trained has nothing to say. */
static bool has_hollow_turn(const finder *f)
{
    const hn_json *m = hn_json_first(f->part->messages);
    for (size_t i = 0; m && f->rule->loss != HN_LOSS_ALL; i++, m = m->next)
        if (role_of(m) == HN_ROLE_ASSISTANT && weight_of(f, i, HN_ROLE_ASSISTANT) > 0 &&
            !says_something(m))
            return true;
    return false;
}

hn_status hn_stretches_find(hn_example *example, const hn_example_rule *rule,
                            const hn_record_part *part, hn_str *text, bool *is_hollow)
{
    finder f = {
        .example = example, .rule = rule, .part = part, .text = text, .last_assistant = SIZE_MAX
    };
    size_t n_assistant = 0;
    bool all_alike = rule->loss == HN_LOSS_ASSISTANT && !example->record.has_weights;
    bool only_assistant = true;
    for (const hn_json *m = hn_json_first(part->messages); m; m = m->next, f.n_messages++)
        if (role_of(m) == HN_ROLE_ASSISTANT) {
            f.last_assistant = f.n_messages;
            n_assistant++;
            all_alike &= f.n_messages >= part->n_prompt;
        }
    size_t i = 0;
    for (const hn_json *m = hn_json_first(part->messages); m; m = m->next, i++)
        only_assistant &= role_of(m) == HN_ROLE_ASSISTANT || weight_of(&f, i, role_of(m)) <= 0;
    example->stretches.n = example->messages.n = 0;
    *is_hollow = has_hollow_turn(&f);
    if (rule->wants_roles)
        HN_TRY(find_messages(&f));
    if (rule->loss == HN_LOSS_ALL) {
        HN_REQUIRE(!example->record.has_weights, HN_ERR_ARGUMENT,
                   "weight of a message: expected none with --loss all, found one");
        return hn_stretches_add(
            example->heap, &example->stretches,
            (hn_stretch){ .end = text->length, .weight = 1, .is_marked = true });
    }
    if (example->spans.n && n_assistant && only_assistant)
        return find_marked(&f, n_assistant, all_alike);
    return find_by_prefix(&f);
}
