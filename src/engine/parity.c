/* A public model beside what another program computed of it. */
#include "engine/files.h"
#include "hone/eval.h"
#include "infer/parity.h"

#include <string.h>

enum { MOST_NAME = 32 };

struct hn_lm_parity {
    hn_heap *heap;
    hn_reference reference;
    hn_parity inner;
    hn_lm_parity_sum sum;
    hn_lm_parity_part *parts;
    char (*names)[MOST_NAME];
};

static hn_lm_distance outer(const hn_logit_distance *d)
{
    return (hn_lm_distance){ .nmse = d->nmse, .largest = d->largest, .kl = d->kl, .agreement = d->agreement };
}

static hn_status fill(hn_lm_parity *p)
{
    const hn_parity *in = &p->inner;
    const hn_reference *ref = &p->reference;
    const size_t n = (size_t)in->n_layer + 2;
    p->sum = (hn_lm_parity_sum){ .numerics = hn_outer_numerics(in->numerics), .about = ref->about,
                                 .n_tokens = ref->n_tokens, .n_parts = n, .logits = outer(&in->logits),
                                 .other_name = ref->has_other ? ref->other_name : NULL, .other = outer(&ref->other) };
    p->parts = hn_alloc_array(p->heap, HN_TAG_STATE, n, sizeof *p->parts);
    p->names = hn_alloc_array(p->heap, HN_TAG_STATE, n, sizeof *p->names);
    if (!p->parts || !p->names)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const hn_parity_part *part = &in->parts[i];
        const bool has_own = in->numerics == HN_NUMERICS_BF16 && ref->other_layers && i > 0;
        p->parts[i] = (hn_lm_parity_part){ .name = hn_parity_part_name(in, (int64_t)i, p->names[i]), .nmse = part->nmse,
                                           .largest = part->largest, .bound = part->bound, .rounded = part->rounded,
                                           .has_own = has_own, .own = has_own ? ref->other_layers[i - 1] : 0,
                                           .n_close = part->n_close, .n_other = part->n_other,
                                           .is_beyond = part->is_beyond };
    }
    return HN_OK;
}

static hn_status compare(hn_lm_parity *p, hn_lm *lm, const char *path, const hn_lm_numerics *expected)
{
    HN_TRY(hn_reference_read(&p->reference, p->heap, path, hn_model_hparams(lm->model)));
    HN_REQUIRE(!expected || *expected == hn_outer_numerics(p->reference.numerics), HN_ERR_ARGUMENT,
               "--numerics %s: %s is a run in %s", hn_lm_numerics_name(*expected), path,
               hn_numerics_name(p->reference.numerics));
    HN_TRY(hn_parity_run(&p->inner, p->heap, lm->model, lm->run, &p->reference));
    return fill(p);
}

hn_status hn_lm_parity_run(hn_lm_parity **out, hn_lm *lm, const char *reference, const hn_lm_numerics *expected)
{
    HN_ENTER();
    HN_REQUIRE(out && lm && reference, HN_ERR_ARGUMENT, "hn_lm_parity_run: expected out, a model and a path, found NULL");
    *out = NULL;
    HN_TRY(hn_lm_want_model(lm));
    HN_REQUIRE(!lm->adapters.n, HN_ERR_UNSUPPORTED, "%s: parity with adapters: expected the model alone", lm->path);
    hn_heap *heap = &lm->engine->heap;
    hn_lm_parity *p = hn_alloc(heap, HN_TAG_STATE, sizeof *p);
    if (!p)
        return HN_ERR_MEMORY;
    p->heap = heap;
    const hn_status status = compare(p, lm, reference, expected);
    if (status != HN_OK) {
        hn_lm_parity_free(p);
        return status;
    }
    *out = p;
    return HN_OK;
}

void hn_lm_parity_free(hn_lm_parity *p)
{
    HN_ENTER();
    if (!p)
        return;
    hn_parity_free(&p->inner);
    hn_reference_free(&p->reference);
    hn_free(p->heap, p->parts);
    hn_free(p->heap, p->names);
    hn_free(p->heap, p);
}

const hn_lm_parity_sum *hn_lm_parity_get_sum(const hn_lm_parity *p)
{
    HN_ENTER();
    return p ? &p->sum : NULL;
}

const hn_lm_parity_part *hn_lm_parity_get_part(const hn_lm_parity *p, size_t i)
{
    HN_ENTER();
    return p && i < p->sum.n_parts ? &p->parts[i] : NULL;
}

hn_status hn_lm_parity_judge(const hn_lm_parity *p)
{
    HN_ENTER();
    HN_REQUIRE(p, HN_ERR_ARGUMENT, "hn_lm_parity_judge: expected a parity, found NULL");
    return hn_parity_judge(&p->inner);
}
