/* version.h: which libhone this is.
 *
 * Within one HN_VERSION_MAJOR above 0, what was compiled against an older minor version runs with a newer one:
 * functions, values and fields are added, never changed or taken away (tools/abi.sh holds it). While it is 0 a
 * minor version may do so. */
#ifndef HONE_VERSION_H
#define HONE_VERSION_H

#include "hone/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HN_VERSION_MAJOR 0
#define HN_VERSION_MINOR 1
#define HN_VERSION_PATCH 0
/* For #if: 100 is 0.1.0. */
#define HN_VERSION_NUMBER (HN_VERSION_MAJOR * 10000 + HN_VERSION_MINOR * 100 + HN_VERSION_PATCH)

/* Of the library that runs, and how it was built. */
HN_API const char *hn_version(void);

#ifdef __cplusplus
}
#endif

#endif
