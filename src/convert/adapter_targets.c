/* Names match as in PEFT's check_target_module_exists. target_modules that is a text is a pattern of Python's, which is
 * not read: then the tensors alone say what was trained. So it is with patterns of ranks that are more than a name. */
#include "convert/adapter_targets.h"

#include <stdio.h>
#include <string.h>

static bool is_null(const hn_json *v) { return !v || v->kind == HN_JSON_NULL; }

/* `name` is the module, or its end after a dot. */
static bool ends_with(const char *module, const char *name)
{
    const size_t n = strlen(module), m = strlen(name);
    return m && n >= m && !strcmp(module + n - m, name) && (n == m || module[n - m - 1] == '.');
}

/* Between dots, or an end and a dot. */
static bool lies_within(const char *text, const char *name)
{
    const size_t m = strlen(name);
    for (const char *at = strstr(text, name); m && at; at = strstr(at + 1, name))
        if ((at == text || at[-1] == '.') && (!at[m] || at[m] == '.'))
            return true;
    return false;
}

static bool list_matches(const hn_json *list, const char *module, bool (*matches)(const char *, const char *))
{
    for (const hn_json *v = hn_json_first(list); v; v = v->next)
        if (matches(module, hn_json_string(v)))
            return true;
    return false;
}

/* ---- kinds ---- */

static hn_status check_list(const hn_json *root, const char *key, hn_json_kind item, hn_json_kind or_else)
{
    const hn_json *list = hn_json_get(root, key);
    if (is_null(list) || list->kind == or_else)
        return HN_OK;
    HN_REQUIRE(list->kind == HN_JSON_ARRAY, HN_ERR_FORMAT, "%s: expected an array, found %s", key,
               hn_json_kind_text(list->kind));
    for (const hn_json *v = hn_json_first(list); v; v = v->next)
        HN_REQUIRE(v->kind == item, HN_ERR_FORMAT, "%s: expected %s, found %s", key, hn_json_kind_text(item),
                   hn_json_kind_text(v->kind));
    return HN_OK;
}

hn_status hn_adapter_targets_check(const hn_json *root)
{
    static const char *const patterns[] = { "rank_pattern", "alpha_pattern" };
    int64_t rank;
    double alpha;
    HN_TRY(check_list(root, "target_modules", HN_JSON_STRING, HN_JSON_STRING));
    HN_TRY(check_list(root, "exclude_modules", HN_JSON_STRING, HN_JSON_STRING));
    HN_TRY(check_list(root, "layers_pattern", HN_JSON_STRING, HN_JSON_STRING));
    HN_TRY(check_list(root, "layers_to_transform", HN_JSON_INT, HN_JSON_INT));
    HN_TRY(check_list(root, "target_parameters", HN_JSON_STRING, HN_JSON_NULL));
    HN_TRY(check_list(root, "modules_to_save", HN_JSON_STRING, HN_JSON_NULL));
    if (hn_json_get(root, "r")) {
        HN_TRY(hn_json_want_int(hn_json_get(root, "r"), "r", &rank));
        HN_REQUIRE(rank > 0, HN_ERR_FORMAT, "r is %lld: expected a rank, 1 or more", (long long)rank);
    }
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const hn_json *pattern = hn_json_get(root, patterns[i]);
        HN_REQUIRE(is_null(pattern) || pattern->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
                   "%s: expected an object, found %s", patterns[i], hn_json_kind_text(pattern->kind));
    }
    for (const hn_json *v = hn_json_first(hn_json_get(root, patterns[0])); v; v = v->next)
        HN_TRY(hn_json_want_int(v, "rank_pattern", &rank));
    for (const hn_json *v = hn_json_first(hn_json_get(root, patterns[1])); v; v = v->next)
        HN_TRY(hn_json_want_double(v, "alpha_pattern", &alpha));
    return HN_OK;
}

/* ---- targets ---- */

/* The number of a layer: the first within the name that has a part before it which is not the first. */
static bool is_of_layers(const hn_json *root, const char *module)
{
    const hn_json *layers = hn_json_get(root, "layers_to_transform");
    if (is_null(layers) || (layers->kind == HN_JSON_ARRAY && !hn_json_count(layers)) ||
        !is_null(hn_json_get(root, "layers_pattern")))
        return true;
    for (const char *at = strchr(module, '.'); at; at = strchr(at + 1, '.')) {
        const char *number = strchr(at + 1, '.');
        const size_t digits = number ? strspn(number + 1, "0123456789") : 0;
        if (!digits || number[1 + digits] != '.')
            continue;
        int64_t layer = 0;
        for (size_t i = 0; i < digits && layer < INT32_MAX; i++)
            layer = 10 * layer + (number[1 + i] - '0');
        bool is_listed = layers->kind == HN_JSON_INT && hn_json_int(layers) == layer;
        for (const hn_json *v = hn_json_first(layers); v; v = v->next)
            is_listed = is_listed || hn_json_int(v) == layer;
        return is_listed;
    }
    return false;
}

static bool equals(const char *module, const char *name) { return !strcmp(module, name); }

static bool is_parameter(const hn_json *root, const char *module)
{
    char parameter[HN_PEFT_NAME];
    snprintf(parameter, sizeof parameter, "%s.weight", module);
    return list_matches(hn_json_get(root, "target_parameters"), parameter, ends_with);
}

static bool is_target(const hn_json *root, const char *module)
{
    const hn_json *targets = hn_json_get(root, "target_modules"), *others = hn_json_get(root, "exclude_modules");
    if (is_parameter(root, module))
        return true;
    if (list_matches(others, module, ends_with) ||
        list_matches(hn_json_get(root, "modules_to_save"), module, lies_within))
        return false;
    if (is_null(targets)) /* PEFT has those of the architecture then, or parameters alone */
        return is_null(hn_json_get(root, "target_parameters"));
    if (targets->kind == HN_JSON_STRING || list_matches(targets, module, equals))
        return true;
    return list_matches(targets, module, ends_with) && is_of_layers(root, module);
}

/* The name that a pattern is, also after ".*\\.", with which PEFT writes names of experts that it renamed; NULL: it is
 * more. */
static const char *name_of(const char *pattern)
{
    static const char any[] = ".*\\.";
    const char *name = strncmp(pattern, any, sizeof any - 1) ? pattern : pattern + sizeof any - 1;
    return strcspn(name, "\\^$*+?{}[]|()") == strlen(name) ? name : NULL;
}

/* What the configuration says of a module's rank; 0: nothing that is read. */
static int64_t rank_of(const hn_json *root, const char *module)
{
    for (const hn_json *v = hn_json_first(hn_json_get(root, "rank_pattern")); v; v = v->next) {
        const char *name = name_of(v->key);
        if (!name)
            return 0;
        if (ends_with(module, name))
            return hn_json_int(v);
    }
    return hn_json_int(hn_json_get(root, "r"));
}

hn_status hn_adapter_targets_alpha(const hn_adapter_config *config, const char *module, double *alpha)
{
    *alpha = config->alpha;
    for (const hn_json *v = hn_json_first(hn_json_get(hn_json_root(config->text), "alpha_pattern")); v; v = v->next) {
        double own;
        const char *name = name_of(v->key);
        HN_TRY(hn_json_want_double(v, "alpha_pattern", &own));
        if (name && !ends_with(module, name))
            continue;
        HN_REQUIRE(name || own == config->alpha, HN_ERR_UNSUPPORTED, "adapter_config.json: alpha_pattern: %s is %g, "
                   "lora_alpha %g: a pattern that is more than a name is not read", v->key, own, config->alpha);
        if (name) {
            *alpha = own;
            break;
        }
    }
    return HN_OK;
}

hn_status hn_adapter_targets_admit(const hn_adapter_config *config, const char *module, int64_t rank)
{
    const hn_json *root = hn_json_root(config->text);
    const int64_t told = rank_of(root, module);
    HN_REQUIRE(is_target(root, module), HN_ERR_FORMAT,
               "tensor " HN_PEFT_PREFIX
               "%s.lora_A.weight: adapter_config.json does not name %s as a target: PEFT leaves it out",
               module, module);
    HN_REQUIRE(!told || told == rank, HN_ERR_FORMAT,
               "tensor " HN_PEFT_PREFIX "%s.lora_A.weight: rank %lld: adapter_config.json says %lld", module,
               (long long)rank, (long long)told);
    double alpha;
    HN_TRY(hn_adapter_targets_alpha(config, module, &alpha));
    HN_REQUIRE(alpha == config->alpha, HN_ERR_UNSUPPORTED, "adapter_config.json: alpha_pattern: %s is %g, lora_alpha %g: a GGUF "
               "adapter has one alpha", module, alpha, config->alpha);
    return HN_OK;
}

/* ---- what is not there ---- */

static bool base_has(const hn_adapter_base *base, const char *name, bool (*matches)(const char *, const char *))
{
    char module[HN_TENSOR_NAME];
    for (size_t i = 0; i < base->n; i++) {
        const hn_arch_tensor *t = &base->tensors[i];
        const size_t n = t->spec->hf ? strlen(t->spec->hf) : 0;
        if (n <= 7 || strcmp(t->spec->hf + n - 7, ".weight") != 0 || t->rank > 2 || !hn_arch_needs(t, base->hp))
            continue;
        for (int k = 0; base->arch->prefixes[k]; k++) {
            hn_adapter_module(base, base->arch->prefixes[k], t, 0, module);
            if (matches(module, name))
                return true;
        }
    }
    return false;
}

hn_status hn_adapter_targets_all_there(const hn_adapter_config *config, const hn_adapter_base *base,
                                       const hn_weights *weights)
{
    static const struct {
        const char *key;
        bool (*matches)(const char *, const char *);
    } lists[] = { { "target_modules", ends_with }, { "modules_to_save", lies_within } };
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (const hn_json *v = hn_json_first(hn_json_get(hn_json_root(config->text), lists[k].key)); v; v = v->next) {
            const char *name = hn_json_string(v);
            bool is_there = !base_has(base, name, lists[k].matches);
            for (size_t i = 0; i < weights->n && !is_there; i++)
                is_there = lies_within(weights->entries[i].name, name);
            HN_REQUIRE(is_there, HN_ERR_FORMAT, "no tensor of %s, which %s of adapter_config.json names", name,
                       lists[k].key);
        }
    return HN_OK;
}
