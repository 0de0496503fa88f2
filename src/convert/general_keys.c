/* Who says it first is believed: what was asked for, the model card, the configuration, the folder's name. The
 * sizes in names are rounded as llama.cpp's converter does, so that the keys are equal. */
#include "convert/general_keys.h"

#include "convert/model_card.h"
#include "convert/model_id.h"
#include "base/host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* At least two digits: 1234567 is "1.2M", 7000000000 "7.0B", 12345678 "12M". */
static void round_count(double count, char *out, size_t room)
{
    const double scales[] = { 1e12, 1e9, 1e6, 1e3 };
    const char letters[] = "TBMK";
    int i = 0;
    while (i < 3 && count <= scales[i])
        i++;
    const double scaled = count / scales[i];
    hn_text_print(out, room, "%.*f%c",
             rint(scaled) >= 10  ? 0
             : rint(scaled) >= 1 ? 1
                                 : 2,
             scaled, letters[i]);
}

hn_model_size hn_model_size_of(const hn_arch_tensor *tensors, const bool *is_there, size_t n,
                               int64_t n_expert)
{
    double all = 0, one_each = 0; /* as if there were one expert */
    for (size_t i = 0; i < n; i++) {
        double size = is_there[i] ? 1 : 0;
        for (int k = 0; k < tensors[i].rank; k++)
            size *= (double)tensors[i].dim[k];
        const bool is_expert = strstr(tensors[i].gguf, "_exps.") != NULL &&
                               (tensors[i].rank >= 3 || strstr(tensors[i].gguf, ".bias"));
        all += size;
        one_each += is_expert && n_expert ? floor(size / (double)n_expert) : size;
    }
    hn_model_size size = { .parameters = all };
    char count[24];
    round_count(n_expert ? one_each : all, count, sizeof count);
    if (n_expert)
        snprintf(size.label, sizeof size.label, "%lldx%s", (long long)n_expert, count);
    else
        snprintf(size.label, sizeof size.label, "%s", count);
    return size;
}

/* What the model's makers suggest for sampling. */
static hn_status add_sampling(const hn_json *generation, hn_meta *meta)
{
    static const struct {
        const char *name, *key;
        hn_meta_type type;
    } known[] = { { "top_k", "general.sampling.top_k", HN_META_I32 },
                  { "top_p", "general.sampling.top_p", HN_META_F32 },
                  { "min_p", "general.sampling.min_p", HN_META_F32 },
                  { "temperature", "general.sampling.temp", HN_META_F32 },
                  { "repetition_penalty", "general.sampling.penalty_repeat", HN_META_F32 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const hn_json *found = hn_json_get(generation, known[i].name);
        if (!found || found->kind == HN_JSON_NULL)
            continue;
        double value;
        HN_TRY(hn_json_want_double(found, known[i].name, &value));
        HN_TRY(known[i].type == HN_META_I32
                   ? hn_meta_set_int(meta, known[i].key, known[i].type, (int64_t)value)
                   : hn_meta_set_double(meta, known[i].key, known[i].type, value));
    }
    return HN_OK;
}

/* The last part of a path, without slashes at its end. */
static hn_span last_part(const char *path)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return (hn_span){ path + begin, end - begin };
}

hn_status hn_name_key(const char *path, const char *name, hn_meta *meta)
{
    if (name)
        return hn_meta_set_text(meta, "general.name", name);
    const hn_span part = last_part(path);
    char *title = hn_model_title(meta->heap, part.data, part.bytes);
    if (!title)
        return HN_ERR_MEMORY;
    const hn_status status = hn_meta_set_text(meta, "general.name", title);
    hn_free(meta->heap, title);
    return status;
}

/* What a model is called. Who says it first is believed: the model card, then the name that the
 * configuration gives, then the directory's. NULL: nobody said. */
typedef struct model_title {
    const char *name, *organization, *basename, *finetune, *version, *size;
} model_title;

static hn_status read_card(const hn_hf_dir *dir, const hn_yaml *card, model_title *out)
{
    const struct {
        const char *keys[4], **to;
    } parts[] = {
        { { "name", "model_name" }, &out->name },
        { { "organization", "model_organization" }, &out->organization },
        { { "basename", "model_basename", "model_type" }, &out->basename },
        { { "finetune", "model_finetune" }, &out->finetune },
        { { "version", "model_version" }, &out->version },
        { { "size_label", "model_size_label" }, &out->size },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        HN_TRY(hn_model_card_text(dir, card, parts[i].keys, parts[i].to));
    return HN_OK;
}

static void fill(const char **to, const char *text)
{
    if (!*to)
        *to = text;
}

static const char *said(const char *text) { return text[0] ? text : NULL; }

static void fill_from(const hn_model_id *id, model_title *title)
{
    fill(&title->name, id->title);
    fill(&title->organization, id->organization);
    fill(&title->basename, said(id->name.basename));
    fill(&title->finetune, said(id->name.finetune));
    fill(&title->version, said(id->name.version));
    fill(&title->size, said(id->name.size));
}

/* A name that is no path: at most one slash. */
static const char *config_name(const hn_hf_dir *dir)
{
    const hn_json *value = hn_json_get(hn_json_root(dir->config), "_name_or_path");
    if (!value || value->kind != HN_JSON_STRING)
        return NULL;
    const char *slash = strchr(hn_json_string(value), '/');
    return slash && strchr(slash + 1, '/') ? NULL : hn_json_string(value);
}

static hn_status add_text(hn_meta *meta, const char *key, const char *text)
{
    return text && text[0] ? hn_meta_set_text(meta, key, text) : HN_OK;
}

static hn_status add_title(const model_title *title, hn_meta *meta)
{
    HN_TRY(add_text(meta, "general.name", title->name));
    HN_TRY(add_text(meta, "general.organization", title->organization));
    HN_TRY(add_text(meta, "general.basename", title->basename));
    HN_TRY(add_text(meta, "general.finetune", title->finetune));
    HN_TRY(add_text(meta, "general.version", title->version));
    return add_text(meta, "general.size_label", title->size);
}

/* The name asked for, and what card, configuration and directory call it. */
static hn_status add_names(const hn_hf_dir *dir, const char *name, const hn_yaml *card,
                           const hn_model_size *size, hn_meta *meta)
{
    const char *given = config_name(dir);
    const hn_span part = last_part(dir->path);
    hn_model_id by_config = { 0 }, by_path = { 0 };
    model_title title = { .name = name };
    char folder[HN_NAME_TEXT];
    snprintf(folder, sizeof folder, "%.*s", (int)part.bytes, (const char *)part.data);
    hn_status status = read_card(dir, card, &title);
    if (name)
        title.name = name;
    if (status == HN_OK && given)
        status = hn_model_id_read(meta->heap, given, size->parameters, &by_config);
    if (status == HN_OK)
        status = hn_model_id_read(meta->heap, folder, size->parameters, &by_path);
    if (status == HN_OK) {
        if (given)
            fill_from(&by_config, &title);
        fill_from(&by_path, &title);
        fill(&title.size, size->label);
        status = add_title(&title, meta);
    }
    hn_model_id_free(&by_config);
    hn_model_id_free(&by_path);
    return status;
}

hn_status hn_general_keys(const hn_hf_dir *dir, const char *name, const hn_model_size *size,
                          int file_type, hn_meta *meta)
{
    hn_yaml_text card;
    HN_TRY(hn_meta_set_text(meta, "general.type", "model"));
    HN_TRY(hn_model_card_read(dir, &card));
    hn_status status = add_names(dir, name, card.root, size, meta);
    if (status == HN_OK)
        status = hn_model_card_keys(dir, card.root, size->parameters, meta);
    hn_yaml_free(&card);
    HN_TRY(status);
    HN_TRY(hn_meta_set_int(meta, "general.quantization_version", HN_META_U32, 2));
    if (file_type >= 0)
        HN_TRY(hn_meta_set_int(meta, "general.file_type", HN_META_U32, file_type));
    return dir->generation ? add_sampling(hn_json_root(dir->generation), meta) : HN_OK;
}
