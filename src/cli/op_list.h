/* op_list.h: what `hone op --list` prints, from the descriptors alone. */
#ifndef HN_CLI_OP_LIST_H
#define HN_CLI_OP_LIST_H

#include "base/heap.h"

#include <stdio.h>

hn_status hn_op_list_print(hn_heap *heap, bool json, FILE *out);

#endif
