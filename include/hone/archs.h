/* archs.h: the architectures that hone knows, and what each does with the keys of a model's files. */
#ifndef HONE_ARCHS_H
#define HONE_ARCHS_H

#include "hone/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All texts live for ever. */
typedef struct hn_lm_arch {
    const char *name;           /* "llama": general.architecture */
    const char *const *classes; /* of Hugging Face, ended by NULL; those with Model in the place of ForCausalLM, without a head, are read too */
    int32_t runs;               /* 0: it is converted, and no more */
    int32_t embeds;             /* it embeds texts, and generates none */
    int32_t has_bf16;           /* it runs in bf16 numerics too */
} hn_lm_arch;

HN_API int32_t hn_lm_archs(void); /* how many there are */
HN_API hn_status hn_lm_arch_at(int32_t i, hn_lm_arch *out, size_t size);
/* HN_ERR_UNSUPPORTED: there is none of this name. */
HN_API hn_status hn_lm_arch_named(const char *name, hn_lm_arch *out, size_t size);

typedef enum hn_lm_key_use {
    HN_LM_KEY_USED,
    HN_LM_KEY_ONE_VALUE, /* every other value is refused */
    HN_LM_KEY_NEEDLESS   /* it changes nothing */
} hn_lm_key_use;

typedef struct hn_lm_arch_key {
    const char *name;
    int32_t is_gguf;  /* a key of GGUF, whole; else of config.json */
    int32_t depth;    /* of config.json: within how many objects */
    hn_lm_key_use use;
    int32_t must_be;  /* it has to be there */
    const char *absent; /* config.json: the value of an absent key; NULL: null */
    const char *only; /* values that it may have, "a|b" as JSON; or NULL */
    const char *note; /* why it changes nothing, or may have no other value; or NULL */
    const char *of;   /* how the classes begin that it is for; NULL: all */
} hn_lm_arch_key;

/* Tells every key of an architecture that hone knows, config.json's first; all others are refused by name. `key` and
 * its name are the caller's until the call returns. */
HN_API hn_status hn_lm_arch_keys(const char *name, void (*call)(void *context, const hn_lm_arch_key *key),
                                 void *context);

#ifdef __cplusplus
}
#endif
#endif
