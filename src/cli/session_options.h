/* session_options.h: the options of every command that runs a growing sequence, in one table. */
#ifndef HN_CLI_SESSION_OPTIONS_H
#define HN_CLI_SESSION_OPTIONS_H

#include "cli/choices.h"
#include "cli/command.h"
#include "hone/session.h"

typedef struct hn_session_args {
    const char *cache;
    hn_sink file;
    int64_t context;
    bool keeps_all, mapped;
} hn_session_args;

#define HN_CACHE_OPTION(type, field)                                                           \
    HN_CHOICE(type, field, "cache", "TYPE", hn_cache_word, "of keys and values: {*}")

/* Of a command whose args have a field `session`. */
#define HN_SESSION_OPTIONS(type)                                                               \
    HN_INT(type, session.context, "context", "N", 1, INT32_MAX,                                \
           "longest sequence; default 4096"),                                                  \
        HN_CACHE_OPTION(type, session.cache),                                                  \
        HN_FLAG(type, session.keeps_all, "keep-all",                                           \
                "keys beyond their windows too: going back is cheap"),                         \
        HN_FLAG(type, session.mapped, "mapped",                                                \
                "read weights where the file is mapped: starts sooner, generates slower"),     \
        HN_KEPT(type, session.file, "session", "FILE",                                         \
                "take keys from there if it exists, and leave them there")

hn_lm_session_options hn_session_args_options(const hn_session_args *args);

/* Before and after; neither does anything without a file. What does not fit is refused: nothing
 * is overwritten then. */
hn_status hn_session_args_restore(const hn_session_args *args, hn_lm_session *session);
hn_status hn_session_args_save(const hn_session_args *args, const hn_lm_session *session);

#endif
