/* Gradients of examples, for hosts. */
#include "base/word_list.h"
#include "engine/examples.h"
#include "engine/files.h"
#include "train/gradients.h"

#include <stdio.h>
#include <string.h>

static hn_status tell_one(const hn_gradients *g, int i, const hn_examples_gradients_options *o)
{
    const hn_tunable *t = &g->tuning->tensors[i];
    hn_examples_gradient gradient = { .name = t->name, .rank = t->weight.type.rank, .dim = t->weight.type.dim };
    float *values;
    size_t bytes;
    HN_TRY(hn_gradients_take(g, i, &values, &bytes));
    gradient.values = values;
    gradient.n = bytes / sizeof *values;
    hn_status status;
    {
        HN_CALL_HOST();
        status = o->on_gradient(o->context, &gradient);
    }
    hn_free(g->in->heap, values);
    return status;
}

static hn_status use(hn_examples *e, const hn_examples_gradients_options *o, hn_gradients *g,
                     const hn_gradients_options *inner, hn_examples_gradients *out)
{
    hn_sink to;
    HN_TRY(hn_take_sink(o->out, o->overwrite, &to));
    HN_TRY(hn_examples_want_model(e));
    HN_TRY(hn_work_tell(1, 2, "gradients"));
    HN_TRY(hn_gradients_compute(g, &e->in, inner));
    if (o->out)
        HN_TRY(hn_gradients_write(g, to));
    for (int i = 0; i < g->tuning->n_tensors && o->on_gradient; i++)
        HN_TRY(tell_one(g, i, o));
    *out = (hn_examples_gradients){ .loss = g->learned.loss, .norm = g->learned.grad_norm, .weight = g->batch.weight,
                                    .n_tensors = g->tuning->n_tensors, .n_sequences = g->batch.n_sequences,
                                    .n_tokens = g->batch.n_tokens, .n_supervised = g->batch.n_supervised };
    return HN_OK;
}

/* Of an adapter that is given: taken for what its own settings say, they would be another scale. */
static hn_status check_from(const hn_examples_gradients_options *o)
{
    for (int32_t i = 0; o->from && i < o->n_settings; i++) {
        const size_t n = strcspn(o->settings[i], "=");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), o->settings[i]);
        HN_REQUIRE(!hn_word_is_in("targets rank alpha rslora seed dropout", name), HN_ERR_ARGUMENT,
                   "--%s beside --from: the adapter says it", name);
    }
    return HN_OK;
}

hn_status hn_examples_differentiate(hn_examples *e, const hn_examples_gradients_options *options,
                                    hn_examples_gradients *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_examples_gradients, out, to, size);
    hn_examples_gradients_options o;
    hn_gradients g = { 0 };
    hn_train_config config = hn_train_config_default();
    HN_REQUIRE(e && options && to, HN_ERR_ARGUMENT,
               "hn_examples_differentiate: expected examples, options and out, found NULL");
    HN_TRY(hn_engine_check(e->engine));
    HN_TRY(hn_take_struct("hn_examples_gradients_options", options, sizeof o, &o));
    HN_REQUIRE(o.out || o.on_gradient, HN_ERR_ARGUMENT,
               "hn_examples_gradients_options: expected out or on_gradient, found NULL");
    HN_REQUIRE(o.most >= 0, HN_ERR_ARGUMENT, "hn_examples_gradients_options.most is %lld: expected at least 0",
               (long long)o.most);
    HN_TRY(hn_take_run_settings("hn_examples_gradients_options.settings", o.settings, o.n_settings,
                                HN_SETTINGS_OF_GRADIENTS, &config));
    HN_TRY(check_from(&o));
    const hn_run_options run = { .cancel = hn_engine_cancelled(e->engine) };
    const hn_gradients_options inner = { .config = &config, .from = o.from, .most = o.most, .run = &run };
    const hn_status status = use(e, &o, &g, &inner, out);
    hn_gradients_free(&g);
    return hn_work_done(status, "gradients");
}
