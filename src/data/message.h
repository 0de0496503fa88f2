/* message.h: messages of every dialect as a chat template wants them. */
#ifndef HN_DATA_MESSAGE_H
#define HN_DATA_MESSAGE_H

#include "data/record.h"

/* Adds OpenAI's messages to `to`; `weights` takes theirs. Content of parts becomes one text. */
hn_status hn_messages_add(hn_record *record, const hn_record_options *options,
                          const hn_json *messages, hn_tree_node *to);
/* ShareGPT's turns. */
hn_status hn_turns_add(hn_record *record, const hn_record_options *options,
                       const hn_json *turns, hn_tree_node *to);
/* One message of a role and a text. */
hn_status hn_message_add_text(hn_record *record, hn_tree_node *to, const char *role,
                              const char *text, size_t bytes);
/* The list of functions: as it stands, or read from a string; bare functions are wrapped. */
hn_status hn_tools_read(hn_record *record, const hn_json *tools_or_null, const hn_json **out);

/* A finite number that is not negative; `otherwise` if there is none. */
hn_status hn_weight_read(const hn_json *holder, float otherwise, float *out);

#endif
