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

/* A number, or a duration as their clients write it: "0s", "5m0s". */
static bool is_zero(const hn_json *keep)
{
    if (!keep)
        return false;
    if (keep->kind == HN_JSON_STRING)
        return strchr(hn_json_string(keep), '0') && !strpbrk(hn_json_string(keep), "123456789");
    return keep->kind == HN_JSON_INT ? hn_json_int(keep) == 0 : hn_json_number(keep) == 0;
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
    a->leaves = is_zero(hn_field_of(a->asked, "keep_alive"));
    if (a->tells_recipe)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "recipe", "recipe: of an answer alone, and nothing is asked");
    if (a->leaves && keys && !(key && key->is_admin))
        return hn_refuse_as(why, HN_REFUSED_NO_RIGHT, "keep_alive", "keep_alive: 0 puts a model away, which takes a key with the admin right");
    a->run = tell;
    a->is_long = a->grammar_text.length > 0; /* rules are the smith's */
    return true;
}
