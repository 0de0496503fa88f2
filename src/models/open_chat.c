/* Texts of JSON that were read stay with the input, whose values point into them. A template from a file is added
 * beside the model's own, and then chosen by its name. */
#include "models/open_chat.h"

#include "base/file.h"
#include "models/format.h"

#include <string.h>

enum { MOST_BYTES = 1 << 26 };

static hn_status read_json(hn_chat_input *in, const char *name, const char *text, size_t bytes,
                           const hn_json **out)
{
    HN_TRY(hn_json_read(in->heap, name, text, bytes, &in->texts[in->n_texts]));
    *out = hn_json_root(in->texts[in->n_texts++]);
    return HN_OK;
}

hn_status hn_chat_input_json(hn_chat_input *in, const char *path, const hn_json **out)
{
    void *data = NULL;
    size_t bytes = 0;
    *out = NULL;
    if (!path)
        return HN_OK;
    HN_TRY(hn_file_read(in->heap, path, MOST_BYTES, &data, &bytes));
    const hn_status status = read_json(in, path, data, bytes, out);
    hn_free(in->heap, data);
    return status;
}

hn_status hn_chat_input_open(hn_chat_input *in, const char *path)
{
    HN_TRY(hn_chat_format_new(in->heap, path, &in->chat));
    return hn_model_format_of(path)->read_chat(in, path);
}

hn_status hn_chat_input_set(hn_chat_input *in, const char *const *set, int n_set)
{
    HN_REQUIRE(n_set >= 0 && n_set <= HN_MAX_CHAT_VARS, HN_ERR_ARGUMENT,
               "variables of the template: expected at most %d, found %d", HN_MAX_CHAT_VARS, n_set);
    for (int i = 0; i < n_set; i++) {
        const char *equals = strchr(set[i], '=');
        HN_REQUIRE(equals && equals > set[i], HN_ERR_ARGUMENT, "--set %s: expected KEY=JSON",
                   set[i]);
        const size_t n = (size_t)(equals - set[i]);
        in->names[i] = hn_alloc(in->heap, HN_TAG_TEXT, n + 1);
        if (!in->names[i])
            return HN_ERR_MEMORY;
        memcpy(in->names[i], set[i], n);
        in->vars[i].name = in->names[i];
        in->n_vars = i + 1;
        for (int k = 0; k < i; k++)
            HN_REQUIRE(strcmp(in->names[k], in->names[i]), HN_ERR_ARGUMENT, "--set %s: %s is set twice: expected it once", set[i],
                       in->names[i]);
        const hn_status status = read_json(in, set[i], equals + 1, strlen(equals + 1), &in->vars[i].json);
        if (status == HN_ERR_FORMAT) /* it was typed, and stands in no file */
            return hn_fail_within(HN_ERR_ARGUMENT, "--set ");
        HN_TRY(status);
    }
    return HN_OK;
}

hn_status hn_chat_input_template(hn_chat_input *in, const char *path)
{
    void *data = NULL;
    size_t bytes = 0;
    if (!path)
        return HN_OK;
    HN_TRY(hn_file_read(in->heap, path, MOST_BYTES, &data, &bytes));
    const hn_status status = hn_chat_format_add(in->chat, path, data, bytes);
    hn_free(in->heap, data);
    return status;
}

hn_status hn_chat_input_choose(hn_chat_input *in, const hn_template_choice *choice, const char **which)
{
    *which = choice->file ? choice->file : choice->name;
    HN_REQUIRE(!choice->file || !choice->name, HN_ERR_ARGUMENT,
               "--template %s: expected no --template-name with it, found %s", choice->file, choice->name);
    HN_REQUIRE(!choice->name || hn_chat_format_has(in->chat, choice->name), HN_ERR_ARGUMENT,
               "no chat template named '%s' in the model", choice->name);
    return hn_chat_input_template(in, choice->file);
}

void hn_chat_input_close(hn_chat_input *in)
{
    hn_chat_format_free(in->chat);
    for (int i = 0; i < in->n_texts; i++)
        hn_json_free(in->texts[i]);
    for (int i = 0; i < HN_MAX_CHAT_VARS; i++)
        hn_free(in->heap, in->names[i]);
}
