/* refuse.h: the kinds of calls that refuse.c lets fail, in the order of its report. */
#ifndef TESTS_FAULT_PRELOAD_REFUSE_H
#define TESTS_FAULT_PRELOAD_REFUSE_H

enum { REFUSE_N_KINDS = 8 };
#define REFUSE_KINDS "memory", "map", "open", "read", "write", "rename", "close", "thread"

#endif
