#include "cli/session_options.h"

#include "base/free_memory.h"

#include <string.h>
#include <unistd.h>

hn_status hn_cache_parse(const char *word, hn_dtype *out)
{
    *out = HN_F32;
    if (!word)
        return HN_OK;
    static const char *const fit[] = { "f32", "f16", "bf16", "q8_0", "q4_0" };
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++)
        if (!strcmp(word, fit[i]))
            return hn_dtype_parse(word, strlen(word), out);
    return hn_fail(HN_ERR_ARGUMENT, "--cache %.40s: expected f32, f16, bf16, q8_0 or q4_0", word);
}

hn_status hn_session_args_read(const hn_session_args *args, hn_session_options *out)
{
    *out = (hn_session_options){ .n_ctx = args->context, .keeps_all = args->keeps_all };
    HN_TRY(hn_numerics_parse(args->numerics, &out->numerics));
    return hn_cache_parse(args->cache, &out->cache);
}

bool hn_session_args_pack(const hn_session_args *args, const hn_model *model, int64_t tokens)
{
    enum { WORTH_IT = 32 };
    size_t bytes = 0, n;
    const hn_arch_tensor *all = hn_model_tensors(model, &n);
    for (size_t i = 0; i < n; i++) {
        const nn_weight *w = hn_model_find(model, all[i].gguf);
        bytes += w ? hn_type_bytes(&w->type) : 0;
    }
    const hn_free_memory left = hn_memory_free();
    return !args->mapped && tokens >= WORTH_IT && bytes < left.physical / 2 && bytes < left.address / 2;
}

hn_status hn_session_args_restore(const hn_session_args *args, hn_session *session)
{
    const bool is_there = args->file && access(args->file, F_OK) == 0;
    return is_there ? hn_session_restore(session, args->file) : HN_OK;
}

hn_status hn_session_args_save(const hn_session_args *args, const hn_session *session)
{
    return args->file && hn_session_length(session) ? hn_session_save(session, args->file) : HN_OK;
}
