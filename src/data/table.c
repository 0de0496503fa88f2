/* The scanner knows quotes and line ends, and refuses what RFC 4180 does not write: a quote inside
 * of a cell that has none around it, anything between a closing quote and the next cell. Records
 * are taken apart again when they are asked for. */
#include "data/table.h"

#include "base/utf8.h"

#include <string.h>

static hn_table_event end_record(hn_table_scanner *s, size_t *begin)
{
    *begin = s->record;
    s->in = HN_CELL_BEGIN;
    s->has_record = false;
    return HN_TABLE_RECORD;
}

hn_table_event hn_table_scan(hn_table_scanner *s, const char *text, size_t at, size_t *begin,
                             const char **wrong)
{
    const char c = text[at];
    if (!c) {
        *wrong = "expected text, found byte 0x00";
        return HN_TABLE_WRONG;
    }
    if (!s->has_record && (c == '\n' || c == '\r')) /* an empty line */
        return HN_TABLE_NOTHING;
    if (!s->has_record) {
        s->has_record = true;
        s->record = at;
    }
    if (s->in == HN_CELL_QUOTED) {
        s->in = c == '"' ? HN_CELL_CLOSED : HN_CELL_QUOTED;
        return HN_TABLE_NOTHING;
    }
    if (c == '\n') {
        s->is_after_return = false;
        return end_record(s, begin);
    }
    if (s->is_after_return) {
        *wrong = "expected a line end after a carriage return";
        return HN_TABLE_WRONG;
    }
    if (c == s->separator) {
        s->in = HN_CELL_BEGIN;
        return HN_TABLE_NOTHING;
    }
    s->is_after_return = c == '\r';
    if (s->is_after_return)
        return HN_TABLE_NOTHING;
    if (c == '"' && (s->in == HN_CELL_BEGIN || s->in == HN_CELL_CLOSED)) {
        s->quote = s->in == HN_CELL_BEGIN ? at : s->quote;
        s->in = HN_CELL_QUOTED;
        return HN_TABLE_NOTHING;
    }
    *wrong = c == '"' ? "expected no quote inside of a cell without quotes around it (RFC 4180)"
                      : "expected the next cell after a closing quote";
    if (s->in == HN_CELL_CLOSED || c == '"')
        return HN_TABLE_WRONG;
    s->in = HN_CELL_PLAIN;
    return HN_TABLE_NOTHING;
}

hn_table_event hn_table_finish(hn_table_scanner *s, size_t *begin, const char **wrong)
{
    if (s->in == HN_CELL_QUOTED) {
        *wrong = "expected a closing quote, found the end of the file";
        return HN_TABLE_WRONG;
    }
    return s->has_record ? end_record(s, begin) : HN_TABLE_NOTHING;
}

/* The next cell of a record, without its quotes; false: there is none. */
static bool next_cell(hn_span record, char separator, size_t *at, hn_str *out)
{
    const char *text = record.data;
    hn_str_clear(out);
    if (*at > record.bytes)
        return false;
    if (*at == record.bytes || text[*at] != '"') {
        const char *end = memchr(text + *at, separator, record.bytes - *at);
        const size_t n = (end ? (size_t)(end - text) : record.bytes) - *at;
        hn_str_add_bytes(out, text + *at, n);
        *at += n + 1;
        return true;
    }
    for (++*at; *at < record.bytes; ++*at) {
        if (text[*at] == '"' && *at + 1 < record.bytes && text[*at + 1] == '"')
            ++*at;
        else if (text[*at] == '"')
            break;
        hn_str_add_char(out, text[*at]);
    }
    *at += 2; /* the quote and the separator */
    return true;
}

static hn_status check_cell(const char *name, const hn_str *cell)
{
    HN_TRY(hn_str_status(cell));
    const size_t whole = hn_utf8_whole(cell->text, cell->length);
    HN_REQUIRE(whole == cell->length, HN_ERR_FORMAT, "column %s: expected UTF-8, found byte 0x%02x", name,
               (unsigned char)cell->text[whole]);
    return HN_OK;
}

static hn_status add_name(hn_table *table, hn_heap *heap, const hn_str *cell)
{
    HN_TRY(check_cell("names", cell));
    HN_REQUIRE(cell->length, HN_ERR_FORMAT,
               "column %zu: expected a name in the header, found none", table->n + 1);
    for (size_t i = 0; i < table->n; i++)
        HN_REQUIRE(strcmp(table->names[i], cell->text), HN_ERR_FORMAT,
                   "column %zu: expected another name than column %zu's, found '%s' again",
                   table->n + 1, i + 1, cell->text);
    HN_REQUIRE(table->n < HN_TABLE_MOST_COLUMNS, HN_ERR_FORMAT,
               "expected at most %d columns, found more", HN_TABLE_MOST_COLUMNS);
    table->names[table->n] = hn_strdup(heap, HN_TAG_FILE, cell->text);
    return table->names[table->n++] ? HN_OK : HN_ERR_MEMORY;
}

hn_status hn_table_read_header(hn_table *table, hn_heap *heap, char separator, hn_span record)
{
    hn_str cell = hn_str_on(heap);
    hn_status status = HN_OK;
    table->separator = separator;
    table->names = hn_alloc_array(heap, HN_TAG_FILE, HN_TABLE_MOST_COLUMNS, sizeof *table->names);
    if (!table->names)
        return HN_ERR_MEMORY;
    for (size_t at = 0; status == HN_OK && next_cell(record, separator, &at, &cell);)
        status = add_name(table, heap, &cell);
    hn_str_free(&cell);
    return status;
}

void hn_table_free(hn_table *table, hn_heap *heap)
{
    for (size_t i = 0; i < table->n; i++)
        hn_free(heap, table->names[i]);
    hn_free(heap, table->names);
    *table = (hn_table){ 0 };
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

/* A number, as a column of scores has it. */
static bool is_bare(const hn_str *cell)
{
    return cell->length && strspn(cell->text, "+-0123456789.eE") == cell->length;
}

/* Truth as JSON, Python and spreadsheets write it; NULL: none. */
static const char *truth_of(const hn_str *cell)
{
    static const char *const forms[] = { "true", "True", "TRUE", "false", "False", "FALSE" };
    for (int i = 0; i < 6; i++)
        if (!strcmp(cell->text, forms[i]))
            return forms[i / 3 * 3];
    return NULL;
}

static hn_status write_cell(const char *name, hn_heap *heap, const hn_str *cell, hn_json_writer *json)
{
    static const char *const values[] = { "messages", "conversations", "tools",   "history",
                                          "ids",      "weights",       "weight", NULL };
    static const char *const texts[] = { "text",     "prompt",  "completion", "instruction",
                                         "input",    "context", "output",     "response",
                                         "question", "system",  "chosen",     "rejected",
                                         "system_prompt", NULL };
    const bool is_value = is_one_of(name, values), is_text = is_one_of(name, texts);
    const bool is_list = is_text && !strncmp(cell->text, "[{", 2);
    HN_TRY(check_cell(name, cell));
    hn_json_key(json, name);
    if ((is_value || !is_text) && !cell->length) {
        hn_json_add_null(json);
        return HN_OK;
    }
    const char *truth = is_value || is_text ? NULL : truth_of(cell);
    if (truth) {
        hn_json_add_bool(json, *truth == 't');
        return HN_OK;
    }
    if (!is_value && !is_list && (is_text || !is_bare(cell))) {
        hn_json_add_string(json, cell->text);
        return HN_OK;
    }
    hn_json_text *value = NULL;
    const hn_status status = hn_json_read(heap, name, cell->text, cell->length, &value);
    hn_json_free(value);
    if (status == HN_OK) {
        hn_json_add_json(json, cell->text, cell->length);
        return HN_OK;
    }
    if (status == HN_ERR_FORMAT && !is_value && !is_list) { /* 1-2, +7: words after all */
        hn_json_add_string(json, cell->text);
        return HN_OK;
    }
    return hn_fail_within(status, "column %s: expected JSON%s: ", name,
                          is_list ? ", since it begins as a list of messages" : "");
}

hn_status hn_table_write_json(const hn_table *table, hn_heap *heap, hn_span record, hn_str *out)
{
    hn_str cell = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(out);
    hn_status status = HN_OK;
    size_t n = 0;
    hn_json_begin_object(&json);
    for (size_t at = 0; status == HN_OK && next_cell(record, table->separator, &at, &cell); n++)
        if (n < table->n)
            status = write_cell(table->names[n], heap, &cell, &json);
    hn_json_end_object(&json);
    hn_str_free(&cell);
    HN_TRY(status);
    HN_REQUIRE(n == table->n, HN_ERR_FORMAT, "expected %zu cells, as the header has, found %zu",
               table->n, n);
    return hn_str_status(out);
}
