/* An engine by these options, known to the handler of signals, so that Ctrl-C ends what it is computing. */
#include "cli/machine_options.h"

#include "base/option_value.h"
#include "cli/interrupt.h"

#include <string.h>

hn_status hn_machine_of_host(const hn_machine_args *args, const char *what)
{
    const char *const said = args->device && strcmp(args->device, "cpu") ? "device"
                             : args->experts ? "experts" : args->fit ? "fit" : args->stream ? "stream" : NULL;
    HN_REQUIRE(!said, HN_ERR_ARGUMENT, "--%s: %s is of the machine's processors: expected no device, or cpu", said, what);
    return HN_OK;
}

hn_status hn_machine_memory(const hn_machine_args *args, size_t *out)
{
    *out = 0;
    return args->memory ? hn_memory_parse(args->memory, out) : HN_OK;
}

hn_status hn_machine_engine(const hn_machine_args *args, hn_engine **out)
{
    hn_engine_options o = { .size = sizeof o, .devices = args->device, .isa = args->isa,
                            .n_threads = (int32_t)args->threads, .experts = args->experts, .fit = args->fit,
                            .stream = args->stream };
    *out = NULL;
    HN_TRY(hn_machine_memory(args, &o.memory_limit));
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
