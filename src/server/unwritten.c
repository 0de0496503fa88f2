/* One rendering, with a word of its own in the place of every content, tells of most conversations that all is written, however long
 * they are. A content whose word is not found there may be written in another way: with that one alone replaced the conversation is
 * rendered again, and if the text is the same as it was, nothing of it stands there. */
#include "server/unwritten.h"

#include "server/apis.h"

#include <stdio.h>
#include <string.h>

typedef struct looking {
    const hn_answer *a;
    hn_lm_render_options o;
    const hn_json *messages;
    hn_str text; /* as it is rendered; empty until that is asked for */
} looking;

typedef struct mark {
    char text[48];
} mark;

/* Letters and digits, of which no template makes something else; none is within another. */
static mark mark_of(size_t i)
{
    mark m;
    snprintf(m.text, sizeof m.text, "Unwritten%zuWord", i);
    return m;
}

static const char *text_of(const hn_json *message, const char *key) { return hn_json_string(hn_json_get(message, key)); }

static bool is_looked_at(const hn_json *message)
{
    const bool is_own = !strcmp(text_of(message, "role"), "assistant") && hn_json_count(hn_json_get(message, "tool_calls"));
    const char *content = text_of(message, "content");
    return !is_own && content[strspn(content, " \t\r\n")];
}

enum { EVERY = -1 };

/* With the words of message `which`, or of every one, in the place of contents. */
static hn_status render_marked(const looking *l, int64_t which, hn_str *out)
{
    hn_str messages = hn_str_on(l->a->heap);
    hn_json_writer w = hn_json_write_to(&messages);
    int64_t i = 0;
    hn_json_begin_array(&w);
    for (const hn_json *m = hn_json_first(l->messages); m; m = m->next, i++) {
        const bool is_marked = is_looked_at(m) && (which == EVERY || which == i);
        hn_json_begin_object(&w);
        for (const hn_json *v = hn_json_first(m); v; v = v->next) {
            hn_json_key(&w, v->key);
            if (is_marked && !strcmp(v->key, "content"))
                hn_json_add_string(&w, mark_of((size_t)i).text);
            else
                hn_json_add_value(&w, v);
        }
        hn_json_end_object(&w);
    }
    hn_json_end_array(&w);
    hn_status status = hn_str_status(&messages);
    hn_str_clear(out);
    if (status == HN_OK)
        status = hn_render_text(l->a->model->lm, messages.text, &l->o, out);
    hn_str_free(&messages);
    return status;
}

/* A template that refuses other words has looked at these. */
static hn_status is_unwritten(looking *l, int64_t i, bool *so)
{
    hn_str other = hn_str_on(l->a->heap);
    hn_status status = l->text.length ? HN_OK : render_marked(l, INT64_MAX, &l->text);
    if (status == HN_OK)
        status = render_marked(l, i, &other);
    *so = status == HN_OK && other.length == l->text.length && !memcmp(other.text, l->text.text, other.length);
    hn_str_free(&other);
    return status == HN_ERR_MEMORY || status == HN_ERR_CANCELLED ? status : HN_OK;
}

static bool look(looking *l, const hn_str *marked, hn_failure *why)
{
    int64_t i = 0;
    for (const hn_json *m = hn_json_first(l->messages); m; m = m->next, i++) {
        bool so = false;
        if (!is_looked_at(m) || strstr(marked->text, mark_of((size_t)i).text))
            continue;
        const hn_status status = is_unwritten(l, i, &so);
        if (status != HN_OK)
            return hn_refuse_by(why, status, "messages");
        if (so)
            return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "messages",
                                "messages: the chat template of %s does not write message %lld, of role \"%.40s\": the model would not see it",
                                l->a->model->name, (long long)i + 1, text_of(m, "role"));
    }
    return true;
}

bool hn_unwritten_check(const hn_answer *a, const char *messages, const hn_lm_render_options *o, hn_failure *why)
{
    hn_json_text *read = NULL;
    hn_str marked = hn_str_on(a->heap);
    looking l = { .a = a, .o = *o, .text = hn_str_on(a->heap) };
    l.o.goes_on_last = 0; /* which looks for the last one's words */
    l.o.no_generation_prompt = 1;
    hn_status status = hn_json_read(a->heap, "messages", messages, strlen(messages), &read);
    if (status == HN_OK) {
        l.messages = hn_json_root(read);
        status = render_marked(&l, EVERY, &marked);
    }
    const bool lacks = status == HN_ERR_MEMORY || status == HN_ERR_CANCELLED;
    const bool is_well = lacks ? hn_refuse_by(why, status, "messages") : look(&l, &marked, why);
    hn_json_free(read);
    hn_str_free(&marked);
    hn_str_free(&l.text);
    return is_well;
}
