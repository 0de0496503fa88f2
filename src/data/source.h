/* source.h: one file of examples: mapped, its kind told by its name, and an index of where each
 * example lies. Nothing of it is parsed before it is asked for, so files may be larger than
 * memory: 12 bytes of index an example.
 *
 * JSON is an array of examples or an example a line, JSONL an example a line, CSV and TSV a header
 * and an example a record; text is a document wherever blank lines leave one. A name that says
 * nothing may be JSON, which begins with '{' or '['; whatever else it is, --format says. */
#ifndef HN_DATA_SOURCE_H
#define HN_DATA_SOURCE_H

#include "base/file.h"
#include "base/map_file.h"
#include "data/file_kind.h"
#include "data/table.h"

typedef enum hn_data_source_layout {
    HN_LAYOUT_LINES, /* of JSON */
    HN_LAYOUT_ARRAY,
    HN_LAYOUT_TABLE,
    HN_LAYOUT_PARAGRAPHS
} hn_data_source_layout;

typedef struct hn_data_source {
    hn_heap *heap;
    char *path;
    hn_map_file map;
    hn_data_source_layout layout;
    hn_data_format format;
    bool is_forced;  /* the format was given: no other key is looked at */
    hn_table table;  /* of that layout */
    uint64_t *begin; /* bytes of the file */
    uint32_t *bytes;
    size_t n, room;
    uint8_t digest[32]; /* SHA-256 of the file */
} hn_data_source;

typedef struct hn_data_source_options {
    const char *format; /* as hn_format_choice_parse has it; NULL: by name and keys */
} hn_data_source_options;

/* One pass over the file. HN_ERR_FORMAT if there is no example in it. */
hn_status hn_data_source_open(hn_data_source *out, hn_heap *heap, const char *path,
                              const hn_data_source_options *options);
void hn_data_source_close(hn_data_source *source); /* takes a zeroed one */

hn_span hn_data_source_bytes(const hn_data_source *source, size_t i);
/* Lets go of the pages around it: what was read of a file does not stay in memory. */
void hn_data_source_release(const hn_data_source *source, size_t i);
/* The line on which it begins, from 1; counted when it is asked for. */
size_t hn_data_source_line(const hn_data_source *source, size_t i);

/* The parsed example i, of this source's format: anything else is HN_ERR_FORMAT that names
 * file, line, expected and found. Not for paragraphs. */
hn_status hn_data_source_read(const hn_data_source *source, size_t i, hn_json_text **out);

#endif
