/* Which type a mix gives each tensor: as llama.cpp's own quantizer chooses, for models of
 * eleven shapes. recipe.json was made by tools/reference/recipe_types.py. */
#include "base/pattern.h"
#include "convert/recipe.h"

#include "base/file.h"
#include "base/json.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static hn_heap heap;

static int64_t int_of(const hn_json *object, const char *key)
{
    const hn_json *value = hn_json_get(object, key);
    return value && value->kind == HN_JSON_INT ? value->as.integer : 0;
}

/* "4:Q6_K 1:Q4_K": of layer `at`. */
static const char *type_at(const char *runs, int64_t at, char *out)
{
    for (int64_t done = 0; *runs; runs += strspn(runs, " ")) {
        char *end;
        done += strtoll(runs, &end, 10);
        const size_t n = strcspn(end + 1, " ");
        if (at < done) {
            snprintf(out, 32, "%.*s", (int)n, end + 1);
            return out;
        }
        runs = end + 1 + n;
    }
    return NULL;
}

static void check_tensor(const hn_recipe *recipe, const hn_recipe_model *model, const char *key,
                         const char *runs)
{
    int64_t dim[HN_MAX_RANK];
    hn_type type;
    int rank = 0;
    const char *hash = strchr(key, '#'), *bar = strchr(key, '|');
    for (const char *at = bar; *at && rank < HN_MAX_RANK;) {
        char *end;
        dim[rank++] = strtoll(at + 1, &end, 10);
        at = end;
    }
    CHECK_OK(hn_type_make(&type, HN_F32, rank, dim));
    char want[32], name[160];
    for (int64_t layer = 0; type_at(runs, layer, want); layer++) {
        if (*want == '-')
            continue;
        if (hash)
            snprintf(name, sizeof name, "%.*s%lld%.*s", (int)(hash - key), key,
                     (long long)layer, (int)(bar - hash - 1), hash + 1);
        else
            snprintf(name, sizeof name, "%.*s", (int)(bar - key), key);
        const hn_dtype got = hn_recipe_choose(recipe, model, name, &type, HN_F32);
        CHECK_THAT(!strcasecmp(want, hn_dtype_name(got)), "%s: expected %s, found %s", name,
                   want, hn_dtype_name(got));
    }
}

static void check_model(const hn_json *want)
{
    static hn_hparams hp;
    static bool has_values[HN_MAX_LAYERS];
    memset(&hp, 0, sizeof hp);
    hp.n_layer = int_of(want, "layers");
    hp.n_expert = int_of(want, "experts");
    hn_hparams_fill(&hp, HN_HP_n_head, int_of(want, "heads"));
    hn_hparams_fill(&hp, HN_HP_n_kv_head, int_of(want, "kv_heads"));
    const char *values = hn_json_get(want, "values")->as.string.text;
    for (int i = 0; i < hp.n_layer; i++) {
        char type[32];
        has_values[i] = *values && *type_at(values, i, type) != '-';
    }
    const hn_json *types = hn_json_get(want, "types");
    for (const hn_json *t = types->as.children.first; t; t = t->next) {
        char name[32], group[128];
        const hn_recipe *recipe;
        snprintf(name, sizeof name, "%s", t->key);
        snprintf(group, sizeof group, "%s %s", want->key, t->key);
        check_group(group);
        char *plus = strchr(name, '+');
        const hn_recipe_model model = { .hp = &hp,
                                        .has_importance = plus != NULL,
                                        .has_output = hn_json_get(want, "output")->as.boolean,
                                        .has_values = *values ? has_values : NULL };
        if (plus)
            *plus = '\0';
        if (!CHECK_OK(hn_recipe_named(name, &recipe)))
            continue;
        for (const hn_json *s = t->as.children.first; s; s = s->next)
            check_tensor(recipe, &model, s->key, s->as.string.text);
    }
}

static void check_words(void)
{
    static const hn_keep keep[] = { { "blk.1*.attn_v.weight", HN_TYPE_q8_0 },
                                    { "*", HN_BF16 } };
    const hn_recipe *recipe;
    hn_keep parsed;
    hn_hparams *hp = hn_alloc(&heap, HN_TAG_FILE, sizeof *hp);
    hn_type type, vector;
    const int64_t dim[] = { 256, 256 };
    check_group("words");
    hn_hparams_fill(hp, HN_HP_n_head, 1);
    hn_hparams_fill(hp, HN_HP_n_kv_head, 1);
    hp->n_layer = 12;
    const hn_recipe_model model = { .hp = hp, .has_output = true, .n_keep = 2, .keep = keep };
    CHECK_OK(hn_type_make(&type, HN_F32, 2, dim));
    CHECK_OK(hn_type_make(&vector, HN_F32, 1, dim));
    CHECK_OK(hn_recipe_named("q4_K_m", &recipe));
    CHECK_INT(15, hn_recipe_file_type(recipe));
    CHECK_INT(HN_TYPE_q8_0,
              hn_recipe_choose(recipe, &model, "blk.10.attn_v.weight", &type, HN_F32));
    CHECK_INT(HN_BF16, hn_recipe_choose(recipe, &model, "blk.2.attn_v.weight", &type, HN_F32));
    CHECK_INT(HN_F32, hn_recipe_choose(recipe, &model, "blk.2.attn_v.bias", &vector, HN_F32));
    CHECK_INT(HN_F32, hn_recipe_choose(recipe, &model, "x_norm.weight", &type, HN_F32));
    CHECK_FAILS(hn_recipe_named("q4_k_xl", &recipe), HN_ERR_ARGUMENT, "q4_k_m");
    CHECK_OK(hn_keep_parse("*.attn_v.weight=Q8_0", &parsed));
    CHECK_INT(HN_TYPE_q8_0, parsed.dtype);
    CHECK_FAILS(hn_keep_parse("attn_v", &parsed), HN_ERR_ARGUMENT, "expected PATTERN=TYPE");
    CHECK_FAILS(hn_keep_parse("*=q9_9", &parsed), HN_ERR_ARGUMENT, "q9_9");
    CHECK(hn_pattern_matches("*a*b", "xaxxb") && !hn_pattern_matches("*a*b", "xaxxbc") &&
          hn_pattern_matches("*", "") && !hn_pattern_matches("", "x"));
    hn_free(&heap, hp);
}

int main(int argc, char **argv)
{
    void *text = NULL;
    size_t bytes;
    hn_json_text *json = NULL;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK_OK(hn_file_read(&heap, HN_SOURCE_DIR "/tests/unit/recipe.json", 1 << 22, &text,
                              &bytes)) &&
        CHECK_OK(hn_json_read(&heap, "recipe.json", text, bytes, &json)))
        for (const hn_json *m = hn_json_root(json)->as.children.first; m; m = m->next)
            check_model(m);
    check_words();
    hn_free(&heap, text);
    hn_json_free(json);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
