/* What Ollama's clients ask to have a model loaded, before anybody waits for an answer of it, or put away: a chat of no messages, or a
 * text of no prompt; with keep_alive 0 it is put away. */
#include "server/ollama.h"

#include "base/os/clock.h"
#include "server/apis.h"
#include "server/format.h"
#include "server/server_state.h"

#include <string.h>

static bool is_chat(const hn_answer *a) { return !strcmp(hn_http_request_of(a->call)->path, "/api/chat"); }

bool hn_ollama_loads(const hn_answer *a)
{
    const hn_json *messages = hn_field_of(a->body, "messages");
    return is_chat(a) ? !messages || !hn_json_count(messages) : !*hn_field_text(a->body, "prompt", "");
}

/* "1.5", and behind it whether it is more than 0; NULL: no number stands there. */
static const char *after_number(const char *at, bool *is_some)
{
    const size_t n = strspn(at, "0123456789"), point = at[n] == '.', fraction = point ? strspn(at + n + 1, "0123456789") : 0;
    const char *end = at + n + point + fraction;
    *is_some = *is_some || strcspn(at, "123456789") < (size_t)(end - at);
    return n + fraction ? end : NULL;
}

/* "", where it is one: numbers with units, each once or more, or one number, which is seconds. */
static bool is_duration(const char *text, bool *is_some)
{
    static const char *const units[] = { "ns", "us", "\xc2\xb5s", "ms", "s", "m", "h" };
    const char *at = after_number(text + (*text == '-' || *text == '+'), is_some);
    while (at && *at) {
        size_t i = 0;
        while (i < sizeof units / sizeof *units && strncmp(at, units[i], strlen(units[i])) != 0)
            i++;
        if (i == sizeof units / sizeof *units)
            return false;
        at += strlen(units[i]);
        if (!*at)
            return true;
        at = after_number(at, is_some);
        if (at && !*at)
            return false; /* the last one has no unit */
    }
    return at != NULL;
}

bool hn_ollama_take_keep(const hn_json *body, bool *is_none, hn_failure *why)
{
    const hn_json *keep = hn_field_of(body, "keep_alive");
    bool is_some = keep && hn_json_number(keep) != 0;
    if (keep && keep->kind == HN_JSON_STRING && !is_duration(hn_json_string(keep), &is_some))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "keep_alive", "keep_alive: expected seconds, or a duration as \"5m\", found \"%.40s\"",
                            hn_json_string(keep));
    *is_none = keep && !is_some;
    return true;
}

/* What is asked of answers is looked at as if there were one: rules are made, and a prompt is written if the template has a say in it (of a
 * model without one it is not asked). */
static bool check(hn_answer *a, hn_failure *why)
{
    hn_str prompt = hn_str_on(a->heap);
    const bool writes = hn_field_of(a->asked, "think") || a->tools.length;
    const bool is_well = hn_ollama_fits(a, why) && (!writes || hn_render_messages(a, &prompt, why)) && hn_format_make(a, why);
    hn_str_free(&prompt);
    return is_well;
}

static bool tell(hn_answer *a, hn_str *out, hn_failure *why)
{
    if (a->leaves ? !hn_served_unload(a->model, why) : !check(a, why))
        return false;
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "model");
    hn_json_add_string(&w, hn_field_text(a->body, "model", a->model->name));
    hn_ollama_time(&w, "created_at", hn_clock_wall_ns());
    if (is_chat(a)) {
        hn_json_key(&w, "message");
        hn_json_begin_object(&w);
        hn_json_key(&w, "role");
        hn_json_add_string(&w, "assistant");
    }
    hn_json_key(&w, is_chat(a) ? "content" : "response");
    hn_json_add_string(&w, "");
    if (is_chat(a))
        hn_json_end_object(&w);
    hn_json_key(&w, "done");
    hn_json_add_bool(&w, true);
    hn_json_key(&w, "done_reason");
    hn_json_add_string(&w, a->leaves ? "unload" : "load");
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
    return true;
}

bool hn_ollama_take_load(hn_answer *a, hn_failure *why)
{
    const hn_keys *keys = a->server->o.keys;
    const hn_key *key = keys ? hn_keys_of(keys, hn_http_request_of(a->call)) : NULL;
    if (a->tells_recipe)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "recipe", "recipe: of an answer alone, and nothing is asked");
    if (a->leaves && keys && !(key && key->is_admin))
        return hn_refuse_as(why, HN_REFUSED_NO_RIGHT, "keep_alive", "keep_alive: 0 puts a model away, which takes a key with the admin right");
    a->run = tell;
    a->is_long = a->grammar_text.length > 0; /* rules are the smith's */
    return true;
}
