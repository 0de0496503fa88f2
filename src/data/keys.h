/* keys.h: which keys of an example are read, and which are known to change nothing. Any other that
 * carries words is refused by name: words that nothing reads are not trained, and nobody would
 * know. Numbers and truth values carry none; those of a key by which others say what is trained are refused too. */
#ifndef HN_DATA_KEYS_H
#define HN_DATA_KEYS_H

#include "data/record.h"

/* Whether there is a text that is not blank anywhere in the value; takes NULL. */
bool hn_json_has_words(const hn_json *value_or_null);
/* Ids, origins, labels of whom and when, which no template is meant to write. */
bool hn_key_is_note(const char *key);

/* The keys of an example of this format. */
hn_status hn_keys_check(const hn_json *example, hn_data_format format,
                        const hn_record_options *options);
/* The keys of a part of it: `used` are those that are read, with a blank between. */
hn_status hn_keys_check_part(const hn_json *part, const char *what, const char *used,
                             const hn_record_options *options);
/* Of a message, whose words are asked of the template (data/unread.h), only what says whether it is trained. */
hn_status hn_keys_check_message(const hn_json *message, const hn_record_options *options);

#endif
