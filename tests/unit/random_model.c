/* Random models: `copies` makes attn_output the transpose of attn_v, each head's of the values
 * that it is served, and leaves every other tensor as it was; another type is refused. */
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/os/process.h"
#include "base/normal.h"
#include "base/pool.h"
#include "convert/random_model.h"
#include "io/gguf.h"
#include "models/models.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEADS = 4, KV_HEADS = 2, HEAD = 16, WIDTH = 64 };

static hn_heap heap;

static hn_first_values first;

static hn_status make(const char *path, bool copies, const char *type)
{
    static hn_hparams hp;
    hn_random_options o = { .arch = &hn_arch_llama, .hp = &hp, .seed = check_seed(),
                            .first = first, .name = "random", .copies = copies };
    hn_pool *pool;
    hn_watch watch = { 0 };
    memset(&hp, 0, sizeof hp);
    HN_HP_SET(&hp, n_layer, 2);
    HN_HP_SET(&hp, width, WIDTH);
    HN_HP_SET(&hp, n_ctx, 64);
    HN_HP_SET(&hp, head_dim, HEAD);
    HN_HP_SET(&hp, value_dim, HEAD);
    hn_hparams_fill(&hp, HN_HP_n_head, HEADS);
    hn_hparams_fill(&hp, HN_HP_n_kv_head, KV_HEADS);
    hn_hparams_fill(&hp, HN_HP_ffn, 128);
    hp.n_vocab = 300;
    hp.rope_dim = HEAD;
    HN_TRY(hn_arch_llama.defaults(&hp));
    HN_TRY(hn_recipe_named(type, &o.recipe));
    HN_TRY(hn_pool_new(&heap, 2, &pool));
    const hn_status status = hn_random_model(&heap, pool, hn_sink_own(path), &o, &watch);
    hn_pool_free(pool);
    return status;
}

static float value(const hn_weight_entry *e, int64_t row, int64_t column)
{
    float x;
    memcpy(&x, e->data + 4 * (row * e->type.dim[1] + column), sizeof x);
    return x;
}

static void check_layer(const hn_weights *weights, int layer)
{
    char name[64];
    snprintf(name, sizeof name, "blk.%d.attn_v.weight", layer);
    const hn_weight_entry *v = hn_weights_find(weights, name);
    snprintf(name, sizeof name, "blk.%d.attn_output.weight", layer);
    const hn_weight_entry *out = hn_weights_find(weights, name);
    if (!CHECK(v && out) || !CHECK(out->type.dim[0] == WIDTH && out->type.dim[1] == HEADS * HEAD))
        return;
    int n_wrong = 0;
    for (int64_t i = 0; i < WIDTH; i++)
        for (int64_t k = 0; k < HEADS * HEAD; k++) {
            const int64_t served = k / HEAD / (HEADS / KV_HEADS);
            n_wrong += value(out, i, k) != value(v, served * HEAD + k % HEAD, i);
        }
    CHECK_INT(0, n_wrong);
}

/* As the class begins: gains one, matrices normal of deviation 0.02 about 0, whatever their size. */
static void check_class(const hn_weights *weights)
{
    check_group("class");
    for (size_t i = 0; i < weights->n; i++) {
        const hn_weight_entry *e = &weights->entries[i];
        const int64_t n = hn_count(&e->type);
        double sum = 0, squares = 0, within[3] = { 0 };
        if (e->type.dtype != HN_F32)
            continue;
        for (int64_t k = 0; k < n; k++) {
            float x;
            memcpy(&x, e->data + 4 * k, sizeof x);
            sum += (double)x;
            squares += (double)x * (double)x;
            for (int d = 0; d < 3; d++)
                within[d] += fabs((double)x) < 0.02 * (d + 1);
        }
        if (e->type.rank == 1) {
            CHECK_THAT(sum == (double)n && squares == (double)n, "%s: gains are not one", e->name);
            continue;
        }
        const double deviation = sqrt(squares / (double)n), far = 5 / sqrt((double)n);
        CHECK_THAT(fabs(sum / (double)n) < 0.02 * far && fabs(deviation / 0.02 - 1) < far,
                   "%s: mean %g, deviation %g", e->name, sum / (double)n, deviation);
        static const double normal[3] = { 0.682689, 0.954500, 0.997300 };
        for (int d = 0; d < 3; d++)
            CHECK_THAT(fabs(within[d] / (double)n - normal[d]) < far / 2, "%s: %g within %d deviations",
                       e->name, within[d] / (double)n, d + 1);
    }
}

static void check_quantiles(void)
{
    check_group("quantiles");
    CHECK(fabs(hn_normal_quantile(0.975) - 1.959963984540054) < 1e-12);
    CHECK(fabs(hn_normal_quantile(0.5)) < 1e-12);
    CHECK(fabs(hn_normal_quantile(0.001) + 3.090232306167813) < 1e-12);
}

int main(int argc, char **argv)
{
    char with[64], without[64];
    hn_gguf *a = NULL, *b = NULL;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    snprintf(with, sizeof with, "%s/hone-copies-%d.gguf", hn_os_folder_for_temporary(), (int)hn_os_process_id());
    snprintf(without, sizeof without, "%s/hone-plain-%d.gguf", hn_os_folder_for_temporary(), (int)hn_os_process_id());
    first = HN_FIRST_SPREAD;
    if (CHECK_OK(make(with, true, "f32")) && CHECK_OK(make(without, false, "f32")) &&
        CHECK_OK(hn_gguf_open(&heap, with, &a)) && CHECK_OK(hn_gguf_open(&heap, without, &b))) {
        const hn_weights *x = hn_gguf_weights(a), *y = hn_gguf_weights(b);
        int n_different = 0;
        CHECK_INT((int64_t)y->n, (int64_t)x->n);
        for (size_t i = 0; i < x->n; i++) {
            const bool same = !memcmp(x->entries[i].data, y->entries[i].data, x->entries[i].bytes);
            CHECK_THAT(same || strstr(x->entries[i].name, "attn_output"), "%s is as it was",
                       x->entries[i].name);
            n_different += !same;
        }
        CHECK_INT(2, n_different);
        check_layer(x, 0);
        check_layer(x, 1);
    }
    hn_gguf_close(a);
    hn_gguf_close(b);
    CHECK_FAILS(make(with, true, "bf16"), HN_ERR_UNSUPPORTED, "copies are made of f32");
    hn_os_remove(with);
    hn_os_remove(without);
    CHECK_INT(0, heap.live_blocks);
    remove(with);
    remove(without);
    first = HN_FIRST_CLASS;
    hn_gguf *c = NULL, *d = NULL;
    check_quantiles();
    if (CHECK_OK(make(with, true, "f32")) && CHECK_OK(make(without, false, "f32")) &&
        CHECK_OK(hn_gguf_open(&heap, with, &c)) && CHECK_OK(hn_gguf_open(&heap, without, &d))) {
        check_class(hn_gguf_weights(d));
        check_group("copies of the class");
        check_layer(hn_gguf_weights(c), 0);
    }
    hn_gguf_close(c);
    hn_gguf_close(d);
    remove(with);
    remove(without);
    return check_close();
}
