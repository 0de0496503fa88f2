#include "tests/harness/random_model.h"

#include "base/os/folders.h"
#include "base/os/process.h"
#include "base/pool.h"
#include "convert/random_model.h"
#include "prove/instance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void begin(hn_hparams *hp)
{
    HN_HP_SET(hp, n_layer, 2);
    HN_HP_SET(hp, width, 64);
    HN_HP_SET(hp, n_ctx, 512);
    HN_HP_SET(hp, head_dim, 32);
    HN_HP_SET(hp, value_dim, 32);
    HN_HP_SET(hp, rope_dim, 32);
    hn_hparams_fill(hp, HN_HP_n_head, 4);
    hn_hparams_fill(hp, HN_HP_n_kv_head, 2);
    hn_hparams_fill(hp, HN_HP_ffn, 96);
    hp->n_vocab = 320;
    hp->rope_partial = 1;
}

static hn_status set_keys(hn_random_options *o, hn_hparams *hp, const char *keys)
{
    char key[64], value[64];
    for (int used = 0; sscanf(keys, " %63[^= ]=%63s%n", key, value, &used) == 2; keys += used)
        HN_TRY(strcmp(key, "weights") ? hn_hparams_set(hp, key, value) : hn_recipe_named(value, &o->recipe));
    return HN_OK;
}

static hn_status write_model(hn_heap *heap, const hn_random_options *o, const char *path)
{
    hn_pool *pool;
    HN_TRY(hn_pool_new(heap, 1, &pool));
    hn_watch watch = { 0 };
    const hn_status status = hn_random_model(heap, pool, hn_sink_own(path), o, &watch);
    hn_pool_free(pool);
    return status;
}

hn_status random_model_open(hn_heap *heap, const char *arch, const char *keys, uint64_t seed,
                            hn_model **out)
{
    char path[128];
    const char *dir = getenv("TMPDIR");
    hn_random_options o = { .seed = seed, .first = HN_FIRST_SPREAD, .name = "random" };
    HN_TRY(hn_arch_named(arch, &o.arch));
    HN_TRY(hn_recipe_named("f32", &o.recipe));
    hn_hparams *hp = hn_alloc(heap, HN_TAG_FILE, sizeof *hp);
    if (!hp)
        return HN_ERR_MEMORY;
    begin(hp);
    hp->has[HN_HP_rope_dim] = hn_arch_takes(o.arch, HN_HP_rope_dim);
    hn_status status = set_keys(&o, hp, keys);
    if (status == HN_OK)
        status = o.arch->defaults(hp);
    o.hp = hp;
    snprintf(path, sizeof path, "%.80s/hone-random-%d.gguf", dir ? dir : "/tmp", (int)hn_os_process_id());
    if (status == HN_OK)
        status = write_model(heap, &o, path);
    if (status == HN_OK)
        status = hn_model_open(heap, path, NULL, out);
    remove(path);
    hn_free(heap, hp);
    return status;
}
