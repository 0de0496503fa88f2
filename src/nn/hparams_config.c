/* The fields of hn_hparams from config.json: every row of the tables that names one. */
#include "nn/config.h"

#include <stdio.h>
#include <string.h>

static hn_status take_list(const hn_json *list, const char *what, hn_hparams *hp, hn_hp which)
{
    HN_REQUIRE((int64_t)hn_json_count(list) == hp->n_layer, HN_ERR_FORMAT,
               "config.json: %s: expected an integer or one for each of %lld layers", what,
               (long long)hp->n_layer);
    hp->is_listed[which] = hp->has[which] = true;
    int64_t *to = hn_hp_int(hp, which);
    for (const hn_json *item = hn_json_first(list); item; item = item->next, to++) {
        HN_TRY(hn_json_want_int(item, what, to));
        HN_TRY(hn_hparams_check_int("config.json", what, *to));
    }
    return HN_OK;
}

static hn_status take_row(const hn_config *c, const char *name, hn_hparams *hp, hn_hp which)
{
    const hn_json *stated;
    int64_t n;
    HN_TRY(hn_config_json(c, name, &stated));
    switch (hn_hp_kind_of(which)) {
    case HN_HP_NUM: return hn_config_num(c, name, hn_hp_num(hp, which), &hp->has[which]);
    case HN_HP_FLAG:
        hp->has[which] = true;
        return hn_config_flag(c, name, hn_hp_flag(hp, which));
    case HN_HP_LAYERED:
        if (stated && stated->kind == HN_JSON_ARRAY)
            return take_list(stated, name, hp, which);
        break;
    case HN_HP_INT: break;
    }
    bool has;
    HN_TRY(hn_config_int(c, name, &n, &has));
    if (n == -1 && which == HN_HP_n_ctx) /* no limit */
        n = has = false;
    HN_TRY(hn_hparams_check_int("config.json", name, n));
    if (has && hn_hp_kind_of(which) == HN_HP_LAYERED)
        hn_hparams_fill(hp, which, n);
    else if (hn_hp_kind_of(which) == HN_HP_INT)
        *hn_hp_int(hp, which) = n;
    hp->has[which] = has;
    return HN_OK;
}

/* Which layers slide: "layer_types" says it in words. */
static hn_status read_layer_types(const hn_config *c, hn_hparams *hp)
{
    const hn_json *types;
    if (!hn_config_states(c, "layer_types"))
        return HN_OK;
    HN_TRY(hn_config_json(c, "layer_types", &types));
    if (!types)
        return HN_OK;
    HN_REQUIRE((int64_t)hn_json_count(types) == hp->n_layer, HN_ERR_FORMAT,
               "config.json: layer_types: expected one for each of %lld layers",
               (long long)hp->n_layer);
    int i = 0;
    for (const hn_json *t = hn_json_first(types); t; t = t->next, i++) {
        const char *word;
        HN_TRY(hn_json_want_string(t, "config.json: layer_types", &word));
        hp->is_sliding[i] = !strcmp(word, "sliding_attention");
        HN_REQUIRE(hp->is_sliding[i] || !strcmp(word, "full_attention"), HN_ERR_UNSUPPORTED,
                   "config.json: layer_types: %s is not supported", word);
    }
    hp->has_pattern = true;
    return HN_OK;
}

/* A row of an earlier table, or of another class, may take the place of this one. */
static bool serves(const hn_config *c, const hn_key_row *row, char name[64])
{
    if (!row->name || !row->to)
        return false;
    snprintf(name, 64, "%.*s", (int)strcspn(row->name, "|"), row->name);
    return hn_key_named(c->tables, c->class, name) == row;
}

static hn_status read_rows(const hn_config *c, hn_hparams *hp, bool only_layers)
{
    char name[64];
    HN_EACH_KEY_ROW(row, c->tables)
        if (serves(c, row, name) && (row->to == HN_HP_n_layer) == only_layers)
            HN_TRY(take_row(c, name, hp, (hn_hp)row->to));
    return HN_OK;
}

hn_status hn_hparams_read_config(const hn_config *c, hn_hparams *out)
{
    memset(out, 0, sizeof *out);
    HN_TRY(read_rows(c, out, true));
    HN_TRY(hn_hparams_check_layers("config.json", out->n_layer));
    HN_TRY(read_rows(c, out, false));
    if (out->has[HN_HP_head_dim])
        HN_HP_SET(out, value_dim, out->head_dim);
    HN_TRY(hn_hparams_check_heads("config.json", out));
    HN_TRY(hn_config_int(c, "vocab_size", &out->n_vocab, NULL));
    if (hn_key_named(c->tables, c->class, "layer_types"))
        HN_TRY(read_layer_types(c, out));
    out->rope_partial = 1;
    if (hn_key_named(c->tables, c->class, "rope_parameters"))
        HN_TRY(hn_rope_read_config(c, out));
    return hn_config_flag(c, "tie_word_embeddings", &out->is_tied);
}
