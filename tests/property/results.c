/* Structs of a caller's that the library fills, of a caller that was compiled against an older or a newer hone: of every HN_RESULT of
 * structs.def, through the functions that fill it, every room up to its own, rooms of newer ones, and what is no room: what was not
 * said to be there is not written. And as if each had grown. */
#include "base/os/files.h"
#include "base/os/folders.h"
#include "engine/structs.h"
#include "hone/hone.h"
#include "tests/property/struct_sizes.h"
#include "tests/harness/check.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 16384, FAR = 4096 };

static hn_engine *engine;
static hn_lm *lm;
static _Alignas(16) unsigned char bytes[ROOM];
static hn_lm_plan *plan;
static hn_lm_file *file;
static hn_lm_chat *chat;
static hn_lm_batch *batch;
static hn_lm_scheduler *scheduler;
static hn_lm_disk *disk;
static hn_lm_grammar *grammar;
static hn_lm_matcher *matcher;
static hn_examples *good;

static hn_status give_sampling(void *to, size_t size)
{
    return hn_lm_sampling_default(to, size);
}

static hn_status give_arch(void *to, size_t size)
{
    return hn_lm_arch_at(0, to, size);
}

static hn_status give_arch_named(void *to, size_t size)
{
    return hn_lm_arch_named("llama", to, size);
}

static hn_status give_device_op(void *to, size_t size)
{
    return hn_device_op_at(engine, 0, 0, to, size);
}

/* Of a node, and of what was computed of it. */
static hn_status give_shape_of(bool computed, void *to, size_t size)
{
    static const float data[] = { 1, 2, 3, 4, 5, 6 };
    hn_builder *b;
    hn_exec *x = NULL;
    hn_status status = hn_builder_new(&b, engine);
    if (status != HN_OK)
        return status;
    hn_node *in = hn_builder_leaf(b, "input", "x", "f32", 2, (int64_t[]){ 2, 3 });
    hn_node *y = hn_builder_op(b, "neg", NULL, 1, &in);
    if (computed)
        status = hn_exec_new(&x, b, 1, &y, NULL);
    if (computed && status == HN_OK)
        status = hn_exec_write(x, in, data, sizeof data);
    if (computed && status == HN_OK)
        status = hn_exec_run(x);
    if (status == HN_OK)
        status = computed ? hn_exec_shape(x, 0, to, size) : hn_node_shape(y, to, size);
    hn_exec_free(x);
    hn_builder_free(b);
    return status;
}

static hn_status give_node_shape(void *to, size_t size) { return give_shape_of(false, to, size); }
static hn_status give_exec_shape(void *to, size_t size) { return give_shape_of(true, to, size); }

static hn_status give_sizes(void *to, size_t size)
{
    return hn_lm_measure(lm, NULL, to, size);
}

static hn_status give_planned_model(void *to, size_t size)
{
    return hn_lm_plan_model(plan, to, size);
}

static hn_status give_planned(void *to, size_t size)
{
    return hn_lm_plan_at(plan, 0, to, size);
}

static hn_status give_planned_device(void *to, size_t size)
{
    return hn_lm_plan_device(plan, 0, 0, to, size);
}

static hn_status give_planned_op(void *to, size_t size)
{
    return hn_lm_plan_op(plan, 0, 0, to, size);
}

static hn_status give_tensor(void *to, size_t size)
{
    return hn_lm_file_tensor(file, 0, to, size);
}

static hn_status give_key(void *to, size_t size)
{
    return hn_lm_file_key(file, 0, to, size);
}

static hn_status give_item(void *to, size_t size)
{
    return hn_lm_file_item(file, 0, 0, to, size);
}

static hn_status give_place(void *to, size_t size)
{
    return hn_examples_read(good, 0, to, size);
}

static hn_status give_judgement(void *to, size_t size)
{
    return hn_examples_judge(good, NULL, to, size, NULL, 0);
}

static hn_status give_gradients(void *to, size_t size)
{
    const hn_examples_gradients_options o = { .size = sizeof o, .out = "results.safetensors", .overwrite = 1 };
    return hn_examples_differentiate(good, &o, to, size);
}

static hn_status give_perplexity(void *to, size_t size)
{
    const hn_lm_perplexity_options o = { .size = sizeof o, .chunk = 4 };
    return hn_lm_perplexity_of(lm, (const int32_t[]){ 5, 6, 7, 8 }, 4, &o, to, size);
}

static hn_status give_turn(void *to, size_t size)
{
    return hn_lm_chat_ask(chat, "Who?", to, size);
}

static hn_status give_counts(void *to, size_t size)
{
    return hn_lm_scheduler_count(scheduler, to, size);
}

static hn_status give_running(void *to, size_t size)
{
    return hn_lm_scheduler_running(scheduler, 0, to, size);
}

static hn_status give_disk(void *to, size_t size)
{
    return hn_lm_disk_count(disk, to, size);
}

static hn_status give_answer(void *to, size_t size)
{
    return hn_lm_chat_answer(chat, "[{\"role\": \"user\", \"content\": \"Who?\"}]", to, size);
}

static hn_status give_estimate(void *to, size_t size)
{
    const hn_finetune_spec spec = { .size = sizeof spec, .model = hn_lm_builtin(), .data = (const char *[]){ "results.jsonl" },
                                    .n_data = 1 };
    return hn_finetune_plan(engine, &spec, to, size);
}

/* These fail, for another reason: with zeros. */

static hn_status give_trial(void *to, size_t size)
{
    return hn_lm_apply_adapter(lm, "nowhere.gguf", NULL, to, size);
}

static hn_status give_batch_trial(void *to, size_t size)
{
    int32_t adapter;
    return hn_lm_batch_apply_adapter(batch, "nowhere.gguf", NULL, &adapter, to, size);
}

static hn_status give_judged_trial(void *to, size_t size)
{
    static hn_examples_judgement judgement;
    const hn_examples_judge_options o = { .size = sizeof o, .adapter = "nowhere.gguf" };
    return hn_examples_judge(good, &o, &judgement, sizeof judgement, to, size);
}

static hn_status give_mask(void *to, size_t size)
{
    return hn_lm_matcher_mask(matcher, to, size);
}

static hn_status give_style(void *to, size_t size)
{
    return hn_lm_call_style_of(lm, "hermes", to, size);
}

static hn_status give_result(void *to, size_t size)
{
    return hn_finetune(engine, &(hn_finetune_spec){ .size = sizeof(hn_finetune_spec) }, to, size);
}

static hn_status give_finished(void *to, size_t size)
{
    return hn_finetune_run_finish(NULL, to, size);
}

static hn_status give_page(void *to, size_t size)
{
    return hn_finetune_run_report(NULL, to, size);
}

static const struct {
    const char *name;
    hn_status (*give)(void *to, size_t size);
    bool fails;
} givers[] = {
    { "hn_lm_sampling", give_sampling, false },
    { "hn_lm_arch", give_arch, false },
    { "hn_lm_arch", give_arch_named, false },
    { "hn_device_op", give_device_op, false },
    { "hn_shape", give_node_shape, false },
    { "hn_shape", give_exec_shape, false },
    { "hn_lm_sizes", give_sizes, false },
    { "hn_lm_planned_model", give_planned_model, false },
    { "hn_lm_planned", give_planned, false },
    { "hn_lm_planned_device", give_planned_device, false },
    { "hn_lm_planned_op", give_planned_op, false },
    { "hn_lm_tensor", give_tensor, false },
    { "hn_lm_key", give_key, false },
    { "hn_lm_item", give_item, false },
    { "hn_examples_place", give_place, false },
    { "hn_examples_judgement", give_judgement, false },
    { "hn_examples_gradients", give_gradients, false },
    { "hn_lm_perplexity", give_perplexity, false },
    { "hn_lm_scheduler_counts", give_counts, false },
    { "hn_lm_scheduler_place", give_running, false },
    { "hn_lm_disk_counts", give_disk, false },
    { "hn_lm_mask", give_mask, false },
    { "hn_lm_call_style", give_style, false },
    { "hn_lm_turn", give_turn, false },
    { "hn_lm_turn", give_answer, false },
    { "hn_finetune_estimate", give_estimate, false },
    { "hn_lm_adapter_trial", give_trial, true },
    { "hn_lm_adapter_trial", give_batch_trial, true },
    { "hn_lm_adapter_trial", give_judged_trial, true },
    { "hn_finetune_result", give_result, true },
    { "hn_finetune_result", give_finished, true },
    { "hn_finetune_page", give_page, true },
};

enum { N_GIVERS = sizeof givers / sizeof *givers };

/* A caller with `room` bytes: nothing behind them is written, and what a newer one has more is zero. Whether it was given. */
static bool is_given(int i, size_t room, size_t own)
{
    size_t behind = 0, beyond = 0, given = 0;
    memset(bytes, 0xa5, sizeof bytes);
    const hn_status status = givers[i].give(bytes, room);
    for (size_t k = 0; k < ROOM; k++) {
        given += k < room && k < own && bytes[k] && bytes[k] != 0xa5;
        beyond += k >= own && k < room && bytes[k];
        behind += k >= room && bytes[k] != 0xa5;
    }
    CHECK_THAT(!behind && !beyond, "%s of %zu, %zu of them the library's: %zu bytes written behind it, %zu beyond it not zero",
               givers[i].name, room, own, behind, beyond);
    return givers[i].fails ? status != HN_OK && !given : CHECK_OK(status) && given > 0;
}

/* Nothing was written, and its size is what it was refused for. */
static bool is_room_refused(int i, size_t room)
{
    char sentence[96];
    memset(bytes, 0xa5, sizeof bytes);
    snprintf(sentence, sizeof sentence, "%s.size is %zu: ", givers[i].name, room);
    bool is_untouched = givers[i].give(bytes, room) == HN_ERR_ARGUMENT;
    for (size_t k = 0; k < ROOM; k++)
        is_untouched = is_untouched && bytes[k] == 0xa5;
    return is_untouched && !strncmp(hn_error_message(), sentence, strlen(sentence));
}

static void check_rooms(int i)
{
    const size_t own = newest(givers[i].name);
    int wrong = 0;
    check_group(givers[i].name);
    for (size_t room = 0; room < own; room++)
        wrong += is_listed(givers[i].name, room) ? 0 : !is_room_refused(i, room);
    CHECK_INT(0, wrong);
    CHECK(is_given(i, own, own));
    CHECK(is_given(i, own + 64, own));
    CHECK(is_room_refused(i, own + FAR + 8));
    CHECK(is_room_refused(i, own + 1));
    CHECK(is_room_refused(i, SIZE_MAX));
    CHECK(givers[i].give(NULL, own) != HN_OK || !strcmp(givers[i].name, "hn_lm_turn") ||
          givers[i].give == give_judged_trial); /* which need not be wanted */
}

/* As if each had grown: what an older caller has room for, and no byte more. */
static void check_older_room(const hn_struct_size *s)
{
    static _Alignas(16) unsigned char from[ROOM], to[ROOM];
    memset(from, 7, sizeof from);
    for (size_t room = 8; room <= s->size + 64; room += 8) {
        size_t wrong = 0;
        memset(to, 1, sizeof to);
        const hn_giving giving = { s->name, from, s->size, to, room };
        if (!is_listed(s->name, room) && room < s->size) {
            CHECK(hn_check_giving(&giving) == HN_ERR_ARGUMENT);
            continue;
        }
        hn_give(&giving);
        for (size_t k = 0; k < ROOM; k++)
            wrong += to[k] != (k >= room ? 1 : k < s->size ? 7 : 0);
        CHECK_THAT(!wrong, "%s of %zu: %zu wrong", s->name, room, wrong);
    }
    const size_t longer = s->size + 16; /* the library's own */
    const hn_giving older = { s->name, from, longer, to, s->size };
    size_t wrong = 0;
    memset(to, 1, sizeof to);
    CHECK_OK(hn_check_giving(&older));
    hn_give(&older);
    for (size_t k = 0; k < ROOM; k++)
        wrong += to[k] != (k < s->size ? 7 : 1);
    CHECK_THAT(!wrong, "%s of %zu, the library's %zu: %zu wrong", s->name, s->size, longer, wrong);
}

/* Every one is filled by a function here. */
static void check_list(void)
{
    static const char *const given[] = {
#define HN_STRUCT(type, last)
#define HN_RESULT(type, last) #type,
#include "engine/structs.def"
#undef HN_RESULT
#undef HN_STRUCT
    };
    check_group("the list");
    for (size_t f = 0; f < sizeof given / sizeof *given; f++) {
        int i = 0;
        while (i < N_GIVERS && strcmp(givers[i].name, given[f]))
            i++;
        CHECK_THAT(i < N_GIVERS, "%s: no function here fills it", given[f]);
    }
}

#define BLOCK "results-blocks/0000000000000000000000000000000000000000000000000000000000000000.block"

/* One file is there, so that there is something to count. */
static hn_status open_disk(void)
{
    FILE *f = hn_os_folder_make("results-blocks", true) ? fopen(BLOCK, "w") : NULL;
    CHECK(f && fputs("a", f) >= 0 && !fclose(f));
    return hn_lm_disk_open(&disk, engine, "results-blocks", NULL);
}

static void check_givers(void)
{
    static const char path[] = "results.jsonl", one[] = "{\"prompt\": \"Who?\", \"completion\": \" A bird.\"}\n";
    const hn_examples_spec spec = { .size = sizeof spec, .model = hn_lm_builtin(), .data = (const char *[]){ path },
                                    .n_data = 1 };
    const hn_lm_plan_options short_plan = { .size = sizeof short_plan, .of = "token", .context = 64 };
    const hn_lm_chat_options short_chat = { .size = sizeof short_chat, .max_answer = 1 };
    FILE *f = fopen(path, "w");
    if (CHECK(f && fputs(one, f) >= 0 && !fclose(f)) && CHECK_OK(hn_examples_open(&good, engine, &spec)) &&
        CHECK_OK(hn_lm_plan_new(&plan, lm, &short_plan)) && CHECK_OK(hn_lm_chat_new(&chat, lm, &short_chat)) &&
        CHECK_OK(hn_lm_grammar_new(&grammar, engine, HN_LM_REGEX, "a+", 2, NULL)) &&
        CHECK_OK(hn_lm_matcher_new(&matcher, lm, grammar)) && CHECK_OK(hn_lm_batch_new(&batch, lm, NULL)) &&
        CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, NULL)) && CHECK_OK(open_disk()) &&
        CHECK_OK(hn_lm_scheduler_ask(scheduler, &(hn_lm_request){ .size = sizeof(hn_lm_request), .ids = (int32_t[]){ 1 }, .n = 1 },
                                     &(int64_t){ 0 })) &&
        CHECK_OK(hn_lm_scheduler_step(scheduler, &(int64_t){ 0 })) &&
        CHECK_OK(hn_lm_make_tokenizer(engine, &spec.data[0], 1, "results.gguf", NULL, NULL)) &&
        CHECK_OK(hn_lm_make(engine, "llama", "results-m.gguf",
                            &(hn_lm_make_options){ .size = sizeof(hn_lm_make_options), .tokenizer = "results.gguf" })) &&
        CHECK_OK(hn_lm_file_open(&file, engine, "results-m.gguf", NULL, 0)))
        for (int i = 0; i < N_GIVERS; i++)
            check_rooms(i);
    hn_lm_file_close(file);
    hn_lm_scheduler_free(scheduler);
    hn_lm_disk_close(disk);
    hn_os_remove(BLOCK);
    hn_os_remove("results-blocks/lock");
    hn_os_folder_remove("results-blocks");
    hn_lm_matcher_free(matcher);
    hn_lm_grammar_free(grammar);
    hn_lm_batch_free(batch);
    hn_lm_chat_free(chat);
    hn_lm_plan_free(plan);
    hn_examples_close(good);
    remove("results.safetensors");
    remove("results-m.gguf");
    remove("results.gguf");
    remove(path);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_list();
    check_group("as if each had grown");
    for (const hn_struct_size *s = hn_struct_sizes; s->name; s++)
        check_older_room(s);
    if (CHECK_OK(hn_engine_new(&engine, NULL)) && CHECK_OK(hn_lm_open(&lm, engine, hn_lm_builtin(), NULL)))
        check_givers();
    hn_lm_close(lm);
    hn_engine_free(engine);
    return check_close();
}
