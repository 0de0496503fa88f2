/* Adapters by their files: words of the command line, folders, and what changed in them. */
#include "base/number.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/sha256.h"
#include "base/str.h"
#include "server/served_adapters.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- before anything is served ---- */

static hn_status add(hn_served *m, const hn_adapter_order *o)
{
    hn_served_adapter *a, **last = &m->adapters;
    int n = 0;
    HN_REQUIRE(hn_shelf_is_name(o->name) && hn_os_is_plain_name(o->name) && strlen(o->name) < HN_ADAPTER_NAME, HN_ERR_ARGUMENT,
               "%s: an adapter's name has at most %d bytes, and no blank, ':', '=', quote or slash", o->name, HN_ADAPTER_NAME - 1);
    for (; *last; last = &(*last)->next, n++)
        HN_REQUIRE(strcmp((*last)->name, o->name) != 0, HN_ERR_ARGUMENT, "%s: two adapters of this name", o->name);
    HN_REQUIRE(n < HN_MOST_SERVED_ADAPTERS, HN_ERR_ARGUMENT, "%s: expected at most %d adapters", m->name, HN_MOST_SERVED_ADAPTERS);
    HN_TRY(hn_adapter_new(m, o, &a));
    a->is_listed = true;
    *last = a;
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
    hn_served *m = says_model ? hn_shelf_model(shelf, word, (size_t)(colon - word)) : shelf->n ? shelf->models[0] : NULL;
    HN_REQUIRE(m, HN_ERR_ARGUMENT, "--lora %s: there is no such model", word);
    const char *name = says_model ? colon + 1 : word;
    double scale;
    const size_t n_path = scale_of(equals + 1, &scale), n_name = (size_t)(equals - name);
    HN_REQUIRE(isfinite(scale) && scale != 0, HN_ERR_ARGUMENT, "--lora %s: expected a scale other than 0", word);
    char *text = hn_alloc(shelf->heap, HN_TAG_TEXT, n_name + n_path + 2);
    if (!text)
        return HN_ERR_MEMORY;
    memcpy(text, name, n_name);
    memcpy(text + n_name + 1, equals + 1, n_path);
    const hn_adapter_order o = { .name = text, .path = text + n_name + 1, .scale = scale };
    const hn_status status = add(m, &o);
    hn_free(shelf->heap, text);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "--lora %s: ", word);
}

/* ---- folders ---- */

/* What is there to be done for each adapter of a folder. */
typedef struct walk {
    hn_served *model;
    hn_status (*visit)(struct walk *w, const hn_adapter_order *o);
    hn_status status;
    void (*tell)(void *context, const char *sentence);
    void *context;
} walk;

/* NAME.gguf; one that begins with a dot is being written. */
static bool visit_file(void *context, const char *file)
{
    static const char end[] = ".gguf";
    walk *w = context;
    const size_t n = strlen(file);
    if (file[0] == '.' || n < sizeof end || strcmp(file + n - (sizeof end - 1), end) != 0)
        return true;
    hn_str name = hn_str_on(w->model->shelf->heap), path = hn_str_on(w->model->shelf->heap);
    hn_str_add_bytes(&name, file, n - (sizeof end - 1));
    hn_str_print(&path, "%s/%s", w->model->o.folder, file);
    w->status = hn_str_status(&name) == HN_OK ? hn_str_status(&path) : hn_str_status(&name);
    const hn_adapter_order o = { .name = name.text, .path = path.text };
    if (w->status == HN_OK)
        w->status = w->visit(w, &o);
    hn_str_free(&name);
    hn_str_free(&path);
    return w->status == HN_OK;
}

static hn_status each_file(walk *w)
{
    const char *folder = w->model->o.folder;
    if (!hn_os_folder_each(folder, visit_file, w))
        return hn_fail(HN_ERR_IO, "%s: %s", folder, strerror(errno));
    return w->status;
}

static hn_status add_file(walk *w, const hn_adapter_order *o) { return add(w->model, o); }

hn_status hn_shelf_add_folder(hn_shelf *shelf, const char *word)
{
    const char *colon = strchr(word, ':');
    hn_served *m = colon ? hn_shelf_model(shelf, word, (size_t)(colon - word)) : NULL;
    const char *folder = m ? colon + 1 : word;
    m = m ? m : shelf->n ? shelf->models[0] : NULL;
    HN_REQUIRE(m && *folder, HN_ERR_ARGUMENT, "--adapters %s: expected FOLDER or MODEL:FOLDER", word);
    HN_REQUIRE(!m->o.folder, HN_ERR_ARGUMENT, "--adapters %s: %s has a folder already: %s", word, m->name, m->o.folder);
    m->o.folder = folder;
    m->o.takes_adapters = true;
    walk w = { .model = m, .visit = add_file };
    const hn_status status = each_file(&w);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "--adapters %s: ", word);
}

/* ---- what changed ---- */

static void tell(const walk *w, const char *name, const char *what)
{
    hn_str sentence = hn_str_on(w->model->shelf->heap);
    hn_str_print(&sentence, "adapter %s:%s: %s", w->model->name, name, what);
    w->tell(w->context, hn_str_status(&sentence) == HN_OK ? sentence.text : "out of memory");
    hn_str_free(&sentence);
}

static void retake(const walk *w, const hn_adapter_order *o, const char *what)
{
    hn_failure why;
    const bool is_well = hn_served_retake_adapter(w->model, o, &why);
    tell(w, o->name, is_well ? what : why.message);
}

static bool is_of_folder(const hn_served *m, const char *path)
{
    const size_t n = m->o.folder ? strlen(m->o.folder) : 0;
    return n && !strncmp(path, m->o.folder, n) && path[n] == '/' && hn_os_is_plain_name(path + n + 1);
}

/* `digest`: of the file that was taken; "": none was yet. */
static void look_again(const walk *w, const hn_adapter_order *o, const char *digest)
{
    char now[65];
    hn_failure why;
    if (is_of_folder(w->model, o->path) && !hn_os_is_there(o->path)) {
        if (hn_served_drop_adapter(w->model, o->name, o->owner, &why))
            tell(w, o->name, "dropped: its file is gone");
    } else if (hn_sha256_file(o->path, now) != HN_OK)
        tell(w, o->name, hn_error_message());
    else if (*digest && strcmp(digest, now) != 0)
        retake(w, o, "taken anew");
}

static hn_status take_new(walk *w, const hn_adapter_order *o)
{
    hn_os_mutex_lock(&w->model->shelf->lock);
    const hn_served_adapter *a = hn_served_adapter_of(w->model, o->name, 0);
    hn_os_mutex_unlock(&w->model->shelf->lock);
    if (!a)
        retake(w, o, "taken");
    return HN_OK;
}

/* The i-th of the list, on the heap; it stays there while its errands are done, which change the list. */
static hn_served_adapter *copy_of(hn_served *m, int i)
{
    hn_served_adapter *copy = NULL;
    hn_os_mutex_lock(&m->shelf->lock);
    const hn_served_adapter *a = m->adapters;
    while (a && (!a->is_listed || i-- > 0))
        a = a->next;
    const size_t bytes = a ? sizeof *a + strlen(a->path) + 1 : 0;
    if (a && (copy = hn_alloc(m->shelf->heap, HN_TAG_STATE, bytes))) { /* not its number, which is the runner's */
        memcpy(copy->name, a->name, sizeof a->name);
        memcpy(copy->digest, a->digest, sizeof a->digest);
        memcpy(copy->path, a->path, strlen(a->path) + 1);
        copy->scale = a->scale;
        copy->owner = a->owner;
    }
    hn_os_mutex_unlock(&m->shelf->lock);
    return copy;
}

/* Of the last first: one that is taken anew goes to the list's end, behind those that were looked at. */
static void reload(void *context)
{
    walk *w = context;
    hn_served *m = w->model;
    int n = 0;
    for (hn_served_adapter *a; (a = copy_of(m, n)); n++)
        hn_free(m->shelf->heap, a);
    while (n--) {
        hn_served_adapter *a = copy_of(m, n);
        if (!a)
            continue;
        const hn_adapter_order o = { .name = a->name, .path = a->path, .scale = a->scale, .owner = a->owner };
        look_again(w, &o, a->digest);
        hn_free(m->shelf->heap, a);
    }
    w->visit = take_new;
    if (m->o.folder && each_file(w) != HN_OK)
        w->tell(w->context, hn_error_message());
}

void hn_shelf_reload(hn_shelf *shelf, void (*tells)(void *context, const char *sentence), void *context)
{
    for (int32_t i = 0; i < shelf->n; i++) {
        walk w = { .model = shelf->models[i], .tell = tells, .context = context };
        hn_served_hold(w.model);
        hn_served_forget(w.model);
        hn_worker_do(&w.model->clerk, reload, &w);
        hn_served_let_go(w.model);
    }
}
