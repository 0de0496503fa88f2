/* check_state.h: a state is read at the version that the graph says, before and after updates. */
#ifndef HN_PROVE_CHECK_STATE_H
#define HN_PROVE_CHECK_STATE_H

#include "prove/env.h"

hn_status hn_check_state(hn_prove_env *env);

#endif
