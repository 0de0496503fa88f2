/* resident.h: copies of the host's memory on devices that cannot see it, one a device for whoever binds the
 * same bytes: a model is uploaded once, and what is trained is one thing for all graphs that read it. */
#ifndef HN_BACKEND_RESIDENT_H
#define HN_BACKEND_RESIDENT_H

#include "backend/backend.h"

/* The copy of `bytes` at `data`, uploaded when it is the first time. */
hn_status hn_resident_take(hn_device *device, const void *data, size_t bytes, hn_buffer *out);
/* Whether there is one. */
bool hn_resident_has(const hn_device *device, const void *data, size_t bytes);
/* The last who gives it back frees it. `changed`: programs updated it, so that the host's memory gets what
 * became of it; where the device cannot be read any more, bytes that are no number in any float type. */
void hn_resident_give(hn_device *device, const void *data, size_t bytes, bool changed);

/* Memory of the host's, made equal to a device's copy, and the copies equal to it; of memory that has no
 * copy anywhere nothing is done. `data`: as it was bound. */
hn_status hn_resident_pull(void *data, size_t bytes);
hn_status hn_resident_push(const void *data, size_t bytes);

#endif
