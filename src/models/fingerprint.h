/* fingerprint.h: what tells one model from another: a SHA-256 over its numbers and, of every
 * tensor, name, shape and elements at a hundred places spread over it, decoded and in canonical
 * order. So a directory and a file made of it, of the same types, have the same one; a model that
 * was trained further or quantised otherwise has another. Reads a few pages of each tensor. */
#ifndef HN_MODELS_FINGERPRINT_H
#define HN_MODELS_FINGERPRINT_H

#include "models/model.h"

hn_status hn_model_fingerprint(const hn_model *model, uint8_t digest[32]);

#endif
