/* The models that there are: who is found by which name, who is held, whose place is taken.
 *
 *     away -- its clerk: a place, by the lock --> loading -- without the lock, as long as it takes --> ready
 *       ^            `------------------------------- it failed --------------------------------------'  |
 *       `---- by the lock: nobody holds it, or who alone does wants it gone; and it is in no step -------'
 *
 * What was loaded (lm, batch, scheduler, embedder) has no lock of its own. It may be used by who holds the model, for a model is
 * found and held under one taking of the lock, and what is held is not put away. It may be changed by the clerk while the state is
 * loading, since nothing else touches one that is not ready; and by whoever has the lock, where `held` and is_stepping say that
 * nobody uses it. Putting away is therefore done under the lock, though it takes long. (The embedder of a model that generates is
 * made later, by its smith, which alone uses it.)
 *
 * is_stepping is not `held`: who is answered in a step lets go within it, and the runner is still in there. Who wants the place
 * waits for the step's end, without the lock, and after that nothing is known any more: a new request may hold the model, and
 * another may be the one that was asked least lately. So leave() does one of the two, puts away or waits, and its callers look
 * again from the beginning.
 *
 * One that is loading counts among those that have a place, so that two who load at once do not take the same one. Where --memory does
 * not suffice, one model leaves for each attempt, until it does or nobody is left who may: then memory is with others who are busy,
 * or, if there are none, the model is too large for good. */
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "server/answer.h"
#include "server/served_adapters.h"

#include <stdio.h>
#include <string.h>

static bool step(void *context);

void hn_shelf_open(hn_shelf *shelf, hn_heap *heap, hn_engine *engine, int64_t most_loaded)
{
    *shelf = (hn_shelf){ .heap = heap, .engine = engine, .most_loaded = most_loaded };
    hn_os_mutex_open(&shelf->lock);
    hn_os_condition_open(&shelf->stepped);
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

bool hn_shelf_is_name(const char *name)
{
    return *name && !strpbrk(name, ":=\"\\ \t\r\n");
}

static const hn_alias *find_alias(const hn_shelf *shelf, const char *name, size_t n)
{
    for (int32_t i = 0; i < shelf->n_aliases; i++)
        if (strlen(shelf->aliases[i].name) == n && !strncmp(shelf->aliases[i].name, name, n))
            return &shelf->aliases[i];
    return NULL;
}

hn_served *hn_shelf_model(const hn_shelf *shelf, const char *name, size_t n)
{
    for (int32_t i = 0; i < shelf->n; i++)
        if (strlen(shelf->models[i]->name) == n && !strncmp(shelf->models[i]->name, name, n))
            return shelf->models[i];
    const hn_alias *alias = find_alias(shelf, name, n);
    return alias ? alias->of : NULL;
}

const hn_alias *hn_shelf_alias(const hn_shelf *shelf, const char *name) { return find_alias(shelf, name, strcspn(name, ":")); }

hn_status hn_shelf_add_alias(hn_shelf *shelf, const char *word)
{
    const char *equals = strchr(word, '=');
    hn_alias *alias = &shelf->aliases[shelf->n_aliases];
    HN_REQUIRE(equals && equals > word && equals[1], HN_ERR_ARGUMENT, "--alias %.60s: expected NAME=MODEL", word);
    HN_REQUIRE(shelf->n_aliases < HN_MOST_SERVED, HN_ERR_ARGUMENT, "expected at most %d aliases", HN_MOST_SERVED);
    const int n = snprintf(alias->name, sizeof alias->name, "%.*s", (int)(equals - word), word);
    HN_REQUIRE(n < (int)sizeof alias->name && hn_shelf_is_name(alias->name), HN_ERR_ARGUMENT,
               "--alias %.60s: expected a name of at most %zu bytes without blank, ':' and quote", word, sizeof alias->name - 1);
    HN_REQUIRE(!hn_shelf_model(shelf, alias->name, strlen(alias->name)), HN_ERR_ARGUMENT, "--alias %.60s: two models of this name", word);
    alias->of = hn_shelf_model(shelf, equals + 1, strlen(equals + 1));
    HN_REQUIRE(alias->of, HN_ERR_ARGUMENT, "--alias %.60s: there is no model %.60s", word, equals + 1);
    shelf->n_aliases++;
    return HN_OK;
}

/* A folder's are its weights alone. */
static bool add_bytes(void *context, const char *name)
{
    hn_served *m = context;
    const char *end = strrchr(name, '.');
    char path[4096];
    hn_os_file about;
    snprintf(path, sizeof path, "%s/%s", m->o.path, name);
    if (end && (!strcmp(end, ".safetensors") || !strcmp(end, ".gguf")) && hn_os_about(path, &about))
        m->bytes += (int64_t)about.bytes;
    return true;
}

static void take_bytes(hn_served *m)
{
    hn_os_file about;
    m->bytes = 0;
    if (hn_os_about(m->o.path, &about) && about.is_folder)
        hn_os_folder_each(m->o.path, add_bytes, m);
    else if (hn_os_about(m->o.path, &about))
        m->bytes = (int64_t)about.bytes;
}

hn_status hn_shelf_add(hn_shelf *shelf, const char *name, const hn_served_options *o, hn_served **out)
{
    char found[sizeof(*out)->name];
    if (name)
        snprintf(found, sizeof found, "%s", name);
    else
        name_of_path(o->path, found, sizeof found);
    HN_REQUIRE(hn_shelf_is_name(found), HN_ERR_ARGUMENT, "%s: a model's name has no blank, ':', '=' or quote: say NAME=%s", found, o->path);
    HN_REQUIRE(!hn_shelf_model(shelf, found, strlen(found)), HN_ERR_ARGUMENT, "%s: two models of this name: say NAME=%s", found, o->path);
    HN_REQUIRE(shelf->n < HN_MOST_SERVED, HN_ERR_ARGUMENT, "expected at most %d models", HN_MOST_SERVED);
    hn_served *m = hn_alloc(shelf->heap, HN_TAG_STATE, sizeof *m);
    if (!m)
        return HN_ERR_MEMORY;
    m->shelf = shelf;
    m->o = *o;
    m->created = hn_clock_wall_ns() / 1000000000;
    memcpy(m->name, found, sizeof m->name);
    take_bytes(m);
    shelf->models[shelf->n++] = m; /* closed with the shelf, also after a failure here */
    m->n_slots = (int32_t)(o->scheduler.running ? o->scheduler.running : o->batch.sequences ? o->batch.sequences : 8);
    m->slots = hn_alloc_array(shelf->heap, HN_TAG_STATE, (size_t)m->n_slots, sizeof *m->slots);
    if (!m->slots)
        return HN_ERR_MEMORY;
    HN_TRY(hn_worker_start(&m->clerk, NULL, NULL));
    HN_TRY(hn_worker_start(&m->smith, NULL, NULL));
    HN_TRY(hn_worker_start(&m->runner, step, m));
    *out = m;
    return HN_OK;
}

/* ---- finding ---- */

/* An adapter's name alone, if one model has it. */
static hn_served *find_by_adapter(const hn_shelf *shelf, const char *name, uint64_t asker, hn_served_adapter **adapter)
{
    hn_served *found = NULL;
    for (int32_t i = 0; i < shelf->n; i++) {
        hn_served_adapter *here = hn_served_adapter_of(shelf->models[i], name, asker);
        if (here && found)
            return NULL;
        if (here) {
            found = shelf->models[i];
            *adapter = here;
        }
    }
    return found;
}

/* By the lock. */
static hn_served *find(const hn_shelf *shelf, const char *name, uint64_t asker, hn_served_adapter **adapter)
{
    *adapter = NULL;
    if (!name)
        return shelf->n ? shelf->models[0] : NULL;
    hn_served *m = hn_shelf_model(shelf, name, strlen(name));
    const char *colon = strchr(name, ':');
    if (m || !colon)
        return m ? m : find_by_adapter(shelf, name, asker, adapter);
    m = hn_shelf_model(shelf, name, (size_t)(colon - name));
    *adapter = m ? hn_served_adapter_of(m, colon + 1, asker) : NULL;
    const bool is_plain = !*adapter && !strcmp(colon, ":latest"); /* as Ollama's clients call a model without a tag */
    return *adapter || is_plain ? m : NULL;
}

static bool refuse_name(const char *name, hn_failure *why)
{
    if (name && !*name) /* it is no name, and nobody meant the first */
        return hn_refuse_as(why, HN_REFUSED_INVALID, "model", "model: expected a name, found none");
    return hn_refuse_as(why, HN_REFUSED_NO_MODEL, "model", "%.100s: there is no such model; /v1/models lists them", name ? name : "");
}

bool hn_shelf_look(hn_shelf *shelf, const char *name, uint64_t asker, hn_served **out, char adapter[HN_ADAPTER_NAME], hn_failure *why)
{
    hn_served_adapter *found;
    hn_os_mutex_lock(&shelf->lock);
    *out = find(shelf, name, asker, &found);
    snprintf(adapter, HN_ADAPTER_NAME, "%s", *out && found ? found->name : "");
    hn_os_mutex_unlock(&shelf->lock);
    return *out || refuse_name(name, why);
}

bool hn_shelf_find(hn_shelf *shelf, const char *name, uint64_t asker, hn_served **out, hn_served_adapter **adapter, hn_failure *why)
{
    hn_os_mutex_lock(&shelf->lock);
    hn_served *m = find(shelf, name, asker, adapter);
    const bool is_loading = m && shelf->is_starting && m->state != HN_SERVED_READY;
    *out = is_loading ? NULL : m;
    if (*out) {
        m->held++;
        m->last_asked = ++shelf->n_asked;
    }
    if (*out && *adapter) {
        (*adapter)->held++;
        (*adapter)->last_asked = m->last_asked;
    } else
        *adapter = NULL;
    hn_os_mutex_unlock(&shelf->lock);
    return *out || (m ? hn_refuse_as(why, HN_REFUSED_LOADING, "model", "%s is being loaded", m->name) : refuse_name(name, why));
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
    hn_lm_close(m->guesser);
    hn_lm_close(m->lm);
    m->scheduler = NULL;
    m->batch = NULL;
    m->embedder = NULL;
    m->guesser = NULL;
    m->lm = NULL;
    hn_adapters_leave(m);
}

/* Whoever began with a model goes on with it: another file under its name is no answer to what was asked before. */
static hn_status check_weights(hn_served *m)
{
    char weights[sizeof m->weights];
    hn_lm_sizes sizes = { 0 };
    HN_TRY(hn_lm_fingerprint(m->lm, weights));
    if (!m->bytes && hn_lm_measure(m->lm, NULL, &sizes, sizeof sizes) != HN_OK) /* the one that is built in has no file */
        sizes.weights = 0;
    hn_os_mutex_lock(&m->shelf->lock);
    const bool is_same = !m->weights[0] || !strcmp(weights, m->weights);
    if (is_same)
        memcpy(m->weights, weights, sizeof weights);
    m->bytes = m->bytes ? m->bytes : (int64_t)sizes.weights;
    hn_os_mutex_unlock(&m->shelf->lock);
    HN_REQUIRE(is_same, HN_ERR_IO, "%s: its file is another than the one that was served: SIGHUP takes it", m->name);
    return HN_OK;
}

static hn_status check_calls(const hn_served *m)
{
    hn_lm_call_style style;
    if (!m->o.calls || hn_lm_embeds(m->lm) || hn_lm_call_style_of(m->lm, m->o.calls, &style, sizeof style) == HN_OK)
        return HN_OK;
    return hn_fail_within(HN_ERR_ARGUMENT, "--calls: ");
}

/* With the model that guesses, which is held to the model's tokens here and not when somebody asks. */
static hn_status open_scheduler(hn_served *m)
{
    hn_lm_scheduler_options o = m->o.scheduler;
    hn_lm_draft_options draft = { .size = sizeof draft };
    hn_lm_drafter *tried = NULL;
    if (!m->o.draft)
        return hn_lm_scheduler_new(&m->scheduler, m->batch, &o);
    if (o.draft)
        draft = *o.draft;
    HN_TRY(hn_lm_open(&m->guesser, m->shelf->engine, m->o.draft, &m->o.draft_model));
    draft.model = m->guesser;
    HN_TRY(hn_lm_drafter_new(&tried, m->lm, &draft, hn_lm_batch_context(m->batch)));
    hn_lm_drafter_free(tried);
    o.draft = &draft;
    return hn_lm_scheduler_new(&m->scheduler, m->batch, &o);
}

static hn_status open_embedder(hn_served *m)
{
    const bool only_embeds = hn_lm_embeds(m->lm) != 0;
    const hn_lm_embed_options o = { .size = sizeof o, .pooling = m->o.pooling, .context = only_embeds ? 0 : m->o.batch.context };
    return hn_lm_embedder_new(&m->embedder, m->lm, &o);
}

/* What it can be refused for beside its memory is that nobody says the pooling; where the file lies is not told. */
bool hn_served_embedder(hn_served *m, hn_lm_embedder **out, hn_failure *why)
{
    const hn_status status = m->embedder ? HN_OK : open_embedder(m);
    *out = m->embedder;
    if (status == HN_ERR_ARGUMENT)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "model", "%s does not say how vectors are pooled: it takes --pooling of this server",
                            m->name);
    return status == HN_OK || hn_refuse_by(why, status, "model");
}

static hn_status open_model(hn_served *m)
{
    hn_lm_batch_options batch = m->o.batch;
    hn_adapters_sweep(m); /* who was dropped while there was no batch */
    m->room = hn_adapters_room(m);
    HN_TRY(hn_lm_open(&m->lm, m->shelf->engine, m->o.path, &m->o.model));
    HN_TRY(check_weights(m));
    HN_TRY(check_calls(m));
    if (hn_lm_embeds(m->lm))
        return m->adapters ? hn_fail(HN_ERR_UNSUPPORTED, "%s embeds: adapters of requests are for models that generate", m->name)
                           : open_embedder(m);
    if (m->room)
        HN_TRY(hn_lm_keep_digests(m->lm, m->o.digests));
    batch.adapters = (int32_t)m->room;
    batch.apart = m->room ? (batch.sequences ? batch.sequences : 8) : 0;
    HN_TRY(hn_lm_batch_new(&m->batch, m->lm, &batch));
    HN_TRY(hn_adapters_place(m));
    return open_scheduler(m);
}

bool hn_served_unload(hn_served *m, hn_failure *why)
{
    hn_shelf *shelf = m->shelf;
    hn_os_mutex_lock(&shelf->lock);
    while (m->state == HN_SERVED_READY && m->held == 1 && m->is_stepping)
        hn_os_condition_wait(&shelf->stepped, &shelf->lock);
    const bool is_busy = m->state == HN_SERVED_READY && m->held > 1;
    if (m->state == HN_SERVED_READY && !is_busy) {
        put_away(m);
        m->state = HN_SERVED_AWAY;
    }
    hn_os_mutex_unlock(&shelf->lock);
    return !is_busy || hn_refuse_as(why, HN_REFUSED_BUSY, "keep_alive", "keep_alive: others are answered by %s", m->name);
}

int64_t hn_served_about(hn_served *m, char weights[65])
{
    hn_os_mutex_lock(&m->shelf->lock);
    memcpy(weights, m->weights, sizeof m->weights);
    const int64_t bytes = m->bytes;
    hn_os_mutex_unlock(&m->shelf->lock);
    if (!weights[0])
        memset(weights, '0', sizeof m->weights - 1);
    return bytes;
}

/* Under the lock, of one that is not loaded. */
static void forget(hn_served *m)
{
    m->is_to_forget = false;
    m->weights[0] = '\0';
    m->is_too_large = false;
    take_bytes(m);
}

void hn_served_forget(hn_served *m)
{
    hn_os_mutex_lock(&m->shelf->lock);
    if (m->state == HN_SERVED_AWAY)
        forget(m);
    m->is_to_forget = m->state == HN_SERVED_LOADING;
    hn_os_mutex_unlock(&m->shelf->lock);
}

/* Whether one more has a place; else in *oldest the one that was asked least lately of those whom nobody holds. */
static bool has_place(const hn_shelf *shelf, hn_served **oldest)
{
    int64_t n_loaded = 0;
    *oldest = NULL;
    for (int32_t i = 0; i < shelf->n; i++) {
        hn_served *m = shelf->models[i];
        n_loaded += m->state != HN_SERVED_AWAY;
        if (m->state == HN_SERVED_READY && !m->held && (!*oldest || m->last_asked < (*oldest)->last_asked))
            *oldest = m;
    }
    return !shelf->most_loaded || n_loaded < shelf->most_loaded;
}

/* By the lock. False: its step was waited for, in which others may have come. */
static bool leave(hn_served *m)
{
    if (m->is_stepping) {
        hn_os_condition_wait(&m->shelf->stepped, &m->shelf->lock);
        return false;
    }
    put_away(m);
    m->state = HN_SERVED_AWAY;
    return true;
}

/* By the lock. True: there is a place for one more, or the one that was asked least lately has left its own. */
static bool make_place(hn_shelf *shelf)
{
    hn_served *oldest;
    while (!has_place(shelf, &oldest)) {
        if (!oldest)
            return false;
        leave(oldest);
    }
    return true;
}

/* The memory of the one that was asked least lately is free. False: all are busy that have any. */
static bool make_room(hn_shelf *shelf)
{
    hn_served *oldest;
    bool has_left = false;
    hn_os_mutex_lock(&shelf->lock);
    while (!has_left) {
        has_place(shelf, &oldest);
        if (!oldest)
            break;
        has_left = leave(oldest);
    }
    hn_os_mutex_unlock(&shelf->lock);
    return has_left;
}

/* By the lock: one whose file was cut short is read anew, once who asks is the only one who holds it. */
static void leave_broken(hn_served *m)
{
    while (m->is_broken && m->state == HN_SERVED_READY && m->held == 1)
        leave(m);
}

/* Where it lacks memory, others leave as long as any may. */
static hn_status open_in_room(hn_served *m)
{
    for (;;) {
        const hn_status status = open_model(m);
        if (status == HN_OK)
            return status;
        char why[512];
        snprintf(why, sizeof why, "%s", hn_error_message());
        put_away(m);
        if (status != HN_ERR_MEMORY || !m->shelf->memory || !make_room(m->shelf))
            return hn_fail(status, "%s", why);
    }
}

static bool refuse_too_large(const hn_served *m, hn_failure *why)
{
    return hn_refuse_as(why, HN_REFUSED_INVALID, "model", "%s takes more than all memory of this server, %.4g GiB (--memory)", m->name,
                        (double)m->shelf->memory / 0x1p30);
}

/* With nobody else's to have, it never has enough. */
static bool refuse_memory(hn_served *m, hn_failure *why)
{
    hn_shelf *shelf = m->shelf;
    bool is_alone = true;
    hn_os_mutex_lock(&shelf->lock);
    for (int32_t i = 0; i < shelf->n; i++)
        is_alone = is_alone && (shelf->models[i] == m || shelf->models[i]->state == HN_SERVED_AWAY);
    m->is_too_large = is_alone;
    hn_os_mutex_unlock(&shelf->lock);
    if (is_alone)
        return refuse_too_large(m, why);
    return hn_refuse_as(why, HN_REFUSED_BUSY, "model", "%s: memory (--memory) is with models that are busy", m->name);
}

bool hn_served_load(hn_served *m, hn_failure *why)
{
    hn_shelf *shelf = m->shelf;
    hn_os_mutex_lock(&shelf->lock);
    leave_broken(m);
    if (m->is_too_large) {
        hn_os_mutex_unlock(&shelf->lock);
        return refuse_too_large(m, why);
    }
    const bool is_ready = m->state == HN_SERVED_READY, may_load = is_ready || make_place(shelf);
    if (!is_ready && may_load) {
        m->state = HN_SERVED_LOADING;
        m->is_broken = m->is_to_forget = false;
    }
    hn_os_mutex_unlock(&shelf->lock);
    if (is_ready)
        return true;
    if (!may_load)
        return hn_refuse_as(why, HN_REFUSED_BUSY, "model", "%lld models are loaded, as many as may, and all are busy",
                         (long long)shelf->most_loaded);
    const hn_status status = open_in_room(m);
    if (status == HN_ERR_MEMORY && shelf->memory)
        refuse_memory(m, why);
    else if (status != HN_OK)
        hn_refuse_by(why, status == HN_ERR_MEMORY ? status : HN_ERR_DEVICE, "model");
    if (status != HN_OK)
        why->by = status;
    hn_os_mutex_lock(&shelf->lock);
    m->state = status == HN_OK ? HN_SERVED_READY : HN_SERVED_AWAY;
    if (status != HN_OK && m->is_to_forget)
        forget(m);
    hn_os_mutex_unlock(&shelf->lock);
    return status == HN_OK;
}

/* ---- running ---- */

static void begin_step(hn_served *m)
{
    hn_os_mutex_lock(&m->shelf->lock);
    m->is_stepping = true;
    hn_os_mutex_unlock(&m->shelf->lock);
}

static void end_step(hn_served *m, const hn_lm_scheduler_counts *counts)
{
    hn_os_mutex_lock(&m->shelf->lock);
    m->counts = *counts;
    hn_slots_note(m);
    m->is_stepping = false;
    hn_os_condition_wake_all(&m->shelf->stepped);
    hn_os_mutex_unlock(&m->shelf->lock);
}

static bool step(void *context)
{
    hn_served *m = context;
    hn_lm_scheduler_counts counts = m->counts;
    int64_t left = 0;
    if (!m->running)
        return false;
    begin_step(m);
    hn_answers_look(m);
    if (hn_lm_scheduler_step(m->scheduler, &left) != HN_OK)
        hn_answers_end(m); /* cancelled: the server is ending */
    hn_adapters_sweep(m);
    hn_lm_scheduler_count(m->scheduler, &counts, sizeof counts); /* a failure leaves those before */
    const bool goes_on = m->running != NULL;
    end_step(m, &counts);
    return goes_on;
}

void hn_served_is_broken(hn_served *m)
{
    hn_os_mutex_lock(&m->shelf->lock);
    m->is_broken = true;
    hn_os_mutex_unlock(&m->shelf->lock);
}

/* Each hands on to the next, in one model or in another that it puts away. */
void hn_shelf_stop(hn_shelf *shelf)
{
    for (int32_t i = 0; i < shelf->n; i++)
        hn_worker_stop(&shelf->models[i]->clerk);
    for (int32_t i = 0; i < shelf->n; i++)
        hn_worker_stop(&shelf->models[i]->smith);
    for (int32_t i = 0; i < shelf->n; i++)
        hn_worker_stop(&shelf->models[i]->runner);
}

void hn_shelf_close(hn_shelf *shelf)
{
    hn_shelf_stop(shelf);
    for (int32_t i = 0; i < shelf->n; i++) {
        hn_served *m = shelf->models[i];
        put_away(m);
        hn_adapters_free(m);
        hn_free(shelf->heap, m->slots);
        hn_free(shelf->heap, m);
    }
    hn_os_condition_close(&shelf->stepped);
    hn_os_mutex_close(&shelf->lock);
    *shelf = (hn_shelf){ 0 };
}
