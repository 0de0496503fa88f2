#include "convert/general_keys.h"

#include "convert/model_name.h"

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
    snprintf(out, room, "%.*f%c", rint(scaled) >= 10 ? 0 : rint(scaled) >= 1 ? 1 : 2, scaled,
             letters[i]);
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

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

/* Words that begin with a digit, or are "v1.2", stay; others get capitals after what is no
 * letter, if they have none yet. */
static void make_title(char *word, size_t n)
{
    bool has_capital = false;
    const bool is_version = n > 1 && word[0] == 'v' && word[1] >= '0' && word[1] <= '9' &&
                            strspn(word + 1, "0123456789.") >= n - 1;
    for (size_t i = 0; i < n; i++)
        has_capital = has_capital || (word[i] >= 'A' && word[i] <= 'Z');
    if (has_capital || is_version || (word[0] >= '0' && word[0] <= '9'))
        return;
    for (size_t i = 0; i < n; i++)
        if (word[i] >= 'a' && word[i] <= 'z' && (i == 0 || !is_letter(word[i - 1])))
            word[i] = (char)(word[i] - 32);
}

/* The last part of the path as a title: "qwen3-0.6b" is "Qwen3 0.6b". */
hn_status hn_name_key(const char *path, const char *name, hn_meta *meta)
{
    if (name)
        return hn_meta_set_text(meta, "general.name", name);
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    char title[256];
    size_t n = end - begin < sizeof title ? end - begin : sizeof title - 1;
    memcpy(title, path + begin, n);
    title[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (title[i] == '-')
            title[i] = ' ';
    for (size_t i = 0; i < n;) {
        const size_t length = strcspn(title + i, " ");
        if (length)
            make_title(title + i, length);
        i += length + 1;
    }
    return hn_meta_set_string(meta, "general.name", (hn_span){ title, n });
}

static hn_status add_text(hn_meta *meta, const char *key, const char *text)
{
    return text[0] ? hn_meta_set_text(meta, key, text) : HN_OK;
}

/* What the directory's name says, and the size it says before the one that was counted. */
static hn_status add_parts(const hn_hf_dir *dir, const hn_model_size *size, hn_meta *meta)
{
    hn_model_name parts;
    char name[HN_NAME_TEXT];
    size_t end = strlen(dir->path);
    while (end > 1 && dir->path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && dir->path[begin - 1] != '/')
        begin--;
    snprintf(name, sizeof name, "%.*s", (int)(end - begin), dir->path + begin);
    hn_model_name_read(name, size->parameters, &parts);
    HN_TRY(add_text(meta, "general.basename", parts.basename));
    HN_TRY(add_text(meta, "general.finetune", parts.finetune));
    HN_TRY(add_text(meta, "general.version", parts.version));
    return hn_meta_set_text(meta, "general.size_label", parts.size[0] ? parts.size : size->label);
}

hn_status hn_general_keys(const hn_hf_dir *dir, const char *name, const hn_model_size *size,
                          int file_type, hn_meta *meta)
{
    HN_TRY(hn_meta_set_text(meta, "general.type", "model"));
    HN_TRY(hn_name_key(dir->path, name, meta));
    HN_TRY(add_parts(dir, size, meta));
    HN_TRY(hn_meta_set_int(meta, "general.quantization_version", HN_META_U32, 2));
    if (file_type >= 0)
        HN_TRY(hn_meta_set_int(meta, "general.file_type", HN_META_U32, file_type));
    return dir->generation ? add_sampling(hn_json_root(dir->generation), meta) : HN_OK;
}
