/* hone.h: all of hone's public functions. */
#ifndef HONE_HONE_H
#define HONE_HONE_H

#include "hone/engine.h"
#include "hone/finetune.h"
#include "hone/graph.h"
#include "hone/run.h"
#include "hone/status.h"
#include "hone/tensor.h"
#include "hone/train.h"

#endif
