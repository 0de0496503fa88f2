/* pair.h: preference pairs: two sequences that begin alike. */
#ifndef HN_DATA_PAIR_H
#define HN_DATA_PAIR_H

#include "data/record.h"

/* {"chosen", "rejected"} with a prompt under one of its names, or within both. */
hn_status hn_pair_read_preference(hn_record *record, const hn_json *example,
                                  const hn_record_options *options);
/* OpenAI's {"input", "preferred_output", "non_preferred_output"}. */
hn_status hn_pair_read_preferred(hn_record *record, const hn_json *example,
                                 const hn_record_options *options);

#endif
