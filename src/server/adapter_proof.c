/* A certificate is of a run, and says by SHA-256 which file came of that run. One that says another, or none, may be of anything: it is
 * not told, and why is. Its subject names files of this machine, and is nobody's affair. */
#include "server/adapter_proof.h"

#include "base/file.h"
#include "base/os/files.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

static const char name[] = "certificate.json";
enum { MOST_BYTES = 16 << 20 };

static bool refuse(hn_adapter_proof *p, const char *why)
{
    *p = (hn_adapter_proof){ 0 };
    snprintf(p->why_not, sizeof p->why_not, "%s beside it %.160s", name, why);
    return false;
}

static bool take_text(const hn_json *root, const char *key, char *to, size_t room)
{
    const hn_json *v = hn_json_get(root, key);
    const bool fits = v && v->kind == HN_JSON_STRING && hn_json_bytes(v) < room;
    snprintf(to, room, "%s", fits ? hn_json_string(v) : "");
    return fits;
}

static bool take_count(const hn_json *of, const char *key, int64_t *to)
{
    const hn_json *v = hn_json_get(of, key);
    *to = hn_json_int(v);
    return v && v->kind == HN_JSON_INT && *to >= 0;
}

static bool take_row(hn_adapter_proof *p, const hn_json *row)
{
    char check[sizeof p->kinds[0].check];
    int64_t made, failed;
    int i = 0;
    if (!take_text(row, "check", check, sizeof check) || !take_count(row, "made", &made) || !take_count(row, "failed", &failed))
        return false;
    while (i < p->n_kinds && strcmp(p->kinds[i].check, check) != 0)
        i++;
    if (i == HN_MOST_PROOF_KINDS)
        return false;
    if (i == p->n_kinds)
        memcpy(p->kinds[p->n_kinds++].check, check, sizeof check);
    return !__builtin_add_overflow(p->kinds[i].made, made, &p->kinds[i].made) &&
           !__builtin_add_overflow(p->kinds[i].failed, failed, &p->kinds[i].failed);
}

static bool take(hn_adapter_proof *p, const hn_json *root, const char *digest)
{
    char kind[32], of[65];
    if (!take_text(root, "certificate", kind, sizeof kind) || strcmp(kind, "hone prove") != 0)
        return refuse(p, "is no certificate");
    if (!take_text(root, "result", of, sizeof of))
        return refuse(p, "does not say of which file it is");
    if (strcmp(of, digest) != 0) {
        char why[100];
        snprintf(why, sizeof why, "is of another file: sha256 %s", of);
        return refuse(p, why);
    }
    bool is_whole = take_text(root, "build", p->build, sizeof p->build) && take_text(root, "cpu", p->cpu, sizeof p->cpu) &&
                    take_count(root, "seed", &p->seed) && take_count(root, "checks", &p->checks) &&
                    take_count(root, "failed", &p->failed) && take_count(root, "skipped", &p->skipped);
    for (const hn_json *row = hn_json_first(hn_json_get(root, "rows")); row && is_whole; row = row->next)
        is_whole = take_row(p, row);
    p->is_there = is_whole;
    return is_whole || refuse(p, "lacks what a certificate has");
}

static hn_status read(hn_adapter_proof *p, hn_heap *heap, const char *path, const char *digest)
{
    void *text;
    size_t bytes;
    hn_json_text *json;
    if (!hn_os_is_there(path))
        return HN_OK;
    hn_status status = hn_file_read(heap, path, MOST_BYTES, &text, &bytes);
    if (status != HN_OK) {
        refuse(p, "cannot be read");
        return status == HN_ERR_MEMORY ? status : HN_OK;
    }
    status = hn_json_read(heap, name, text, bytes, &json);
    if (status == HN_OK)
        take(p, hn_json_root(json), digest);
    else
        refuse(p, "is no JSON");
    hn_json_free(json);
    hn_free(heap, text);
    return status == HN_ERR_MEMORY ? status : HN_OK;
}

hn_status hn_adapter_proof_read(hn_adapter_proof *out, hn_heap *heap, const char *adapter, const char *digest)
{
    const char *slash = strrchr(adapter, '/');
    hn_str path = hn_str_on(heap);
    *out = (hn_adapter_proof){ 0 };
    hn_str_add_bytes(&path, adapter, slash ? (size_t)(slash + 1 - adapter) : 0);
    hn_str_add(&path, name);
    hn_status status = hn_str_status(&path);
    if (status == HN_OK)
        status = read(out, heap, path.text, digest);
    hn_str_free(&path);
    return status;
}

void hn_adapter_proof_tell(const hn_adapter_proof *p, hn_json_writer *w)
{
    if (!p->is_there) {
        hn_json_add_null(w);
        return;
    }
    hn_json_begin_object(w);
    hn_json_put_text(w, "build", p->build);
    hn_json_put_text(w, "cpu", p->cpu);
    hn_json_put_int(w, "seed", p->seed);
    hn_json_put_int(w, "checks", p->checks);
    hn_json_put_int(w, "failed", p->failed);
    hn_json_put_int(w, "skipped", p->skipped);
    hn_json_key(w, "rows");
    hn_json_begin_array(w);
    for (int i = 0; i < p->n_kinds; i++) {
        hn_json_begin_object(w);
        hn_json_put_text(w, "check", p->kinds[i].check);
        hn_json_put_int(w, "made", p->kinds[i].made);
        hn_json_put_int(w, "failed", p->kinds[i].failed);
        hn_json_end_object(w);
    }
    hn_json_end_array(w);
    hn_json_end_object(w);
}
