/* command.h: what a command is: an option table and a run. The table gives parsing, --help, and
 * the list of commands. Results go to stdout; notices and progress to stderr. */
#ifndef HN_CLI_COMMAND_H
#define HN_CLI_COMMAND_H

#include "base/heap.h"
#include "base/out_file.h"
#include "hone/settings.h"

#include <stdio.h>

enum { HN_MAX_LIST = 64 };
/* The values of an option that may be repeated. */
typedef struct hn_list {
    int n;
    const char *at[HN_MAX_LIST];
} hn_list;

typedef enum hn_option_kind {
    HN_OPTION_KIND_END,
    HN_OPTION_KIND_FLAG,   /* bool */
    HN_OPTION_KIND_TEXT,   /* const char *; NULL unless given */
    HN_OPTION_KIND_INT,    /* int64_t; `low` to `high` */
    HN_OPTION_KIND_REAL,   /* double, not negative */
    HN_OPTION_KIND_LIST,   /* hn_list: may be repeated */
    HN_OPTION_KIND_OUT,    /* hn_sink: a file that is written */
    HN_OPTION_KIND_FOLDER, /* hn_sink: of the files in a folder */
    HN_OPTION_KIND_KEPT,   /* hn_sink: a file that is read if it is there, and written at the end */
    HN_OPTION_KIND_RESULT, /* hn_sink: the operand number `low` is a file that is written */
    HN_OPTION_KIND_GROUP,  /* none: --help begins a group, called `help` */
    HN_OPTION_KIND_TABLE,  /* hn_settings: every setting of a table of the library */
    HN_OPTION_KIND_SETTING /* hn_settings: one of them, with a `help` of its own or the table's */
} hn_option_kind;

typedef const hn_setting *hn_settings_table(size_t i);
/* The words that an option may have, as the library lists them: NULL or "" past the last. */
typedef const char *hn_word_at(int32_t i);

typedef struct hn_option {
    hn_option_kind kind;
    const char *name; /* without the dashes; '_' in the field is '-' here */
    size_t at;
    const char *value; /* what --help calls the value */
    const char *help;
    int64_t low, high;
    hn_settings_table *table;
    const hn_setting *setting; /* where hn_options_next made it of one: a value is kept as it was given, */
    const char *otherwise;     /* and where none is given it is this */
    hn_word_at *words;         /* in the place of "{}" in `help`, or of "{*}": the first is the default */
} hn_option;

/* What was given of settings, in this order: NAME=VALUE, for the library. */
enum { HN_MAX_GIVEN = 340 };
typedef struct hn_setting_given {
    const hn_setting *of;
    const char *value; /* NULL of a flag */
} hn_setting_given;
typedef struct hn_settings {
    int n;
    hn_setting_given at[HN_MAX_GIVEN];
} hn_settings;
/* Those of one table but one, as the library takes them. Close it also after a failure. */
typedef struct hn_setting_words {
    hn_heap *heap;
    int32_t n;
    char *at[HN_MAX_GIVEN];
} hn_setting_words;
hn_status hn_setting_words_of(hn_setting_words *words, hn_heap *heap, const hn_settings *given, hn_settings_table *table,
                              const char *except_or_null);
void hn_setting_words_close(hn_setting_words *words);
/* The value of one that is no list; NULL: it was not given. */
const char *hn_settings_value(const hn_settings *told, const char *name);

#define HN_FLAG(type, field, name, help)                                                       \
    {                                                                                          \
        HN_OPTION_KIND_FLAG, name, offsetof(type, field), NULL, help, 0, 0, NULL, NULL, NULL   \
    }
#define HN_TEXT(type, field, name, value, help)                                                \
    {                                                                                          \
        HN_OPTION_KIND_TEXT, name, offsetof(type, field), value, help, 0, 0, NULL, NULL, NULL  \
    }
#define HN_CHOICE(type, field, name, value, words, help)                                       \
    {                                                                                          \
        HN_OPTION_KIND_TEXT, name, offsetof(type, field), value, help, 0, 0, NULL, NULL, NULL, words\
    }
#define HN_INT(type, field, name, value, low, high, help)                                      \
    {                                                                                          \
        HN_OPTION_KIND_INT, name, offsetof(type, field), value, help, low, high, NULL, NULL, NULL\
    }
#define HN_REAL(type, field, name, value, help)                                                \
    {                                                                                          \
        HN_OPTION_KIND_REAL, name, offsetof(type, field), value, help, 0, 0, NULL, NULL, NULL  \
    }
#define HN_LIST(type, field, name, value, help)                                                \
    {                                                                                          \
        HN_OPTION_KIND_LIST, name, offsetof(type, field), value, help, 0, 0, NULL, NULL, NULL  \
    }
/* What a command writes. One that has any of these takes --overwrite too, and files that are there
 * already are refused without it before the command begins, as is what cannot be made. */
#define HN_OUT(type, field, name, value, help)                                                 \
    {                                                                                          \
        HN_OPTION_KIND_OUT, name, offsetof(type, field), value, help, 0, 0, NULL, NULL, NULL   \
    }
#define HN_OUT_FOLDER(type, field, name, value, help)                                          \
    {                                                                                          \
        HN_OPTION_KIND_FOLDER, name, offsetof(type, field), value, help, 0, 0, NULL, NULL, NULL\
    }
/* What a command keeps is its own to replace. */
#define HN_KEPT(type, field, name, value, help)                                                \
    {                                                                                          \
        HN_OPTION_KIND_KEPT, name, offsetof(type, field), value, help, 0, 0, NULL, NULL, NULL  \
    }
#define HN_RESULT(type, field, operand)                                                        \
    {                                                                                          \
        HN_OPTION_KIND_RESULT, "", offsetof(type, field), NULL, NULL, operand, operand, NULL, NULL, NULL\
    }
#define HN_GROUP(title)                                                                        \
    {                                                                                          \
        HN_OPTION_KIND_GROUP, "", 0, NULL, title, 0, 0, NULL, NULL, NULL                       \
    }
/* Settings of the library, also all but one, of which the command makes nothing; its field of them is an hn_settings. */
#define HN_SETTINGS(type, field, table)                                                        \
    {                                                                                          \
        HN_OPTION_KIND_TABLE, "", offsetof(type, field), NULL, NULL, 0, 0, table, NULL, NULL   \
    }
#define HN_SETTINGS_BUT(type, field, table, but)                                               \
    {                                                                                          \
        HN_OPTION_KIND_TABLE, "", offsetof(type, field), but, NULL, 0, 0, table, NULL, NULL    \
    }
#define HN_SETTING(type, field, table, name, help)                                             \
    {                                                                                          \
        HN_OPTION_KIND_SETTING, name, offsetof(type, field), NULL, help, 0, 0, table, NULL, NULL\
    }
/* One of which `help` says what it is unless given. */
#define HN_SETTING_OPEN(type, field, table, name, help)                                        \
    {                                                                                          \
        HN_OPTION_KIND_SETTING, name, offsetof(type, field), NULL, help, 1, 0, table, NULL, NULL\
    }
#define HN_OPTION_END                                                                          \
    {                                                                                          \
        HN_OPTION_KIND_END, NULL, 0, NULL, NULL, 0, 0, NULL, NULL, NULL                        \
    }

/* What an option takes beside it. One that is typed where it would say nothing is refused by name, status 2: */
typedef enum hn_rule_kind {
    HN_ONLY_WITH = 1, /* unless one of the others is given, on the command line or by a run file */
    HN_NOT_WITH       /* where one of the others is typed too */
} hn_rule_kind;
typedef struct hn_option_rule {
    const char *options; /* separated by '|': names, without the dashes */
    hn_rule_kind kind;
    const char *others; /* likewise; NAME=VALUE is the option with this value, NAME!=VALUE with another */
    const char *reason; /* the sentence's end; NULL: one that fits all */
} hn_option_rule; /* a table ends where `options` is NULL */

enum { HN_MAX_ARGS_BYTES = 8192, HN_MAX_OPERANDS = 64 };

typedef struct hn_command {
    const char *name, *operands, *summary;
    const char *details; /* more lines for --help, or NULL */
    const char *chosen; /* an operand that is one of `words`, which --help lists after it; or NULL */
    hn_word_at *words;
    const char *example; /* a line that can be typed, without "hone"; a test parses it */
    const hn_option *options;
    const hn_option_rule *rules; /* or NULL */
    const char *letters; /* "p:prompt n:count": -p is --prompt; or NULL */
    const char *resumes_in; /* without operands, --resume takes run.toml of this option's folder; or NULL */
    const char *run_file_operand; /* an operand *.toml is a run file, this its key for the operand */
    const void *defaults; /* args_size bytes, or NULL: zeros */
    size_t args_size;
    int min_operands, max_operands;
    hn_status (*run)(const void *args, int n_operands, char **operands, FILE *out);
} hn_command;

extern const hn_command *const hn_commands[];

/* Parses everything after the command's name; the first n_told words are a run file's, and not held to the rules.
 * HN_ERR_ARGUMENT means usage: exit status 2; another, that something cannot be written. With *wants_help, nothing else was looked at. */
hn_status hn_options_parse(const hn_command *command, int n_told, int argc, char **argv, void *args,
                           int *n_operands, char **operands, bool *wants_help);
/* Goes through a command's options, with those of tables in their places, till it is false. */
typedef struct hn_option_walk {
    const hn_option *at; /* in the command's table; begins there */
    size_t i;            /* in the library's, where that is one */
    hn_option found;
} hn_option_walk;
hn_option_walk hn_options_of(const hn_command *command);
bool hn_options_next(hn_option_walk *walk);
/* The one of this name, --overwrite too where it is taken. */
bool hn_options_find(const hn_command *command, const char *name, hn_option *out);
/* --overwrite, of every command that writes files. */
bool hn_options_overwrite(const hn_command *command, hn_option *out);
/* How many operands there are, and what `name` was given, as far as that can be told before parsing;
 * NULL: nothing. */
int hn_options_glance(const hn_command *command, int argc, char **argv, const char *name,
                      const char **value);
/* The first operand's place among the words, as far as that can be told before parsing; -1: there is none. */
int hn_options_operand(const hn_command *command, int argc, char **argv);

#endif
