/* memory.h: what this process may still take: of the machine, of the groups it was put in, and of
 * its own address space. */
#ifndef HN_BASE_OS_MEMORY_H
#define HN_BASE_OS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hn_free_memory {
    size_t physical; /* before anything is swapped out or killed: what the kernel calls available, or
                      * what the limit of a group leaves, pages of files not counted */
    size_t address;  /* that may still be asked for, by the process's own limits; SIZE_MAX: any */
} hn_free_memory;

hn_free_memory hn_memory_free(void);
/* Of the machine, whoever has it; SIZE_MAX: nobody knows. */
size_t hn_memory_total(void);
#if !defined(_WIN32)
/* The same of a machine whose /proc and /sys stand under `root`: for tests. */
hn_free_memory hn_memory_free_under(const char *root);
#endif

#endif
