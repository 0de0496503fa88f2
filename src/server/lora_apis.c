/* POST /v1/load_lora_adapter and /v1/unload_lora_adapter: adapters out of a model's folder, by name. */
#include "base/os/files.h"
#include "server/apis.h"
#include "server/openai.h"

#include <stdio.h>
#include <string.h>

static bool wants_name(const hn_answer *a, const char **name, hn_failure *why)
{
    *name = hn_field_text(a->body, "lora_name", NULL);
    return *name || hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "lora_name", "lora_name: expected a name, found none");
}

static void say(const hn_answer *a, const char *name, bool is_there, hn_str *out)
{
    hn_str id = hn_str_on(a->heap);
    hn_str_print(&id, "%s:%s", a->model->name, name);
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "id");
    hn_json_add_string(&w, id.text);
    hn_json_key(&w, "object");
    hn_json_add_string(&w, "model");
    hn_json_key(&w, "loaded");
    hn_json_add_bool(&w, is_there);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
    hn_str_end(&id, out);
}

/* Of what went wrong with the file, the folder is nobody's who asks; and that there is none is who asked's mistake. */
static void tell_file(const char *path, const char *name, hn_failure *why)
{
    char said[sizeof why->message];
    const char *at = strstr(why->message, path);
    if (!at)
        return;
    snprintf(said, sizeof said, "%.*s%.63s.gguf%s", (int)(at - why->message), why->message, name, at + strlen(path));
    if (hn_os_is_there(path))
        hn_refuse_as(why, why->kind, "lora_name", "%s", said);
    else
        hn_refuse_as(why, HN_REFUSED_NO_OBJECT, "lora_name", "lora_name: there is no %.63s.gguf in the folder of --adapters", name);
}

/* A name that is none is refused with the order: no file is looked for. */
static bool load(hn_answer *a, hn_str *out, hn_failure *why)
{
    const char *name, *folder = a->model->o.folder;
    hn_str path = hn_str_on(a->heap);
    if (!wants_name(a, &name, why))
        return false;
    if (!folder)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "model", "%s has no folder of adapters: hone serve --adapters gives it one",
                            a->model->name);
    hn_str_print(&path, "%s/%s.gguf", folder, name);
    const hn_adapter_order o = { .name = name, .path = path.text, .scale = hn_field_number(a->body, "scale", 1),
                                 .is_new = !hn_field_bool(a->body, "load_inplace", false) };
    bool is_well = hn_str_status(&path) == HN_OK || hn_refuse_by(why, HN_ERR_MEMORY, NULL);
    if (is_well && !hn_served_take_adapter(a->model, &o, why)) {
        tell_file(path.text, name, why);
        is_well = false;
    }
    hn_str_free(&path);
    if (is_well)
        say(a, name, true, out);
    return is_well;
}

static bool unload(hn_answer *a, hn_str *out, hn_failure *why)
{
    const char *name;
    if (!wants_name(a, &name, why) || !hn_served_drop_adapter(a->model, name, 0, why))
        return false;
    say(a, name, false, out);
    return true;
}

void hn_api_load_lora_adapter(hn_server *s, hn_http_call *call)
{
    hn_api_ask(s, call, &hn_fields_load_lora_adapter, &hn_openai_voice, load);
}

void hn_api_unload_lora_adapter(hn_server *s, hn_http_call *call)
{
    hn_api_ask(s, call, &hn_fields_unload_lora_adapter, &hn_openai_voice, unload);
}
