/* hone devices: what this machine can compute on; --ops: which ops have kernels there. */
#include "cli/command.h"
#include "cli/machine_options.h"
#include "hone/devices.h"

typedef struct devices_args {
    hn_machine_args machine;
    bool ops, levels;
} devices_args;

static const hn_option options[] = {
    HN_DEVICE_OPTIONS(devices_args),
    HN_FLAG(devices_args, levels, "levels", "print this processor's levels of instructions, a line each"),
    HN_FLAG(devices_args, ops, "ops", "print the ops, element types and kernels of each device"),
    HN_OPTION_END,
};

static hn_status print_ops(const hn_engine *engine, int32_t device, FILE *out)
{
    fprintf(out, "  %-22s %-34s %s\n", "op", "kernels for", "by the op's own forward");
    for (int32_t i = 0; i < hn_device_ops(); i++) {
        hn_device_op op;
        HN_TRY(hn_device_op_at(engine, device, i, &op, sizeof op));
        fprintf(out, "  %-22s %-34s %s\n", op.name,
                op.is_view ? "(a view: no kernel needed)" : *op.with ? op.with : "-",
                op.is_view ? "-" : *op.without ? op.without : "-");
    }
    return HN_OK;
}

static hn_status print_devices(const hn_engine *engine, bool ops, FILE *out)
{
    const char *name;
    for (int32_t i = 0; (name = hn_engine_device(engine, i)); i++) {
        char text[128];
        HN_TRY(hn_engine_device_about(engine, i, text, sizeof text, NULL));
        fprintf(out, "%s: %s\n", name, text);
        if (ops)
            HN_TRY(print_ops(engine, i, out));
    }
    return HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands, (void)operands;
    const devices_args *args = parsed;
    const char *level;
    hn_engine *engine;
    for (int32_t i = 0; args->levels && (level = hn_engine_level(i)); i++)
        fprintf(out, "%s\n", level);
    if (args->levels)
        return HN_OK;
    HN_TRY(hn_machine_engine(&args->machine, &engine));
    const hn_status status = print_devices(engine, args->ops, out);
    hn_machine_engine_free(engine);
    return status;
}

const hn_command hn_cmd_devices = {
    .name = "devices",
    .operands = "",
    .summary = "show the devices that hone can compute on",
    .example = "devices",
    .options = options,
    .args_size = sizeof(devices_args),
    .run = run,
};
