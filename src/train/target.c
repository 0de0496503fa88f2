/* A name is taken apart into what it may be called by; a target that names a tensor is a group, a pattern with
 * stars, or the last parts of one of its names. */
#include "train/target.h"

#include "base/number.h"
#include "base/option_value.h"
#include "base/pattern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the names between "blk.N." and ".weight". */
static const struct {
    const char *group, *pattern;
} members[] = {
    { "attn", "attn_q" },           { "attn", "attn_k" },        { "attn", "attn_v" },
    { "attn", "attn_qkv" },         { "attn", "attn_q_a" },      { "attn", "attn_q_b" },
    { "attn", "attn_kv_a_mqa" },    { "attn", "attn_output" },   { "mlp", "ffn_gate" },
    { "mlp", "ffn_up" },            { "mlp", "ffn_down" },       { "mlp", "ffn_*_shexp" },
    { "experts", "ffn_*_exps" },    { "router", "ffn_gate_inp" }, { "embed", "token_embd" },
    { "head", "output" },
};
static const char *const groups[] = { "attn",  "mlp",  "experts", "router",
                                      "embed", "head", "norm",    "all" };

bool hn_tune_target_is_group(const hn_tune_target *target)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcmp(groups[i], target->what))
            return true;
    return false;
}

/* "blk.3.attn_q.weight" -> "attn_q". */
static void short_name(const char *gguf, char out[160])
{
    const char *from = gguf;
    if (!strncmp(gguf, "blk.", 4)) {
        const char *dot = strchr(gguf + 4, '.');
        from = dot ? dot + 1 : gguf;
    }
    snprintf(out, 160, "%s", from);
    char *end = strstr(out, ".weight");
    if (end && !end[7])
        *end = 0;
}

static bool is_member(const char *group, const hn_tune_name *name, const char *own)
{
    const bool is_norm = strstr(own, "_norm") != NULL;
    if (!strcmp(group, "norm"))
        return is_norm && name->rank == 1;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!strcmp(members[i].group, group) && !is_norm &&
            hn_pattern_matches(members[i].pattern, own))
            return true;
    return false;
}

/* Products that "all" leaves out: the head, and what a head of attention expands with, of which each is a matrix of
 * its own: files of other programs have no name for a change of low rank of it. */
static bool is_apart(const char *own)
{
    return !strcmp(own, "output") || !strcmp(own, "attn_k_b") || !strcmp(own, "attn_v_b");
}

/* Whether the pattern is the name, or its last parts. */
static bool ends_with_parts(const char *pattern, const char *name)
{
    for (const char *at = name; at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL)
        if (hn_pattern_matches(pattern, at))
            return true;
    return false;
}

bool hn_tune_target_matches(const hn_tune_target *target, const hn_tune_name *name)
{
    char own[160], hf[192];
    short_name(name->gguf, own);
    if (!strcmp(target->what, "all"))
        return target->settings.how >= HN_TUNE_FULL || (name->is_product && !is_apart(own));
    if (hn_tune_target_is_group(target))
        return is_member(target->what, name, own);
    char whole[192];
    snprintf(whole, sizeof whole, "%s", name->gguf);
    char *end = strstr(whole, ".weight");
    if (end && !end[7])
        *end = 0;
    if (hn_pattern_matches(target->what, name->gguf) || hn_pattern_matches(target->what, whole) ||
        hn_pattern_matches(target->what, own))
        return true;
    if (!name->hf)
        return false;
    snprintf(hf, sizeof hf, "%s", name->hf);
    end = strstr(hf, ".weight");
    if (end && !end[7])
        *end = 0;
    return ends_with_parts(target->what, hf);
}

static hn_status read_number(const char *item, const char *text, double low, double *out)
{
    HN_REQUIRE(hn_number_parse(text, out) && isfinite(*out) && *out >= low, HN_ERR_ARGUMENT,
               "target '%s': '%s' is no number of at least %g", item, text, low);
    HN_REQUIRE(hn_is_of_f32(*out), HN_ERR_ARGUMENT, "target '%s': '%s' is no number that f32 has", item, text);
    return HN_OK;
}

static hn_status read_option(hn_tune_target *t, const char *item, const char *option)
{
    double value;
    hn_tune_settings *s = &t->settings;
    static const char *const ways[] = { "lora", "dora", "full", "frozen" };
    for (int i = 0; i < 4; i++)
        if (!strcmp(option, ways[i])) {
            s->how = (hn_tune_how)i;
            t->says_how = true;
            return HN_OK;
        }
    if (!strcmp(option, "rs")) {
        s->is_rooted = true;
        return HN_OK;
    }
    if (!strncmp(option, "r=", 2)) {
        HN_TRY(read_number(item, option + 2, 1, &value));
        HN_REQUIRE(value == floor(value) && value <= 65536, HN_ERR_ARGUMENT,
                   "target '%s': rank %g: expected a whole number up to 65536", item, value);
        s->rank = (int64_t)value;
        return HN_OK;
    }
    if (!strncmp(option, "alpha=", 6))
        return read_number(item, option + 6, 0, &s->alpha);
    if (!strncmp(option, "dropout=", 8)) {
        HN_TRY(read_number(item, option + 8, 0, &s->dropout));
        HN_REQUIRE(s->dropout < 1, HN_ERR_ARGUMENT, "target '%s': dropout %g: expected less than 1",
                   item, s->dropout);
        return HN_OK;
    }
    if (!strncmp(option, "decay=", 6)) {
        s->has_decay = true;
        return read_number(item, option + 6, 0, &s->decay);
    }
    return hn_fail(HN_ERR_ARGUMENT, "target '%s': option '%s': expected lora, dora, full, frozen, rs, "
                                    "r=RANK, alpha=ALPHA, dropout=P or decay=X", item, option);
}

static hn_status read_item(const char *text, size_t n, const hn_tune_settings *otherwise,
                           hn_tune_target *out)
{
    char item[256];
    HN_REQUIRE(n > 0 && n < sizeof item, HN_ERR_ARGUMENT,
               "targets: an item of %zu characters: expected 1 to %zu", n, sizeof item - 1);
    memcpy(item, text, n);
    item[n] = 0;
    *out = (hn_tune_target){ .settings = *otherwise };
    char parts[256];
    memcpy(parts, item, n + 1);
    char *rest = strchr(parts, ':');
    if (rest)
        *rest++ = 0;
    const size_t length = strlen(parts);
    HN_REQUIRE(length && length < sizeof out->what, HN_ERR_ARGUMENT, "target '%s': no name", item);
    memcpy(out->what, parts, length + 1);
    while (rest) {
        char *option = rest;
        rest = strchr(rest, ':');
        if (rest)
            *rest++ = 0;
        HN_TRY(read_option(out, item, option));
    }
    if (!strcmp(out->what, "norm") && !out->says_how)
        out->settings.how = HN_TUNE_FULL; /* vectors have no ranks */
    return HN_OK;
}

hn_status hn_tune_targets_parse(hn_heap *heap, const char *text, const hn_tune_settings *otherwise,
                           hn_tune_targets *out)
{
    *out = (hn_tune_targets){ 0 };
    size_t room = 1;
    for (const char *c = text; *c; c++)
        room += *c == ',';
    out->at = hn_alloc_array(heap, HN_TAG_TEXT, room, sizeof *out->at);
    if (!out->at)
        return HN_ERR_MEMORY;
    for (const char *at = text;; at++) {
        const size_t n = strcspn(at, ",");
        const hn_status status = read_item(at, n, otherwise, &out->at[out->n]);
        if (status != HN_OK) {
            hn_tune_targets_free(heap, out);
            return status;
        }
        out->n++;
        at += n;
        if (!*at)
            return HN_OK;
    }
}

void hn_tune_targets_free(hn_heap *heap, hn_tune_targets *targets)
{
    hn_free(heap, targets->at);
    *targets = (hn_tune_targets){ 0 };
}
