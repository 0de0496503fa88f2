/* version.h: which libhone this is.
 *
 * Within one HN_VERSION_MAJOR above 0, what was compiled against an older minor version runs with a newer one:
 * functions, values and fields are added, never changed or taken away (tools/abi.sh and tools/check-layouts.sh hold it),
 * and structs have grown at their end: of those that begin with their size a shorter one is taken with defaults for the
 * rest, a longer one if what is behind the library's is zero; of those whose size is given beside them, what there is room
 * for is filled, and zeros after it. While it is 0 a minor version may change more. */
#ifndef HONE_VERSION_H
#define HONE_VERSION_H

#include "hone/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HN_VERSION_MAJOR 0
#define HN_VERSION_MINOR 3
#define HN_VERSION_PATCH 0
/* For #if: 300 is 0.3.0. */
#define HN_VERSION_NUMBER (HN_VERSION_MAJOR * 10000 + HN_VERSION_MINOR * 100 + HN_VERSION_PATCH)

/* Of the library that runs, and how it was built. */
HN_API const char *hn_version(void);

#ifdef __cplusplus
}
#endif

#endif
