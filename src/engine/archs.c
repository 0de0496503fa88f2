/* Architectures, for hosts. */
#include "engine/engine.h"
#include "models/models.h"

#include <stdio.h>
#include <string.h>

static hn_lm_arch outer(const hn_arch *a)
{
    return (hn_lm_arch){ .name = a->name, .classes = a->classes, .runs = a->build != NULL, .embeds = a->embeds_only,
                         .has_bf16 = a->has_bf16 };
}

int32_t hn_lm_archs(void)
{
    HN_ENTER();
    int32_t n = 0;
    while (hn_archs[n])
        n++;
    return n;
}

hn_status hn_lm_arch_at(int32_t i, hn_lm_arch *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_arch, out, to, size);
    const int32_t n = hn_lm_archs();
    HN_REQUIRE(to && i >= 0 && i < n, HN_ERR_ARGUMENT, "architecture %d of %d", i, n);
    *out = outer(hn_archs[i]);
    return HN_OK;
}

hn_status hn_lm_arch_named(const char *name, hn_lm_arch *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_arch, out, to, size);
    const hn_arch *arch;
    HN_REQUIRE(name && to, HN_ERR_ARGUMENT, "hn_lm_arch_named: expected a name and out, found NULL");
    HN_TRY(hn_arch_named(name, &arch));
    *out = outer(arch);
    return HN_OK;
}

typedef struct teller {
    void (*call)(void *context, const hn_lm_arch_key *key);
    void *context;
} teller;

static void tell(const teller *to, const hn_key_row *row, hn_lm_arch_key key)
{
    key.use = row->only ? HN_LM_KEY_ONE_VALUE : row->note ? HN_LM_KEY_NEEDLESS : HN_LM_KEY_USED;
    key.only = row->only;
    key.note = row->note;
    key.of = row->of;
    HN_CALL_HOST();
    to->call(to->context, &key);
}

static void tell_config(const teller *to, const hn_key_row *const *tables, int32_t depth)
{
    HN_EACH_KEY_ROW(row, tables) {
        if (!row->name)
            continue;
        const bool must_be = row->otherwise && !strcmp(row->otherwise, HN_MUST);
        tell(to, row, (hn_lm_arch_key){ .name = row->name, .depth = depth, .must_be = must_be,
                                        .absent = must_be ? NULL : row->otherwise });
        if (row->within)
            tell_config(to, row->within, depth + 1);
    }
}

static void tell_gguf(const teller *to, const hn_arch *arch)
{
    HN_EACH_KEY_ROW(row, arch->tables) {
        const char *key = row->is_apart ? NULL : hn_key_gguf(row);
        char name[160];
        if (!key)
            continue;
        snprintf(name, sizeof name, "%s%s%s", hn_key_is_whole(key) ? "" : arch->name,
                 hn_key_is_whole(key) ? "" : ".", key);
        tell(to, row, (hn_lm_arch_key){ .name = name, .is_gguf = 1 });
    }
}

hn_status hn_lm_arch_keys(const char *name, void (*call)(void *context, const hn_lm_arch_key *key), void *context)
{
    HN_ENTER();
    const hn_arch *arch;
    const teller to = { call, context };
    HN_REQUIRE(name && call, HN_ERR_ARGUMENT, "hn_lm_arch_keys: expected a name and a call, found NULL");
    HN_TRY(hn_arch_named(name, &arch));
    tell_config(&to, arch->tables, 0);
    tell_gguf(&to, arch);
    return HN_OK;
}
