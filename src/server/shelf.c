/* The models that there are: who is found by which name, who is held, whose place is taken. */
#include "base/number.h"
#include "base/os/clock.h"
#include "base/sha256.h"
#include "server/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool step(void *context);

void hn_shelf_open(hn_shelf *shelf, hn_heap *heap, hn_engine *engine, int64_t most_loaded)
{
    *shelf = (hn_shelf){ .heap = heap, .engine = engine, .most_loaded = most_loaded };
    hn_os_mutex_open(&shelf->lock);
}

/* "path/to/model.gguf" and "path/to/model/" -> "model". */
static void name_of_path(const char *path, char *to, size_t room)
{
    size_t end = strlen(path), from;
    if (!strcmp(path, hn_lm_builtin())) {
        snprintf(to, room, "hone-tiny");
        return;
    }
    while (end > 1 && path[end - 1] == '/')
        end--;
    for (from = end; from > 0 && path[from - 1] != '/';)
        from--;
    if (end - from > 5 && !strncmp(path + end - 5, ".gguf", 5))
        end -= 5;
    snprintf(to, room, "%.*s", (int)(end - from), path + from);
}

static bool is_name(const char *name)
{
    return *name && !strpbrk(name, ":=\"\\ \t\r\n");
}

static hn_served *find_model(const hn_shelf *shelf, const char *name, size_t n)
{
    for (int32_t i = 0; i < shelf->n; i++)
        if (strlen(shelf->models[i]->name) == n && !strncmp(shelf->models[i]->name, name, n))
            return shelf->models[i];
    return NULL;
}

hn_status hn_shelf_add(hn_shelf *shelf, const char *name, const hn_served_options *o, hn_served **out)
{
    char found[sizeof(*out)->name];
    if (name)
        snprintf(found, sizeof found, "%s", name);
    else
        name_of_path(o->path, found, sizeof found);
    HN_REQUIRE(is_name(found), HN_ERR_ARGUMENT, "%s: a model's name has no blank, ':', '=' or quote: say NAME=%s", found, o->path);
    HN_REQUIRE(!find_model(shelf, found, strlen(found)), HN_ERR_ARGUMENT, "%s: two models of this name: say NAME=%s", found, o->path);
    HN_REQUIRE(shelf->n < HN_MOST_SERVED, HN_ERR_ARGUMENT, "expected at most %d models", HN_MOST_SERVED);
    hn_served *m = hn_alloc(shelf->heap, HN_TAG_STATE, sizeof *m);
    if (!m)
        return HN_ERR_MEMORY;
    m->shelf = shelf;
    m->o = *o;
    m->created = hn_clock_wall_ns() / 1000000000;
    memcpy(m->name, found, sizeof m->name);
    shelf->models[shelf->n++] = m; /* closed with the shelf, also after a failure here */
    HN_TRY(hn_worker_start(&m->clerk, NULL, NULL));
    HN_TRY(hn_worker_start(&m->runner, step, m));
    *out = m;
    return HN_OK;
}

/* Of "FILE:SCALE" the file's length; the whole, where no number follows the last colon. */
static size_t scale_of(const char *word, double *scale)
{
    const char *colon = strrchr(word, ':');
    double value;
    *scale = 1;
    if (!colon || !colon[1] || !hn_number_parse(colon + 1, &value))
        return strlen(word);
    *scale = value;
    return (size_t)(colon - word);
}

hn_status hn_shelf_add_adapter(hn_shelf *shelf, const char *word)
{
    const char *equals = strchr(word, '='), *colon = strchr(word, ':');
    HN_REQUIRE(equals && equals > word && equals[1], HN_ERR_ARGUMENT, "--lora %s: expected NAME=FILE or MODEL:NAME=FILE", word);
    const bool says_model = colon && colon < equals;
    hn_served *m = says_model ? find_model(shelf, word, (size_t)(colon - word)) : shelf->n ? shelf->models[0] : NULL;
    HN_REQUIRE(m, HN_ERR_ARGUMENT, "--lora %s: there is no such model", word);
    HN_REQUIRE(m->n_adapters < HN_MOST_SERVED_ADAPTERS, HN_ERR_ARGUMENT, "--lora %s: expected at most %d of a model", word,
               HN_MOST_SERVED_ADAPTERS);
    hn_served_adapter *a = &m->adapters[m->n_adapters];
    const char *name = says_model ? colon + 1 : word;
    double scale;
    const size_t n = scale_of(equals + 1, &scale);
    HN_REQUIRE(isfinite(scale) && scale != 0, HN_ERR_ARGUMENT, "--lora %s: expected a scale other than 0", word);
    snprintf(a->name, sizeof a->name, "%.*s", (int)(equals - name), name);
    HN_REQUIRE(is_name(a->name) && (size_t)(equals - name) < sizeof a->name, HN_ERR_ARGUMENT,
               "--lora %s: a name has at most %zu bytes, and no blank, ':' or quote", word, sizeof a->name - 1);
    for (int32_t i = 0; i < m->n_adapters; i++)
        HN_REQUIRE(strcmp(m->adapters[i].name, a->name) != 0, HN_ERR_ARGUMENT, "--lora %s: two adapters of this name", word);
    char *path = hn_alloc(shelf->heap, HN_TAG_TEXT, n + 1);
    if (!path)
        return HN_ERR_MEMORY;
    memcpy(path, equals + 1, n);
    a->path = path;
    a->scale = scale;
    m->n_adapters++;
    return HN_OK;
}

/* ---- finding ---- */

static int32_t find_adapter(const hn_served *m, const char *name)
{
    for (int32_t i = 0; i < m->n_adapters; i++)
        if (!strcmp(m->adapters[i].name, name))
            return i;
    return -1;
}

/* An adapter's name alone, if one model has it. */
static hn_served *find_by_adapter(const hn_shelf *shelf, const char *name, int32_t *adapter)
{
    hn_served *found = NULL;
    for (int32_t i = 0; i < shelf->n; i++) {
        const int32_t at = find_adapter(shelf->models[i], name);
        if (at >= 0 && found)
            return NULL;
        if (at >= 0) {
            found = shelf->models[i];
            *adapter = at;
        }
    }
    return found;
}

static hn_served *find(const hn_shelf *shelf, const char *name, int32_t *adapter)
{
    *adapter = -1;
    if (!name || !*name)
        return shelf->n ? shelf->models[0] : NULL;
    hn_served *m = find_model(shelf, name, strlen(name));
    const char *colon = strchr(name, ':');
    if (m || !colon)
        return m ? m : find_by_adapter(shelf, name, adapter);
    m = find_model(shelf, name, (size_t)(colon - name));
    *adapter = m ? find_adapter(m, colon + 1) : -1;
    const bool is_plain = *adapter < 0 && !strcmp(colon, ":latest"); /* as Ollama's clients call a model without a tag */
    return *adapter >= 0 || is_plain ? m : NULL;
}

bool hn_shelf_look(hn_shelf *shelf, const char *name, hn_served **out, int32_t *adapter, hn_failure *why)
{
    *out = find(shelf, name, adapter);
    return *out || hn_refuse_as(why, HN_REFUSED_NO_MODEL, "model", "%.100s: there is no such model; /v1/models lists them",
                             name ? name : "");
}

bool hn_shelf_find(hn_shelf *shelf, const char *name, hn_served **out, int32_t *adapter, hn_failure *why)
{
    hn_served *m;
    if (!hn_shelf_look(shelf, name, &m, adapter, why)) {
        *out = NULL;
        return false;
    }
    hn_os_mutex_lock(&shelf->lock);
    const bool is_loading = shelf->is_starting && m->state != HN_SERVED_READY;
    if (!is_loading) {
        m->held++;
        m->last_asked = ++shelf->n_asked;
    }
    hn_os_mutex_unlock(&shelf->lock);
    *out = is_loading ? NULL : m;
    return !is_loading || hn_refuse_as(why, HN_REFUSED_LOADING, "model", "%s is being loaded", m->name);
}

void hn_served_hold(hn_served *m)
{
    hn_os_mutex_lock(&m->shelf->lock);
    m->held++;
    hn_os_mutex_unlock(&m->shelf->lock);
}

void hn_served_let_go(hn_served *m)
{
    hn_os_mutex_lock(&m->shelf->lock);
    m->held--;
    hn_os_mutex_unlock(&m->shelf->lock);
}

hn_served_state hn_served_now(hn_served *m, hn_lm_scheduler_counts *counts)
{
    hn_os_mutex_lock(&m->shelf->lock);
    const hn_served_state state = m->state;
    if (counts)
        *counts = m->counts;
    hn_os_mutex_unlock(&m->shelf->lock);
    return state;
}

/* ---- loading ---- */

static void put_away(hn_served *m)
{
    hn_lm_scheduler_free(m->scheduler);
    hn_lm_batch_free(m->batch);
    hn_lm_embedder_free(m->embedder);
    hn_lm_close(m->lm);
    m->scheduler = NULL;
    m->batch = NULL;
    m->embedder = NULL;
    m->lm = NULL;
}

static hn_status add_adapters(hn_served *m)
{
    for (int32_t i = 0; i < m->n_adapters; i++) {
        hn_served_adapter *a = &m->adapters[i];
        const hn_lm_adapter_options o = { .size = sizeof o, .scale = a->scale, .is_forced = m->o.forces_adapters };
        const hn_status status = hn_lm_batch_add_adapter(m->batch, a->path, &o, &a->number);
        if (status != HN_OK)
            return hn_fail_within(status, "adapter %s: ", a->name);
        HN_TRY(hn_sha256_file(a->path, a->digest));
    }
    return HN_OK;
}

static hn_status open_model(hn_served *m)
{
    hn_lm_batch_options batch = m->o.batch;
    HN_TRY(hn_lm_open(&m->lm, m->shelf->engine, m->o.path, &m->o.model));
    HN_TRY(hn_lm_fingerprint(m->lm, m->weights));
    if (hn_lm_embeds(m->lm))
        return m->n_adapters ? hn_fail(HN_ERR_UNSUPPORTED, "%s embeds: adapters of requests are for models that generate", m->name)
                             : hn_lm_embedder_new(&m->embedder, m->lm, NULL);
    if (m->n_adapters)
        HN_TRY(hn_lm_keep_digests(m->lm, m->o.digests));
    batch.adapters = m->n_adapters;
    batch.apart = m->n_adapters ? (batch.sequences ? batch.sequences : 8) : 0;
    HN_TRY(hn_lm_batch_new(&m->batch, m->lm, &batch));
    HN_TRY(add_adapters(m));
    return hn_lm_scheduler_new(&m->scheduler, m->batch, &m->o.scheduler);
}

/* By the lock. True: there is a place for one more, or the one that was asked least lately has left its own. */
static bool make_place(hn_shelf *shelf)
{
    int64_t n_loaded = 0;
    hn_served *oldest = NULL;
    for (int32_t i = 0; i < shelf->n; i++) {
        hn_served *m = shelf->models[i];
        n_loaded += m->state != HN_SERVED_AWAY;
        if (m->state == HN_SERVED_READY && !m->held && (!oldest || m->last_asked < oldest->last_asked))
            oldest = m;
    }
    if (!shelf->most_loaded || n_loaded < shelf->most_loaded)
        return true;
    if (!oldest)
        return false;
    put_away(oldest);
    oldest->state = HN_SERVED_AWAY;
    return true;
}

bool hn_served_load(hn_served *m, hn_failure *why)
{
    hn_shelf *shelf = m->shelf;
    hn_os_mutex_lock(&shelf->lock);
    const bool is_ready = m->state == HN_SERVED_READY, has_place = is_ready || make_place(shelf);
    if (!is_ready && has_place)
        m->state = HN_SERVED_LOADING;
    hn_os_mutex_unlock(&shelf->lock);
    if (is_ready)
        return true;
    if (!has_place)
        return hn_refuse_as(why, HN_REFUSED_BUSY, "model", "%lld models are loaded, as many as may, and all are busy",
                         (long long)shelf->most_loaded);
    const hn_status status = open_model(m);
    if (status != HN_OK) {
        put_away(m);
        hn_refuse_by(why, status == HN_ERR_MEMORY ? status : HN_ERR_DEVICE, "model");
    }
    hn_os_mutex_lock(&shelf->lock);
    m->state = status == HN_OK ? HN_SERVED_READY : HN_SERVED_AWAY;
    hn_os_mutex_unlock(&shelf->lock);
    return status == HN_OK;
}

/* ---- running ---- */

static bool step(void *context)
{
    hn_served *m = context;
    hn_lm_scheduler_counts counts;
    int64_t left = 0;
    if (!m->running)
        return false;
    hn_served_hold(m); /* the last that is answered lets go of it in the step */
    hn_answers_look(m);
    if (hn_lm_scheduler_step(m->scheduler, &left) != HN_OK)
        hn_answers_end(m); /* cancelled: the server is ending */
    if (hn_lm_scheduler_count(m->scheduler, &counts, sizeof counts) == HN_OK) {
        hn_os_mutex_lock(&m->shelf->lock);
        m->counts = counts;
        hn_os_mutex_unlock(&m->shelf->lock);
    }
    hn_served_let_go(m);
    return m->running != NULL;
}

void hn_shelf_close(hn_shelf *shelf)
{
    for (int32_t i = 0; i < shelf->n; i++) {
        hn_worker_stop(&shelf->models[i]->clerk);
        hn_worker_stop(&shelf->models[i]->runner);
    }
    for (int32_t i = 0; i < shelf->n; i++) {
        hn_served *m = shelf->models[i];
        put_away(m);
        for (int32_t j = 0; j < m->n_adapters; j++)
            hn_free(shelf->heap, (void *)(uintptr_t)m->adapters[j].path);
        hn_free(shelf->heap, m);
    }
    hn_os_mutex_close(&shelf->lock);
    *shelf = (hn_shelf){ 0 };
}
