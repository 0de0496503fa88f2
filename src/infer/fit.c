/* For each device in turn, the most layers that fit are searched by halves: more of them never need less. A trial puts
 * the rest on the device after it, whose turn has not come. The last takes what is left, and then everything must
 * fit: the devices in the host's memory together. */
#include "infer/fit.h"

#include <stdio.h>
#include <string.h>

typedef struct fit {
    hn_run_spec run;
    hn_device *devices[HN_MAX_DEVICES]; /* the run's, and its host */
    int n;
    size_t available[HN_MAX_DEVICES];
    int64_t n_layer;
    hn_fit_plan *plan;
    void *context;
    hn_device_bytes on[HN_MAX_DEVICES];
} fit;

static hn_status list_devices(fit *f)
{
    f->n = f->run.n_devices;
    memcpy(f->devices, f->run.devices, (size_t)f->n * sizeof *f->devices);
    HN_TRY(hn_devices_add_host(&f->n, f->devices));
    for (int d = 0; d < f->n; d++)
        f->available[d] = f->devices[d]->backend->available(f->devices[d]);
    return HN_OK;
}

void hn_fit_count(const hn_run_spec *run, int n, const hn_executable *const *all, hn_device_bytes on[HN_MAX_DEVICES])
{
    fit f = { .n = run->n_devices };
    memcpy(f.devices, run->devices, (size_t)f.n * sizeof *f.devices);
    if (hn_devices_add_host(&f.n, f.devices) != HN_OK)
        return; /* nothing was planned on so many */
    for (int d = 0; d < f.n; d++)
        on[d] = hn_executables_on(n, all, f.devices[d]);
}

static hn_status try_split(fit *f)
{
    memset(f->on, 0, sizeof f->on);
    return f->plan(f->context, &f->run, f->on);
}

/* What `device` and the devices before it have is left to others: layers from `from` on, `n` of them on it. */
static void put(fit *f, int device, int64_t from, int64_t n)
{
    nn_split *s = &f->run.split;
    s->end[device] = from + n;
    for (int d = device + 1; d < s->n; d++)
        s->end[d] = f->n_layer;
}

static hn_status most_layers(fit *f, int device, int64_t from, int64_t *out)
{
    int64_t fits = 0, fails = f->n_layer - from + 1;
    for (int64_t n = fails - 1; fits + 1 < fails; n = (fits + fails) / 2) {
        put(f, device, from, n);
        HN_TRY(try_split(f));
        if (hn_device_needs(&f->on[device]) <= f->available[device])
            fits = n;
        else
            fails = n;
    }
    *out = fits;
    return HN_OK;
}

static hn_status refuse(const fit *f, int device, size_t need, const hn_device_bytes *b)
{
    int64_t from, end;
    char what[64];
    nn_split_layers(&f->run.split, f->n_layer, device, &from, &end);
    if (from < end)
        snprintf(what, sizeof what, "layers %lld to %lld", (long long)from, (long long)end - 1);
    else
        snprintf(what, sizeof what, device + 1 == f->run.split.experts ? "the experts" : "the other ops");
    return hn_fail(HN_ERR_MEMORY,
                   "%s: %s need %zu bytes (weights %zu, cache and states %zu, sums %zu, inputs %zu, workspace %zu, less %zu that "
                   "are there), and %zu are available: the layers do not fit",
                   f->devices[device]->name, what, need, b->weights, b->states, b->sums, b->inputs, b->workspace, b->held,
                   f->available[device]);
}

static hn_status check_all(const fit *f)
{
    hn_device_bytes host = { 0 };
    size_t on_host = 0;
    int last = -1;
    for (int d = 0; d < f->n; d++) {
        const size_t need = hn_device_needs(&f->on[d]);
        const hn_device_bytes *b = &f->on[d];
        if (!hn_device_is_host(f->devices[d])) {
            if (need > f->available[d])
                return refuse(f, d, need, b);
            continue;
        }
        host.weights += b->weights, host.states += b->states, host.sums += b->sums, host.inputs += b->inputs;
        host.workspace += b->workspace, host.held += b->held;
        on_host += need;
        last = d;
    }
    return last >= 0 && on_host > f->available[last] ? refuse(f, last, on_host, &host) : HN_OK;
}

/* The last device takes what is left. Where that is too much, and its memory is its own, the weights of as few layers as
 * can be are sent there in each run. */
static hn_status settle_last(fit *f, int64_t from)
{
    nn_split *s = &f->run.split;
    const int last = s->n - 1;
    if (s->n > 1)
        s->end[last] = f->n_layer;
    HN_TRY(try_split(f));
    if (hn_device_needs(&f->on[last]) <= f->available[last] || hn_device_is_host(f->devices[last]) || s->streamed[last])
        return check_all(f);
    int64_t fails = 0, fits = f->n_layer - from + 1;
    for (int64_t n = fits - 1; fails + 1 < fits; n = (fails + fits) / 2) {
        s->streamed[last] = n;
        HN_TRY(try_split(f));
        if (hn_device_needs(&f->on[last]) <= f->available[last])
            fits = n;
        else
            fails = n;
    }
    s->streamed[last] = fits <= f->n_layer - from ? fits : 0;
    HN_TRY(try_split(f));
    return check_all(f);
}

hn_status hn_fit_layers(hn_run_spec *run, int64_t n_layer, hn_fit_plan *plan, void *context)
{
    fit f = { .run = *run, .n_layer = n_layer, .plan = plan, .context = context };
    if (!run->fits)
        return HN_OK;
    f.run.fits = false;
    f.run.split = hn_run_split(run, n_layer);
    f.run.streams = false; /* the split says so */
    HN_TRY(list_devices(&f));
    int64_t from = 0;
    for (int d = 0; d + 1 < f.run.split.n; d++) {
        int64_t n;
        HN_TRY(most_layers(&f, d, from, &n));
        from += n;
        put(&f, d, from - n, n);
    }
    HN_TRY(settle_last(&f, from));
    *run = f.run;
    return HN_OK;
}
