/* Every tensor that is read is marked, and at the end what has no mark is refused, unless a rule knows it to
 * change nothing. */
#include "nn/surplus.h"

#include "base/pattern.h"

#include <stdio.h>
#include <string.h>

hn_status hn_taken_begin(hn_taken *t, hn_heap *heap, const hn_weights *all)
{
    *t = (hn_taken){ .all = all,
                     .is_taken = hn_alloc_array(heap, HN_TAG_FILE, all->n + 1, sizeof *t->is_taken) };
    return t->is_taken ? HN_OK : HN_ERR_MEMORY;
}

void hn_taken_free(hn_taken *t, hn_heap *heap)
{
    hn_free(heap, t->is_taken);
    t->is_taken = NULL;
}

void hn_taken_mark(hn_taken *t, const hn_weight_entry *entry)
{
    t->is_taken[entry - t->all->entries] = true;
}

/* A head that repeats the embedding: hn_arch_check_head has compared them. */
static bool is_tied_head(const hn_hparams *hp, const char *prefix, const char *name)
{
    char head[HN_TENSOR_NAME];
    snprintf(head, sizeof head, "%slm_head.weight", prefix);
    return hp->is_tied && (!strcmp(name, "lm_head.weight") || !strcmp(name, head));
}

/* Layers beyond the last foretell further tokens, in architectures that have such, and are left out: such a layer
 * joins what it sees of two tokens. Another is one that the numbers of the model lack. */
static bool is_next_layer(const hn_taken *t, const hn_arch *arch, const hn_hparams *hp, const char *prefix,
                          const char *name)
{
    char start[HN_TENSOR_NAME], joins[HN_TENSOR_NAME + 32];
    snprintf(start, sizeof start, "%s%s", prefix, arch->layers);
    const size_t n = strlen(start);
    int layer;
    if (!arch->has_next_layers || strncmp(name, start, n) != 0 || sscanf(name + n, "%d.", &layer) != 1)
        return false;
    snprintf(joins, sizeof joins, "%s%d.eh_proj.weight", start, layer);
    return layer >= hp->n_layer && hn_weights_find(t->all, joins);
}

static bool is_needless(const hn_taken *t, const hn_arch *arch, const hn_hparams *hp, const char *prefix,
                        const char *name)
{
    for (int i = 0; prefix && arch->ignored[i]; i++)
        if (hn_pattern_matches(arch->ignored[i], name))
            return true;
    return prefix && (is_tied_head(hp, prefix, name) || is_next_layer(t, arch, hp, prefix, name));
}

hn_status hn_taken_check(const hn_taken *t, const hn_arch *arch, const hn_hparams *hp,
                         const char *prefix, const char *path)
{
    for (size_t i = 0; i < t->all->n; i++)
        HN_REQUIRE(t->is_taken[i] || is_needless(t, arch, hp, prefix, t->all->entries[i].name),
                   HN_ERR_UNSUPPORTED, "%s: tensor %s: %s has no place for it", path,
                   t->all->entries[i].name, arch->name);
    return HN_OK;
}
