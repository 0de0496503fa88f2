/* reference.h: ops against numbers from another program, in text files made by a script.
 *
 *     case gqa with sinks                      what follows, in messages
 *     op attention softcap=2                   the op, and its attributes
 *     in f32[2,3] 1 2 3 4 5 6                  its inputs in order; "in -" for one left out
 *     out 0 f32[2] 1 2                         what output 0 must be
 *     factor 0 f32[2] 1 2                      the loss is the sum of outputs times factors
 *     grad 1 f32[2,3] 1 2 3 4 5 6              the loss's slope by input 1
 *
 * Floats must agree within sixteen times the op's tolerance, relative to the largest magnitude
 * of the reference tensor; integers exactly. */
#ifndef TESTS_DIFFERENTIAL_REFERENCE_H
#define TESTS_DIFFERENTIAL_REFERENCE_H

/* Checks every case of a file on the CPU. */
void reference_check(const char *path);

#endif
