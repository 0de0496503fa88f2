/* hone.h: all of hone's public functions. */
#ifndef HONE_HONE_H
#define HONE_HONE_H

#include "hone/adapter.h"
#include "hone/archs.h"
#include "hone/array.h"
#include "hone/batch.h"
#include "hone/chat.h"
#include "hone/devices.h"
#include "hone/draft.h"
#include "hone/scheduler.h"
#include "hone/embed.h"
#include "hone/engine.h"
#include "hone/eval.h"
#include "hone/examples.h"
#include "hone/files.h"
#include "hone/finetune.h"
#include "hone/grammar.h"
#include "hone/graph.h"
#include "hone/model.h"
#include "hone/plan.h"
#include "hone/prove.h"
#include "hone/run.h"
#include "hone/sampler.h"
#include "hone/session.h"
#include "hone/settings.h"
#include "hone/status.h"
#include "hone/tensor.h"
#include "hone/tokenizer.h"
#include "hone/train.h"
#include "hone/version.h"

#endif
