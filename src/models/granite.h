/* granite.h: what granite and granitemoe share. */
#ifndef HN_MODELS_GRANITE_H
#define HN_MODELS_GRANITE_H

#include "models/models.h"

hn_status hn_granite_multipliers(const hn_json *config, hn_hparams *hp);
hn_status hn_granite_defaults(hn_hparams *hp);

#endif
