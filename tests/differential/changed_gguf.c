#include "tests/differential/changed_gguf.h"

#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

static uint8_t out[MAX_OUT];
static size_t out_n;

static void put(const void *data, size_t bytes)
{
    if (out_n + bytes <= sizeof out)
        memcpy(out + out_n, data, bytes);
    out_n += bytes;
}

static void put_int(uint64_t n, int bytes)
{
    uint8_t le[8];
    for (int i = 0; i < 8; i++)
        le[i] = (uint8_t)(n >> (8 * i));
    put(le, (size_t)bytes);
}

static void put_value(const value *v)
{
    put_int(strlen(v->key), 8);
    put(v->key, strlen(v->key));
    if (v->is_array) {
        put_int(HN_META_ARRAY, 4);
        put_int(v->type, 4);
        put_int(v->n, 8);
    } else {
        put_int(v->type, 4);
    }
    put(v->data, v->bytes);
}

bool write_changed(const parts *s, const char *path, const char *const *without, const value *with,
                   int n_with)
{
    int n = n_with;
    out_n = 0;
    put("GGUF", 4);
    put_int(3, 4);
    put_int(s->n_tensors, 8);
    const size_t count_at = out_n;
    put_int(0, 8);
    for (int i = 0; i < s->n_keys; i++) {
        bool is_out = false;
        for (int k = 0; without && without[k]; k++)
            is_out = is_out || !strcmp(without[k], s->keys[i].key);
        if (!is_out)
            put_value(&s->keys[i]), n++;
    }
    for (int i = 0; i < n_with; i++)
        put_value(&with[i]);
    out[count_at] = (uint8_t)n;
    put((uint8_t *)s->file + s->infos_at, s->infos_bytes);
    while (out_n % 32)
        put_int(0, 1);
    put((uint8_t *)s->file + s->data_at, s->bytes - s->data_at);
    FILE *f = fopen(path, "wb");
    const bool ok = f && out_n <= sizeof out && fwrite(out, 1, out_n, f) == out_n;
    if (f)
        fclose(f);
    return CHECK_THAT(ok, "%s could not be written", path);
}

bool take_apart(parts *s, const hn_gguf *gguf)
{
    const hn_meta *meta = hn_gguf_meta(gguf);
    s->n_tensors = hn_gguf_weights(gguf)->n;
    s->n_keys = (int)meta->n;
    if (!CHECK(meta->n <= MAX_KEYS))
        return false;
    out_n = 24;
    for (int i = 0; i < s->n_keys; i++) {
        const hn_meta_value *v = &meta->values[i];
        s->keys[i] = (value){ v->key, v->type, v->is_array, v->n, v->data, v->bytes };
        put_value(&s->keys[i]);
    }
    s->infos_at = out_n;
    const uint8_t *at = (uint8_t *)s->file + out_n;
    for (uint64_t i = 0; i < s->n_tensors; i++) {
        uint64_t name;
        uint32_t rank;
        memcpy(&name, at, 8);
        memcpy(&rank, at + 8 + name, 4);
        at += 8 + name + 4 + 8 * rank + 4 + 8;
    }
    s->infos_bytes = (size_t)(at - (uint8_t *)s->file) - s->infos_at;
    s->data_at = (s->infos_at + s->infos_bytes + 31) / 32 * 32;
    return true;
}
