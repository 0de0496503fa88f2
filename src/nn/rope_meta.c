/* Rope from GGUF, as llama.cpp means it: a factor without a type stretches linearly, a type of none
 * puts the factor out of effect, 0 is a factor that was not given, and rope.scale_linear is what
 * rope.scaling.factor was called before. */
#include "nn/rope_meta.h"

#include "nn/meta_keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What rope.scaling.type may say; NULL: it has no word of its own there. */
static const char *const words[] = { [HN_ROPE_NONE] = "none",       [HN_ROPE_LINEAR] = "linear",
                                     [HN_ROPE_LLAMA3] = NULL,       [HN_ROPE_YARN] = "yarn",
                                     [HN_ROPE_LONGROPE] = "longrope", [HN_ROPE_PROPORTIONAL] = NULL };

typedef struct subject {
    const hn_meta *meta;
    const char *arch;
    hn_hparams *hp;
} subject;

static hn_status refuse(const subject *s, const char *key, double value, const char *why)
{
    return hn_fail(HN_ERR_UNSUPPORTED, "%s: key %s.%s is %.9g: %s", s->meta->name, s->arch, key,
                   value, why);
}

static hn_status read_type(const subject *s, hn_rope_scaling *out)
{
    char key[160];
    hn_span word;
    *out = HN_ROPE_LINEAR;
    snprintf(key, sizeof key, "%s.rope.scaling.type", s->arch);
    HN_TRY(hn_meta_string(s->meta, key, &word));
    if (!word.data)
        return HN_OK;
    s->hp->rope_is_stated = true;
    for (int i = 0; i <= HN_ROPE_PROPORTIONAL; i++)
        if (words[i] && strlen(words[i]) == word.bytes && !memcmp(words[i], word.data, word.bytes)) {
            *out = (hn_rope_scaling)i;
            return HN_OK;
        }
    return hn_fail(HN_ERR_UNSUPPORTED,
                   "%s: key %s is \"%.*s\": expected none, linear, yarn or longrope", s->meta->name,
                   key, (int)(word.bytes < 64 ? word.bytes : 64), (const char *)word.data);
}

static hn_status read_factor(const subject *s)
{
    hn_hparams *hp = s->hp;
    char key[160];
    double older;
    snprintf(key, sizeof key, "%s.rope.scale_linear", s->arch);
    HN_TRY(hn_meta_double(s->meta, key, hp->rope_factor, &older));
    if (hp->has[HN_HP_rope_factor] && older != hp->rope_factor)
        return refuse(s, "rope.scale_linear", older,
                      "rope.scaling.factor is the same thing, and differs");
    hp->rope_factor = older == 0 ? 1 : older;
    if (fabs(hp->rope_factor) < 0x1p-126)
        return refuse(s, "rope.scaling.factor", older, "frequencies are divided by it");
    return HN_OK;
}

/* The share of yarn's ramp is all or nothing here. */
static hn_status check_yarn(const subject *s, bool is_yarn)
{
    hn_hparams *hp = s->hp;
    const double share = hp->yarn_ext_factor;
    if (hp->has[HN_HP_yarn_ext_factor] && share != -1 && share != 1 && (is_yarn || share != 0))
        return refuse(s, "rope.scaling.yarn_ext_factor", share,
                      is_yarn ? "expected 1, or -1 for what is usual"
                              : "expected 0, 1, or -1 for what is usual");
    if (!is_yarn)
        return HN_OK;
    if (hp->rope_factor < 0)
        return refuse(s, "rope.scaling.factor", hp->rope_factor, "yarn expects a number above 0");
    if (hp->rope_base <= 1)
        return refuse(s, "rope.freq_base", hp->rope_base, "yarn expects more than 1");
    return HN_OK;
}

hn_status hn_rope_read_meta(const hn_meta *meta, const char *arch,
                            const hn_key_row *const *tables, hn_hparams *hp)
{
    const subject s = { meta, arch, hp };
    hn_rope_scaling type;
    if (!hn_key_of_field(tables, HN_HP_rope_factor))
        return HN_OK;
    HN_TRY(read_type(&s, &type));
    HN_TRY(read_factor(&s));
    HN_TRY(check_yarn(&s, type == HN_ROPE_YARN));
    if (type == HN_ROPE_LONGROPE && hp->rope_factor != 1)
        return refuse(&s, "rope.scaling.factor", hp->rope_factor,
                      "longrope's factors are tensors: expected none beside them");
    const bool is_nothing = !hp->rope_is_stated && hp->rope_factor == 1;
    hp->rope_scaling = is_nothing ? HN_ROPE_NONE : type;
    return HN_OK;
}

hn_status hn_rope_write_meta(const hn_hparams *hp, const char *arch, hn_meta *meta)
{
    char key[160];
    if (!hp->rope_is_stated)
        return HN_OK;
    snprintf(key, sizeof key, "%s.rope.scaling.type", arch);
    return hn_meta_set_text(meta, key, words[hp->rope_scaling]);
}
