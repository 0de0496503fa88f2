/* file_kind.h: what a file of examples is, which its name says: a file called .csv is read as one or
 * refused, never taken for prose. Only names that say nothing are told by content. */
#ifndef HN_DATA_FILE_KIND_H
#define HN_DATA_FILE_KIND_H

#include "data/format.h"

/*    enum       name (--format)  endings of names        read, or known and refused */
#define HN_FILE_KIND_LIST(X)                                                                   \
    X(JSON, "json", "json", READ)                                                              \
    X(JSONL, "jsonl", "jsonl ndjson", READ)                                                    \
    X(CSV, "csv", "csv", READ)                                                                 \
    X(TSV, "tsv", "tsv tab", READ)                                                             \
    X(PARQUET, "parquet", "parquet pq", REFUSED)                                               \
    X(PARAGRAPHS, "paragraphs", "txt text md markdown", READ)

typedef enum hn_file_kind {
#define HN_FILE_KIND_ENUM(upper, name, endings, how) HN_FILE_##upper,
    HN_FILE_KIND_LIST(HN_FILE_KIND_ENUM)
#undef HN_FILE_KIND_ENUM
        HN_N_FILE_KINDS /* a name that says nothing */
} hn_file_kind;

const char *hn_file_kind_name(hn_file_kind kind);
bool hn_file_kind_is_read(hn_file_kind kind); /* not: it is known, and refused */
/* Those that are read, each after ", "; and with formats of examples, for --help. */
extern const char hn_file_kinds_read[], hn_formats_help[];
/* By the ending of its name, in letters of either case; HN_N_FILE_KINDS: it says nothing. */
hn_file_kind hn_file_kind_of(const char *path);

/* What --format says: a kind of file, a format of examples, or both with a comma between. What it
 * does not say is HN_N_FILE_KINDS, HN_N_DATA_FORMATS. NULL says nothing. */
hn_status hn_format_choice_parse(const char *text_or_null, hn_file_kind *kind,
                                 hn_data_format *format);

#endif
