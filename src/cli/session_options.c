#include "cli/session_options.h"

#include "base/os/files.h"

hn_status hn_session_args_read(const hn_session_args *args, hn_session_options *out)
{
    *out = (hn_session_options){ .n_ctx = args->context, .keeps_all = args->keeps_all };
    return hn_session_cache_parse(args->cache, &out->cache);
}

bool hn_session_args_pack(const hn_session_args *args, const hn_model *model, int64_t tokens)
{
    return !args->mapped && hn_session_should_pack(model, tokens);
}

hn_status hn_session_args_restore(const hn_session_args *args, hn_session *session)
{
    const bool is_there = args->file && hn_os_is_there(args->file);
    return is_there ? hn_session_restore(session, args->file) : HN_OK;
}

hn_status hn_session_args_save(const hn_session_args *args, const hn_session *session)
{
    return args->file && hn_session_length(session) ? hn_session_save(session, args->file) : HN_OK;
}
