/* What Ollama's clients ask to have a model loaded, before anybody waits for an answer of it, or put away: a chat of no messages, or a
 * text of no prompt; with keep_alive 0 it is put away. */
#include "server/ollama.h"

#include "base/os/clock.h"
#include "server/fields.h"
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

static bool tell(hn_answer *a, hn_str *out, hn_failure *why)
{
    if (a->leaves && !hn_served_unload(a->model, why))
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
    a->leaves = is_zero(hn_field_of(a->body, "keep_alive"));
    if (a->leaves && keys && !(key && key->is_admin))
        return hn_refuse_as(why, HN_REFUSED_NO_RIGHT, "keep_alive", "keep_alive: 0 puts a model away, which takes a key with the admin right");
    a->run = tell;
    return true;
}
