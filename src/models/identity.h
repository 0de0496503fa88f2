/* identity.h: what tells one model from another: a SHA-256 over its architecture, the numbers that its
 * arithmetic depends on, and every byte of every tensor, with name, type and shape, in canonical order.
 * So a directory and the GGUF made of it have one, and nothing that changes a result can be changed
 * without changing it.
 *
 * Tensors are hashed in leaves of about a megabyte, on several threads; it reads the whole model. So it
 * can be begun in the background, and kept in a folder under what the files are: device, inode, size
 * and times. */
#ifndef HN_MODELS_IDENTITY_H
#define HN_MODELS_IDENTITY_H

#include "models/model.h"

/* Where it may be kept; NULL: nowhere. Before it is asked for. */
void hn_model_keep_identity(const hn_model *model, const char *folder_or_null);

/* Begins to compute it on threads of its own; n_threads: 0 is one for each processor. Once. */
hn_status hn_model_begin_identity(const hn_model *model, int n_threads);

/* It: known, waited for, or computed here and now. 64 hexadecimal digits. */
hn_status hn_model_identity(const hn_model *model, char text[65]);

/* HN_ERR_IO if a file of the model is no longer what it was when it was opened; where only times say
 * so its bytes decide. The identity must have been asked for before. */
hn_status hn_model_unchanged(const hn_model *model);

/* For model.c. */
typedef struct hn_identity hn_identity;
hn_status hn_identity_new(hn_identity **out, hn_heap *heap);
void hn_identity_free(hn_identity *identity); /* takes NULL; ends what is being computed */

#endif
