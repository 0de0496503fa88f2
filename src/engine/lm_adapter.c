/* Adapters on a public model: tried, and applied to what is made on it afterwards. */
#include "engine/lm.h"
#include "infer/conversation.h"

#include <stdio.h>

/* The model has it when all has gone well. */
static hn_status add(hn_lm *lm, hn_adapter *adapter)
{
    const char *carried = NULL;
    hn_adapters both = lm->adapters;
    HN_TRY(hn_adapters_add(&both, adapter));
    if (lm->tok && !lm->which)
        HN_TRY(hn_conversation_carried(lm->input.chat, &both, &carried));
    lm->adapters = both;
    lm->carried = carried;
    return HN_OK;
}

void hn_lm_give_trial(const hn_adapter_trial *found, hn_lm_adapter_trial *out)
{
    *out = (hn_lm_adapter_trial){ .was_tried = found->was_tried, .recorded = hn_outer_numerics(found->recorded),
                                  .kl = found->kl, .budget = found->budget };
    snprintf(out->note, sizeof out->note, "%s", found->note);
    snprintf(out->overridden, sizeof out->overridden, "%s", found->overridden);
}

hn_status hn_lm_try_adapter(const hn_lm *lm, const char *path, const hn_lm_adapter_options *options, hn_adapter **out,
                            hn_adapter_trial *trial)
{
    hn_lm_adapter_options o;
    char template[65];
    HN_TRY(hn_take_struct("hn_lm_adapter_options", options, sizeof o, &o));
    HN_REQUIRE(o.scale > -1e30 && o.scale < 1e30, HN_ERR_ARGUMENT,
               "hn_lm_adapter_options.scale is %g: expected a finite number", o.scale);
    if (lm->which)
        hn_chat_format_digest(lm->input.chat, lm->which, template);
    const hn_adapter_use use = { .may_be_forced = true, .model = lm->model, .run = lm->run, .template = lm->which ? template : NULL,
                                 .scale = o.scale, .is_forced = o.is_forced != 0 };
    return hn_adapter_open(out, &lm->engine->heap, path, &use, trial);
}

static hn_status apply(hn_lm *lm, const char *path, const hn_lm_adapter_options *options, hn_lm_adapter_trial *trial)
{
    hn_adapter *adapter;
    hn_adapter_trial found;
    HN_TRY(hn_lm_want_model(lm));
    HN_REQUIRE(atomic_load(&lm->n_holders) == 1, HN_ERR_BUSY,
               "%s: adapters come before what is made on the model: expected none, found %d", path,
               atomic_load(&lm->n_holders) - 1);
    HN_REQUIRE(lm->adapters.n < HN_MAX_ADAPTERS, HN_ERR_ARGUMENT, "%s: expected at most %d adapters", path,
               HN_MAX_ADAPTERS);
    HN_TRY(hn_lm_try_adapter(lm, path, options, &adapter, &found));
    if (trial)
        hn_lm_give_trial(&found, trial); /* what was found stands, whatever becomes of it beside the others */
    const hn_status status = add(lm, adapter);
    if (status != HN_OK)
        hn_adapter_close(adapter);
    return hn_work_done(status, path);
}

hn_status hn_lm_add_adapter(hn_lm *lm, const char *path, const hn_lm_adapter_options *options)
{
    HN_ENTER();
    HN_REQUIRE(lm && path, HN_ERR_ARGUMENT, "hn_lm_add_adapter: expected a model and a path, found NULL");
    HN_TELLS(lm->engine);
    return apply(lm, path, options, NULL);
}

hn_status hn_lm_apply_adapter(hn_lm *lm, const char *path, const hn_lm_adapter_options *options,
                              hn_lm_adapter_trial *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_adapter_trial, trial, to, size);
    HN_REQUIRE(lm && path && to, HN_ERR_ARGUMENT,
               "hn_lm_apply_adapter: expected a model, a path and a trial, found NULL");
    HN_TELLS(lm->engine);
    return apply(lm, path, options, trial);
}
