/* message_fields.h: what lies within the messages, items and blocks of a body, held to the tables of their fields. What is of a type that has
 * no table is left to whom it is translated by, which refuses it by its type. */
#ifndef HN_SERVER_MESSAGE_FIELDS_H
#define HN_SERVER_MESSAGE_FIELDS_H

#include "server/fields.h"

bool hn_check_chat_messages(const hn_json *messages, hn_failure *why);
/* messages, system, metadata and what they say of beginnings. */
bool hn_check_anthropic_body(const hn_json *body, hn_failure *why);
bool hn_check_ollama_messages(const hn_json *messages, hn_failure *why);
/* Item `number` of `input`. */
bool hn_check_item(const hn_json *item, size_t number, hn_failure *why);

#endif
