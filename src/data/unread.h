/* unread.h: what of a conversation its template does not write: tools, calls, reasoning, a message.
 * It would be trained on as if it were not there. */
#ifndef HN_DATA_UNREAD_H
#define HN_DATA_UNREAD_H

#include "data/example.h"

/* `text` is the conversation as it was rendered. Sets example->unread to the first thing that is
 * missing in it, and leaves it if nothing is. */
hn_status hn_unread_find(hn_example *example, const hn_example_rule *rule,
                         const hn_record_part *part, const hn_str *text);

#endif
