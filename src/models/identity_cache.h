/* identity_cache.h: identities that were computed before, each in a small file under the files that it
 * is of: device, inode, size, and the times of the last change of bytes and of the inode, the last of
 * which no program can set. A file in the cache that is not this user's, that others may write, or
 * that does not say exactly this, is none. */
#ifndef HN_MODELS_IDENTITY_CACHE_H
#define HN_MODELS_IDENTITY_CACHE_H

#include "base/heap.h"
#include "base/map_file.h"

enum { HN_IDENTITY_FILES = 1024 };

bool hn_identity_recall(hn_heap *heap, const char *folder, const hn_file_stamp *files, int n,
                        uint8_t numbers[32]);
/* What cannot be written is not kept, and no failure. Nor is it kept of files that changed in the last
 * seconds: they could change again within what a clock tells apart. */
void hn_identity_record(const char *folder, const hn_file_stamp *files, int n,
                        const uint8_t numbers[32]);

#endif
