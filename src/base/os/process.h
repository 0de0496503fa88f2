/* process.h: this process and the machine that it is on. */
#ifndef HN_BASE_OS_PROCESS_H
#define HN_BASE_OS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

long hn_os_process_id(void); /* another in a child of fork */
int hn_os_processors(void);  /* that are online, at least 1 */
void hn_os_machine(char *out, size_t room);   /* the system, its release and the processor's kind */
void hn_os_host_name(char *out, size_t room); /* "" if it has none */
bool hn_os_random(uint64_t *out);             /* without waiting; false: there is none */
/* Whether this process may use the registers of a matrix unit (tmm.h). A system gives them to whoever asks, which is done if it
 * `asks`: from then on a thread's stack for signals has to have room for them, and where one has not it is refused. Asked again,
 * it is the same. */
bool hn_os_matrix_unit(bool asks);

#endif
