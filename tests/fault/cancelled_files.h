/* cancelled_files.h: the others of cancelled_calls.h: on texts, grammars, graphs and files. */
#ifndef TESTS_FAULT_CANCELLED_FILES_H
#define TESTS_FAULT_CANCELLED_FILES_H

#include "tests/fault/cancelled_calls.h"

extern const cancelled_call cancelled_files[];
extern const size_t n_cancelled_files;

#endif
