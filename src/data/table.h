/* table.h: CSV and TSV (RFC 4180, a tab for the comma): a header, and an example a record, whose
 * keys are the header's.
 *
 * Cells are texts; those of keys that are not (messages, weight, ids ...) are read as JSON, as are
 * bare numbers of a column that no format knows. */
#ifndef HN_DATA_TABLE_H
#define HN_DATA_TABLE_H

#include "base/file.h"
#include "base/json.h"

enum { HN_TABLE_MOST_COLUMNS = 256 };

typedef struct hn_table {
    char separator;
    char **names; /* of the columns */
    size_t n;
} hn_table;

/* Goes through records a stretch at a time. */
typedef struct hn_table_scanner {
    char separator;
    enum { HN_CELL_BEGIN, HN_CELL_PLAIN, HN_CELL_QUOTED, HN_CELL_CLOSED } in;
    bool has_record, is_after_return;
    size_t record, quote; /* bytes at which they begin */
} hn_table_scanner;

/* What was met at byte `at`: nothing yet, the end of a record (of *begin, without its line end), or
 * a mistake in words. */
typedef enum hn_table_event { HN_TABLE_NOTHING, HN_TABLE_RECORD, HN_TABLE_WRONG } hn_table_event;
hn_table_event hn_table_scan(hn_table_scanner *s, const char *text, size_t at, size_t *begin,
                             const char **wrong);
/* The same at the end of the file. */
hn_table_event hn_table_finish(hn_table_scanner *s, size_t *begin, const char **wrong);

/* The first record names the columns. */
hn_status hn_table_read_header(hn_table *table, hn_heap *heap, char separator, hn_span record);
void hn_table_free(hn_table *table, hn_heap *heap);
/* A record as a JSON object. The caller says where. */
hn_status hn_table_write_json(const hn_table *table, hn_heap *heap, hn_span record, hn_str *out);

#endif
