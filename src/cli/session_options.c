/* A session's file is read if it is there and written at the end: the first call with its name makes it. */
#include "cli/session_options.h"

#include "base/os/files.h"

hn_lm_session_options hn_session_args_options(const hn_session_args *args)
{
    return (hn_lm_session_options){ .size = sizeof(hn_lm_session_options), .context = args->context,
                                    .cache = args->cache, .keeps_all = args->keeps_all, .mapped = args->mapped };
}

hn_status hn_session_args_restore(const hn_session_args *args, hn_lm_session *session)
{
    const bool is_there = args->file.path && hn_os_is_there(args->file.path);
    return is_there ? hn_lm_session_load(session, args->file.path) : HN_OK;
}

hn_status hn_session_args_save(const hn_session_args *args, const hn_lm_session *session)
{
    return args->file.path ? hn_lm_session_save_known(session, args->file.path, NULL) : HN_OK;
}
