/* GET /slots: what runs at the moment, request by request and without a word of them, as llama.cpp's clients read it. A model has
 * as many slots as requests may run; the first are taken, by those who came in first. */
#include "server/answer.h"
#include "server/server_state.h"

#include <string.h>

void hn_slots_note(hn_served *m)
{
    m->n_running = 0;
    while (m->scheduler && m->n_running < m->n_slots) {
        hn_slot *slot = &m->slots[m->n_running];
        if (m->n_running >= m->counts.running ||
            hn_lm_scheduler_running(m->scheduler, m->n_running, &slot->place, sizeof slot->place) != HN_OK)
            return;
        const hn_answer *a = ((const hn_choice *)slot->place.context)->answer;
        slot->sampling = a->sampling;
        slot->sampling.seed = hn_choice_seed(a->sampling.seed, ((const hn_choice *)slot->place.context)->index % a->n_each);
        slot->sampling.bias = NULL;
        slot->sampling.grammar = NULL;
        slot->place.context = NULL;
        memcpy(slot->adapter, a->adapter ? a->adapter->name : "", a->adapter ? sizeof slot->adapter : 1);
        slot->likeliest = a->likeliest;
        slot->goes_on = a->goes_on;
        slot->streams = a->streams;
        m->n_running++;
    }
}

void hn_server_add_sampling(hn_json_writer *w, const hn_lm_sampling *s)
{
    hn_json_put_double(w, "temperature", (double)s->temperature);
    hn_json_put_int(w, "top_k", s->top_k);
    hn_json_put_double(w, "top_p", (double)s->top_p);
    hn_json_put_double(w, "min_p", (double)s->min_p);
    hn_json_put_int(w, "repeat_last_n", s->last);
    hn_json_put_double(w, "repeat_penalty", (double)s->repetition);
    hn_json_put_double(w, "frequency_penalty", (double)s->frequency);
    hn_json_put_double(w, "presence_penalty", (double)s->presence);
}

static void add_params(hn_json_writer *w, const hn_slot *slot)
{
    hn_json_key(w, "params");
    hn_json_begin_object(w);
    hn_json_put_int(w, "seed", (int64_t)slot->sampling.seed);
    hn_json_put_int(w, "n_predict", slot->place.most);
    hn_json_put_int(w, "max_tokens", slot->place.most);
    hn_server_add_sampling(w, &slot->sampling);
    hn_json_put_int(w, "n_probs", slot->likeliest);
    hn_json_put_bool(w, "ignore_eos", slot->goes_on);
    hn_json_put_bool(w, "stream", slot->streams);
    hn_json_end_object(w);
}

/* What runs there. */
static void add_taken(hn_json_writer *w, const hn_slot *slot)
{
    const hn_lm_scheduler_place *p = &slot->place;
    const int64_t read = p->n_run < p->n_prompt ? p->n_run : p->n_prompt;
    hn_json_put_int(w, "id_task", p->request);
    hn_json_key(w, "adapter");
    slot->adapter[0] ? hn_json_add_string(w, slot->adapter) : hn_json_add_null(w);
    hn_json_put_int(w, "n_prompt_tokens", p->n_prompt);
    hn_json_put_int(w, "n_prompt_tokens_processed", read > p->n_reused ? read - p->n_reused : 0);
    hn_json_put_int(w, "n_prompt_tokens_cache", p->n_reused);
    add_params(w, slot);
    hn_json_key(w, "next_token"); /* an array of one, as it is there */
    hn_json_begin_array(w);
    hn_json_begin_object(w);
    hn_json_put_bool(w, "has_next_token", true);
    hn_json_put_int(w, "n_remain", p->most - p->n_drawn);
    hn_json_put_int(w, "n_decoded", p->n_drawn);
    hn_json_end_object(w);
    hn_json_end_array(w);
}

/* By the lock: of a model that is loaded, and generates. */
static void add_slots(hn_json_writer *w, const hn_served *m)
{
    for (int32_t i = 0; i < m->n_slots; i++) {
        hn_json_begin_object(w);
        hn_json_put_int(w, "id", i);
        hn_json_key(w, "model");
        hn_json_add_string(w, m->name);
        hn_json_put_int(w, "n_ctx", hn_lm_batch_context(m->batch));
        hn_json_put_bool(w, "speculative", m->o.draft || m->o.scheduler.draft);
        hn_json_put_bool(w, "is_processing", i < m->n_running);
        if (i < m->n_running)
            add_taken(w, &m->slots[i]);
        hn_json_end_object(w);
    }
}

/* Of `only`, or of all; how many are free. */
static int32_t list(hn_shelf *shelf, const hn_served *only, hn_str *out)
{
    int32_t n_free = 0;
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_array(&w);
    hn_os_mutex_lock(&shelf->lock);
    for (int32_t i = 0; i < shelf->n; i++) {
        const hn_served *m = shelf->models[i];
        if (m->state != HN_SERVED_READY || !m->batch || (only && m != only))
            continue;
        add_slots(&w, m);
        n_free += m->n_slots - m->n_running;
    }
    hn_os_mutex_unlock(&shelf->lock);
    hn_json_end_array(&w);
    hn_str_add_char(out, '\n');
    return n_free;
}

void hn_api_slots(hn_server *s, hn_http_call *call)
{
    hn_failure why = { .kind = HN_REFUSED_NOT };
    hn_json_text *query;
    hn_served *only = NULL;
    char adapter[HN_ADAPTER_NAME];
    hn_str out = hn_str_on(s->heap);
    bool is_well = hn_server_query(s, call, &query, &why);
    const char *name = is_well ? hn_field_text(hn_json_root(query), "model", NULL) : NULL;
    if (is_well && name)
        is_well = hn_shelf_look(s->shelf, name, hn_server_asker(s, call), &only, adapter, &why);
    if (is_well && !list(s->shelf, only, &out) && hn_field_int(hn_json_root(query), "fail_on_no_slot", 0))
        is_well = hn_refuse_as(&why, HN_REFUSED_NO_SLOT, "fail_on_no_slot", "every slot is taken");
    hn_json_free(query);
    if (is_well) {
        hn_server_reply(call, 200, "application/json", &out);
        return;
    }
    hn_str_free(&out);
    hn_api_refuse(s, call, &why);
}
