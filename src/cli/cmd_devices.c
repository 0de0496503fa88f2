/* hone devices: what this machine can compute on; --ops: which ops have kernels there. */
#include "backend/backend.h"
#include "base/isa.h"
#include "cli/command.h"
#include "cli/machine.h"
#include "ops/ops.h"
#include "prove/case.h"

#include <string.h>

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

/* Whether a list of words with commas between holds this one: f16 is not in "bf16". */
static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list; *at; at += strspn(at, ",")) {
        const size_t n = strcspn(at, ",");
        if (n == length && !memcmp(at, word, n))
            return true;
        at += n;
    }
    return false;
}

/* Which of an op's cases have a kernel: types of the first input, as words. */
static hn_status print_op(hn_heap *heap, const hn_device *device, const hn_op *op, FILE *out)
{
    (void)heap;
    char with[512] = "", without[512] = "";
    for (int i = 0; op->cases && op->cases[i]; i++) {
        hn_case c;
        hn_tensor in[HN_MAX_IN], result[HN_MAX_OUT];
        hn_type types[HN_MAX_OUT];
        char attrs[512] = { 0 };
        HN_TRY(hn_case_parse(op, op->cases[i], &c));
        HN_TRY(hn_attrs_parse(op->name, op->attrs, c.attrs, attrs));
        hn_call call = { .op = op, .attrs = attrs, .n_in = hn_op_n_in(op) };
        for (int k = 0; k < c.n_in; k++)
            if (c.in[k].is_given) {
                in[k] = hn_tensor_at(&c.in[k].type, NULL);
                call.in[k] = &in[k];
            }
        int64_t view_at;
        hn_input_info outputs[HN_MAX_OUT];
        HN_TRY(hn_call_infer(&call, types, &view_at));
        call.n_out = hn_op_outputs(op, outputs);
        for (int o = 0; o < call.n_out; o++) {
            result[o] = hn_tensor_at(&types[o], NULL);
            call.out[o] = &result[o];
        }
        hn_support support;
        device->backend->supports(device, &call, &support);
        char *list = support.has_kernel ? with : without;
        const int weight = c.n_in > 1 && c.in[1].is_given && hn_is_block(c.in[1].type.dtype);
        const char *type = hn_dtype_name(c.in[weight].type.dtype);
        if (!has_word(list, type)) {
            HN_REQUIRE(strlen(list) + strlen(type) + 2 < sizeof with, HN_ERR_UNSUPPORTED,
                       "%s: more types than a line has room for", op->name);
            strcat(list, *list ? "," : "");
            strcat(list, type);
        }
    }
    fprintf(out, "  %-22s %-34s %s\n", op->name,
            op->view_of ? "(a view: no kernel needed)" : *with ? with : "-",
            op->view_of ? "-" : *without ? without : "-");
    return HN_OK;
}

static hn_status print_levels(FILE *out)
{
    hn_isa host;
    HN_TRY(hn_isa_available(&host));
    fputs("ref\n", out);
    for (int i = 0; i < HN_N_LEVELS; i++)
        if (host & hn_isa_level(i).bit)
            fprintf(out, "%s\n", hn_isa_level(i).name);
    return HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands, (void)operands;
    const devices_args *args = parsed;
    if (args->levels)
        return print_levels(out);
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_machine machine;
    HN_TRY(hn_machine_open(&machine, &heap, &args->machine));
    hn_device **devices = machine.devices;
    hn_status status = HN_OK;
    for (int d = 0; d < machine.run.n_devices && status == HN_OK; d++) {
        char text[128];
        devices[d]->backend->describe(devices[d], text, sizeof text);
        fprintf(out, "%s: %s\n", devices[d]->name, text);
        if (!args->ops)
            continue;
        fprintf(out, "  %-22s %-34s %s\n", "op", "kernels for", "by the op's own forward");
        for (int i = 0; hn_ops[i] && status == HN_OK; i++)
            status = print_op(&heap, devices[d], hn_ops[i], out);
    }
    hn_machine_close(&machine);
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
