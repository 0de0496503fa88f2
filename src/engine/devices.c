/* Devices and what they have kernels for, for hosts. */
#include "base/isa.h"
#include "engine/lm.h"
#include "hone/devices.h"
#include "prove/case.h"

#include <string.h>

const char *hn_engine_level(int32_t i)
{
    HN_ENTER();
    hn_isa host;
    if (i < 0 || hn_isa_available(&host) != HN_OK)
        return NULL;
    if (!i)
        return "ref";
    for (int k = 0; k < HN_N_LEVELS; k++)
        if (host & hn_isa_level(k).bit && --i == 0)
            return hn_isa_level(k).name;
    return NULL;
}

const char *hn_engine_device(const hn_engine *engine, int32_t i)
{
    HN_ENTER();
    return engine && i >= 0 && i < engine->n_devices ? engine->devices[i]->name : NULL;
}

static hn_status want_device(const hn_engine *engine, int32_t i, hn_device **out)
{
    HN_REQUIRE(engine, HN_ERR_ARGUMENT, "expected an engine, found NULL");
    HN_REQUIRE(i >= 0 && i < engine->n_devices, HN_ERR_ARGUMENT, "device %d of %d", i, engine->n_devices);
    *out = engine->devices[i];
    return hn_engine_check(engine);
}

hn_status hn_engine_device_about(const hn_engine *engine, int32_t i, char *to, size_t room, size_t *bytes)
{
    HN_ENTER();
    hn_device *device = NULL;
    char text[128];
    HN_TRY(want_device(engine, i, &device));
    device->backend->describe(device, text, sizeof text);
    return hn_give_text(text, strlen(text), to, room, bytes);
}

/* ---- ops ---- */

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

static hn_status add_word(const hn_op *op, char *list, size_t room, const char *word)
{
    const size_t used = strlen(list), n = strlen(word);
    if (has_word(list, word))
        return HN_OK;
    HN_REQUIRE(used + n + 2 < room, HN_ERR_UNSUPPORTED, "%s: more types than a line has room for", op->name);
    if (used)
        list[used] = ',';
    memcpy(list + used + (used > 0), word, n + 1);
    return HN_OK;
}

/* Whether a case of an op has a kernel; the type that it is known by. */
static hn_status look_at_case(const hn_device *device, const hn_op *op, const char *text, bool *has_kernel,
                              const char **type)
{
    hn_case c;
    hn_tensor in[HN_MAX_IN], result[HN_MAX_OUT];
    hn_type types[HN_MAX_OUT];
    hn_input_info outputs[HN_MAX_OUT];
    hn_support support;
    int64_t view_at;
    char attrs[512] = { 0 };
    HN_TRY(hn_case_parse(op, text, &c));
    HN_TRY(hn_attrs_parse(op->name, op->attrs, c.attrs, attrs));
    hn_call call = { .op = op, .attrs = attrs, .n_in = hn_op_n_in(op) };
    for (int k = 0; k < c.n_in; k++)
        if (c.in[k].is_given) {
            in[k] = hn_tensor_at(&c.in[k].type, NULL);
            call.in[k] = &in[k];
        }
    HN_TRY(hn_call_infer(&call, types, &view_at));
    call.n_out = hn_op_outputs(op, outputs);
    for (int o = 0; o < call.n_out; o++) {
        result[o] = hn_tensor_at(&types[o], NULL);
        call.out[o] = &result[o];
    }
    device->backend->supports(device, &call, &support);
    const int weight = c.n_in > 1 && c.in[1].is_given && hn_is_block(c.in[1].type.dtype);
    *has_kernel = support.has_kernel;
    *type = hn_dtype_name(c.in[weight].type.dtype);
    return HN_OK;
}

int32_t hn_device_ops(void)
{
    HN_ENTER();
    int32_t n = 0;
    while (hn_ops[n])
        n++;
    return n;
}

hn_status hn_device_op_at(const hn_engine *engine, int32_t device, int32_t i, hn_device_op *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_device_op, out, to, size);
    hn_device *on = NULL;
    const int32_t n = hn_device_ops();
    HN_REQUIRE(to && i >= 0 && i < n, HN_ERR_ARGUMENT, "op %d of %d", i, n);
    HN_TRY(want_device(engine, device, &on));
    const hn_op *op = hn_ops[i];
    *out = (hn_device_op){ .name = op->name, .is_view = op->view_of != 0 };
    for (int k = 0; op->cases && op->cases[k]; k++) {
        bool has_kernel;
        const char *type;
        HN_TRY(look_at_case(on, op, op->cases[k], &has_kernel, &type));
        HN_TRY(has_kernel ? add_word(op, out->with, sizeof out->with, type)
                          : add_word(op, out->without, sizeof out->without, type));
    }
    return HN_OK;
}
