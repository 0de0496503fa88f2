/* Plans of a public model, for programs to walk. */
#include "engine/lm.h"
#include "engine/plan_look.h"
#include "graph/plan_print.h"
#include "hone/plan.h"

struct hn_lm_plan {
    hn_lm *lm;
    hn_plan_looks looks;
};

static int64_t or_else(int64_t value, int64_t otherwise)
{
    return value ? value : otherwise;
}

static hn_status take_options(const hn_lm *lm, const hn_lm_plan_options *o, hn_plan_asks *out)
{
    enum { MOST_RECOMPUTE = 10000, MOST_RANK = 65536 };
    HN_REQUIRE(o->context >= 0 && o->prompt >= 0 && o->micro_tokens >= 0 && o->context <= INT32_MAX &&
                   o->prompt <= INT32_MAX && o->micro_tokens <= INT32_MAX && o->rank >= 0 && o->rank <= MOST_RANK &&
                   o->recompute >= 0 && o->recompute <= MOST_RECOMPUTE,
               HN_ERR_ARGUMENT,
               "hn_lm_plan_options: context %lld, prompt %lld, rank %lld, micro_tokens %lld, recompute %lld: expected 0 or "
               "more, at most 2^31 - 1 tokens, rank %d, every %d layers",
               (long long)o->context, (long long)o->prompt, (long long)o->rank, (long long)o->micro_tokens,
               (long long)o->recompute, MOST_RANK, MOST_RECOMPUTE);
    *out = (hn_plan_asks){ .context = o->context, .prompt = or_else(o->prompt, 512), .rank = or_else(o->rank, 16),
                           .micro_tokens = or_else(o->micro_tokens, 512), .recompute = o->recompute,
                           .cache = o->cache, .targets = o->targets, .optimizer = o->optimizer, .mode = o->mode,
                           .keeps_all = o->keeps_all != 0, .mapped = o->mapped != 0, .adapters = &lm->adapters };
    return HN_OK;
}

static hn_status make(hn_lm_plan *p, const hn_lm_plan_options *options)
{
    hn_lm_plan_options o;
    hn_plan_asks asks;
    HN_TRY(hn_take_struct("hn_lm_plan_options", options, sizeof o, &o));
    HN_TRY(take_options(p->lm, &o, &asks));
    return hn_plan_looks_new(&p->looks, &p->lm->engine->heap, p->lm->model, &p->lm->run, o.of, &asks);
}

hn_status hn_lm_plan_new(hn_lm_plan **out, hn_lm *lm, const hn_lm_plan_options *options)
{
    HN_ENTER();
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_plan_new: expected out and a model, found NULL");
    *out = NULL;
    HN_TRY(hn_lm_hold(lm));
    hn_lm_plan *p = hn_alloc(&lm->engine->heap, HN_TAG_PLAN, sizeof *p);
    if (!p) {
        hn_lm_let_go(lm);
        return HN_ERR_MEMORY;
    }
    p->lm = lm;
    const hn_status status = make(p, options);
    if (status != HN_OK) {
        hn_lm_plan_free(p);
        return status;
    }
    *out = p;
    return HN_OK;
}

void hn_lm_plan_free(hn_lm_plan *p)
{
    HN_ENTER();
    if (!p)
        return;
    hn_lm *lm = p->lm;
    hn_plan_looks_free(&p->looks);
    hn_free(&lm->engine->heap, p);
    hn_lm_let_go(lm);
}

const char *hn_lm_plan_refused(const hn_lm_plan *p)
{
    HN_ENTER();
    return p ? p->looks.refused : "";
}

hn_status hn_lm_plan_model(const hn_lm_plan *p, hn_lm_planned_model *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_planned_model, out, to, size);
    HN_REQUIRE(p && to, HN_ERR_ARGUMENT, "hn_lm_plan_model: expected a plan and out, found NULL");
    const hn_model *model = p->lm->model;
    const hn_hparams *hp = hn_model_hparams(model);
    *out = (hn_lm_planned_model){ .path = hn_model_path(model), .architecture = hn_model_arch(model)->name,
                                  .layers = hp->n_layer, .width = hp->width };
    out->weights = hn_plan_weight_bytes(model, &out->parameters);
    return HN_OK;
}

int32_t hn_lm_plan_count(const hn_lm_plan *p)
{
    HN_ENTER();
    return p ? p->looks.n : 0;
}

static hn_status want(const hn_lm_plan *p, int32_t i, const void *out, const hn_plan_look **look)
{
    HN_REQUIRE(p && out, HN_ERR_ARGUMENT, "expected a plan and out, found NULL");
    HN_REQUIRE(i >= 0 && i < p->looks.n, HN_ERR_ARGUMENT, "plan %d of %d", i, p->looks.n);
    *look = &p->looks.at[i];
    return HN_OK;
}

hn_status hn_lm_plan_at(const hn_lm_plan *p, int32_t i, hn_lm_planned *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_planned, out, to, size);
    const hn_plan_look *l = NULL;
    HN_TRY(want(p, i, to, &l));
    *out = (hn_lm_planned){ .name = l->name, .tokens = l->tokens, .steps = l->work.all.n, .copies = l->work.n_copies,
                            .slow = l->work.n_without_kernel, .operations = l->work.all.flops,
                            .weights = l->memory[HN_PLAN_WEIGHTS], .packed = l->memory[HN_PLAN_PACKED],
                            .cache = l->memory[HN_PLAN_CACHE], .workspace = l->memory[HN_PLAN_WORKSPACE],
                            .parameters = l->memory[HN_PLAN_PARAMETERS], .moments = l->memory[HN_PLAN_MOMENTS],
                            .sums = l->memory[HN_PLAN_SUMS], .n_devices = l->plan->n_devices,
                            .n_ops = l->work.n_ops };
    return HN_OK;
}

hn_status hn_lm_plan_device(const hn_lm_plan *p, int32_t i, int32_t device, hn_lm_planned_device *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_planned_device, out, to, size);
    const hn_plan_look *l = NULL;
    HN_TRY(want(p, i, to, &l));
    HN_REQUIRE(device >= 0 && device < l->plan->n_devices, HN_ERR_ARGUMENT, "device %d of %d", device, l->plan->n_devices);
    const hn_device *on = l->plan->targets[device].device;
    const hn_device_bytes *b = &l->on[device];
    const size_t available = on->backend->available(on);
    *out = (hn_lm_planned_device){ .name = on->name, .weights = b->weights, .states = b->states, .sums = b->sums,
                                   .workspace = b->workspace, .arrives = l->work.arrives[device],
                                   .available = available == SIZE_MAX ? UINT64_MAX : available };
    nn_split_layers(&l->run.split, hn_model_hparams(p->lm->model)->n_layer, device, &out->first_layer, &out->end_layer);
    const int64_t n = out->end_layer - out->first_layer, streamed = l->run.split.streamed[device];
    out->streamed = streamed < n ? streamed : n;
    return HN_OK;
}

hn_status hn_lm_plan_op(const hn_lm_plan *p, int32_t i, int32_t op, hn_lm_planned_op *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_planned_op, out, to, size);
    const hn_plan_look *l = NULL;
    HN_TRY(want(p, i, to, &l));
    HN_REQUIRE(op >= 0 && op < l->work.n_ops, HN_ERR_ARGUMENT, "op %d of %d", op, l->work.n_ops);
    const hn_op_work *w = &l->work.ops[op];
    *out = (hn_lm_planned_op){ .name = w->op->name, .n = w->n, .operations = w->flops, .bytes = w->bytes };
    return HN_OK;
}

static hn_status give(const hn_lm_plan *p, int32_t i, void (*print)(const hn_plan *, hn_str *), char *to, size_t room,
                      size_t *bytes)
{
    const hn_plan_look *l = NULL;
    HN_TRY(want(p, i, bytes, &l));
    hn_str text = hn_str_on(&p->lm->engine->heap);
    print(l->plan, &text);
    hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        status = hn_give_text(text.text, text.length, to, room, bytes);
    hn_str_free(&text);
    return status;
}

hn_status hn_lm_plan_steps(const hn_lm_plan *p, int32_t i, char *to, size_t room, size_t *bytes)
{
    HN_ENTER();
    return give(p, i, hn_plan_text, to, room, bytes);
}

hn_status hn_lm_plan_svg(const hn_lm_plan *p, int32_t i, char *to, size_t room, size_t *bytes)
{
    HN_ENTER();
    return give(p, i, hn_plan_svg, to, room, bytes);
}
