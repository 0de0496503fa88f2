/* devices.h: what there is to compute on, and what it has kernels for. */
#ifndef HONE_DEVICES_H
#define HONE_DEVICES_H

#include "hone/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This processor's levels of instructions, as hn_engine_options.isa takes them: "ref" first. They have no numbers: several can be
 * asked for together, other processors have others, and one more is a line of the library's table. They live for ever.
 * NULL: past the last. */
HN_API const char *hn_engine_level(int32_t i);

/* The devices of an engine; names live as long as it. NULL: past the last. */
HN_API const char *hn_engine_device(const hn_engine *engine, int32_t i);
/* What it is, in words, as hn_lm_meta gives a text. */
HN_API hn_status hn_engine_device_about(const hn_engine *engine, int32_t i, char *to, size_t room, size_t *bytes);

/* An op, by the types of its cases: "f32,bf16". */
typedef struct hn_device_op {
    const char *name; /* lives for ever */
    int32_t is_view;  /* it moves nothing, and needs no kernel */
    char with[512];   /* types that the device has kernels for */
    char without[512]; /* and those that go by the op's own forward */
} hn_device_op;

HN_API int32_t hn_device_ops(void); /* how many there are */
HN_API hn_status hn_device_op_at(const hn_engine *engine, int32_t device, int32_t i, hn_device_op *out,
                                  size_t size);

#ifdef __cplusplus
}
#endif
#endif
