/* An engine by these options, known to the handler of signals, so that Ctrl-C ends what it is computing. */
#include "cli/machine_options.h"

#include "cli/interrupt.h"

hn_status hn_machine_engine(const hn_machine_args *args, hn_engine **out) { return hn_machine_engine_within(args, 0, out); }

hn_status hn_machine_engine_within(const hn_machine_args *args, size_t bytes, hn_engine **out)
{
    const hn_engine_options o = { .size = sizeof o, .devices = args->device, .isa = args->isa,
                                  .n_threads = (int32_t)args->threads, .experts = args->experts, .fit = args->fit,
                                  .stream = args->stream, .memory_limit = bytes };
    HN_TRY(hn_engine_new(out, &o));
    hn_interrupt_engine(*out);
    return HN_OK;
}

void hn_machine_engine_free(hn_engine *engine)
{
    hn_interrupt_engine(NULL);
    hn_engine_free(engine);
}

hn_status hn_machine_numerics(const hn_machine_args *args, hn_lm_numerics *out)
{
    return hn_lm_numerics_named(args->numerics, out);
}
