/* A number's word, as the library gives it. */
#include "cli/choices.h"

#include "hone/embed.h"
#include "hone/plan.h"
#include "hone/run.h"
#include "hone/session.h"

const char *hn_cache_word(int32_t i) { return hn_lm_cache_name((hn_lm_cache)i); }

const char *hn_plan_word(int32_t i) { return hn_exec_plan_name((hn_exec_plan)i); }

const char *hn_planned_word(int32_t i) { return hn_lm_plan_kind_name((hn_lm_plan_kind)i); }

const char *hn_pooling_word(int32_t i) { return hn_lm_pooling_name((hn_lm_pooling)i); }
