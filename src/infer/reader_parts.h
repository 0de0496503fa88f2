/* reader_parts.h: what a reader is made of. Private to the reader's files. */
#ifndef HN_INFER_READER_PARTS_H
#define HN_INFER_READER_PARTS_H

#include "infer/reader.h"

typedef enum hn_reader_phase {
    HN_READS_TEXT,
    HN_READS_SECTION, /* between calls, after what opens them */
    HN_READS_OBJECT,  /* {"name": ..., "arguments": ...} */
    HN_READS_NAME,
    HN_READS_VALUE, /* arguments as JSON */
    HN_READS_END,   /* what comes after arguments */
    HN_READS_BODY,  /* parameters as elements */
    HN_READS_KEY,
    HN_READS_ELEMENT,
    HN_READS_WORDS, /* a call in another notation, read once it is whole */
    HN_READS_HEADER /* of a message */
} hn_reader_phase;

typedef enum hn_object_place {
    HN_AT_KEY,
    HN_IN_KEY,
    HN_AT_COLON,
    HN_AT_VALUE,
    HN_IN_NAME,
    HN_IN_ID,
    HN_IN_ARGUMENTS,
    HN_IN_ARGUMENT_TEXT,
    HN_IN_OTHER,
    HN_AFTER_VALUE
} hn_object_place;

/* Where a JSON value ends, by its brackets and strings. */
typedef struct hn_value_scan {
    int32_t depth;
    bool has_begun, in_string, is_escaped;
} hn_value_scan;

struct hn_reader {
    hn_heap *heap;
    hn_reader_options o;
    hn_reader_ear ear;
    hn_status status;
    hn_reader_phase phase;
    hn_voice voice;
    bool is_blank;   /* nothing but white space was answered so far */
    bool is_trimmed; /* the voice has just changed, or a call has ended: line ends are left out */
    bool is_bare;    /* the call has no mark before it: it is one if it names a tool */
    bool is_unsaid;  /* a message that is not for the reader's own */
    bool is_first;   /* a header whose beginning is the prompt's */
    bool is_list, is_told, has_arguments, had_call;
    hn_str said;   /* not yet given out */
    hn_str blanks; /* white space before an answer, or at the end of a thought */
    hn_str held;   /* may become a mark */
    hn_str raw;    /* since a call's first mark, until its name is told */
    hn_str name, id, key, word, arguments;
    int32_t index, nesting;
    hn_object_place place;
    hn_value_scan value;
    char quote; /* that a text in words is in: " ' or <, for <|"|>; 0: none */
};

/* ---- reader.c ---- */
void hn_reader_feed(hn_reader *r, char c);
void hn_reader_say(hn_reader *r, const char *text, size_t bytes);
/* The call has a name: from here on it is one. */
void hn_reader_tell(hn_reader *r);
void hn_reader_give(hn_reader *r, const char *arguments, size_t bytes);
void hn_reader_end_call(hn_reader *r);
/* It was no call after all: what was taken for one is text. */
void hn_reader_abandon(hn_reader *r);
void hn_reader_end_section(hn_reader *r);
bool hn_reader_has_tool(const hn_reader *r, const char *name);
/* The schema of a tool's parameter, or NULL. */
const hn_json *hn_reader_schema(const hn_reader *r, const char *name, const char *parameter);

typedef enum hn_value_step { HN_VALUE_GOES_ON, HN_VALUE_ENDS_WITH, HN_VALUE_ENDS_BEFORE } hn_value_step;
hn_value_step hn_value_feed(hn_value_scan *v, char c);
/* The text of a JSON string, with its quotes. */
hn_status hn_reader_unquote(hn_reader *r, const hn_str *quoted, hn_str *to);
void hn_reader_quote(hn_str *to, const char *text, size_t bytes);
bool hn_reader_ends(const hn_str *text, const char *end);
/* Frees a text on the way; what it was refused, the reader was. */
void hn_reader_drop(hn_reader *r, hn_str *text);
bool hn_reader_is_name(const hn_str *text);

/* ---- one file a form ---- */
void hn_reader_begin_object(hn_reader *r);
void hn_reader_object(hn_reader *r, char c);
void hn_reader_named(hn_reader *r, char c);   /* NAME, VALUE, END */
void hn_reader_elements(hn_reader *r, char c); /* BODY, KEY, ELEMENT; NAME of xml */
void hn_reader_words(hn_reader *r, char c);
void hn_reader_header(hn_reader *r, char c);

#endif
