/* Everything that decides which tokens training sees is opened here, once: tokenizer, template, its variables, the
 * rule. A variable that no template reads is refused. */
#include "train/data_input.h"

#include "base/number.h"
#include "base/os/files.h"
#include "base/work.h"
#include "convert/adapter_base.h"
#include "models/format.h"
#include "models/open_tokenizer.h"

#include <stdlib.h>
#include <string.h>

static hn_status read_rule(hn_data_input *in, const hn_data_choice *choice, hn_example_rule *rule)
{
    const char *name = choice->template ? choice->template : choice->name;
    const hn_chat_format *chat = in->chat.chat;
    const bool has_template =
        name || hn_chat_format_has(chat, "default") || hn_chat_format_has(chat, "tool_use");
    *rule = (hn_example_rule){ .tok = in->tok,
                               .chat = has_template ? chat : NULL,
                               .template_name = name,
                               .vars = in->chat.vars,
                               .n_vars = (size_t)choice->n_set,
                               .max_length = (size_t)choice->max_length,
                               .ignored = choice->ignore_field,
                               .n_ignored = choice->n_ignore_field,
                               .plain = choice->plain };
    if (choice->loss)
        HN_TRY(hn_loss_on_parse(choice->loss, &rule->loss));
    if (choice->too_long)
        HN_TRY(hn_cut_parse(choice->too_long, &rule->cut));
    HN_REQUIRE(rule->cut != HN_CUT_ALLOW || !choice->max_length, HN_ERR_ARGUMENT,
               "--too-long allow: expected no --max-length with it, found %lld",
               (long long)choice->max_length);
    HN_REQUIRE(!choice->plain || !name, HN_ERR_ARGUMENT,
               "--plain: expected no template, found --template%s %s",
               choice->template ? "" : "-name", name);
    return HN_OK;
}

/* "FILE:2.5": a file and how often an epoch has it; a file that is called so is one. */
static hn_status read_file_option(hn_data_input *in, const char *text, hn_data_file *out)
{
    const char *colon = strrchr(text, (int)':');
    out->path = text;
    if (!colon || hn_os_is_there(text))
        return HN_OK;
    double weight;
    if (!hn_number_parse(colon + 1, &weight))
        return HN_OK; /* opening it will say what is wrong */
    HN_REQUIRE(weight > 0 && weight <= 1000, HN_ERR_ARGUMENT,
               "%s: a weight of %g: expected more than 0 and at most 1000", text, weight);
    const size_t i = (size_t)in->n_paths, n = (size_t)(colon - text);
    in->paths[i] = hn_alloc(in->heap, HN_TAG_TEXT, n + 1);
    if (!in->paths[i])
        return HN_ERR_MEMORY;
    memcpy(in->paths[i], text, n);
    out->path = in->paths[in->n_paths++];
    out->weight = weight;
    return HN_OK;
}

hn_status hn_data_choice_ignored(const hn_data_choice *choice, hn_ignored *out)
{
    *out = (hn_ignored){ .n = choice->n_ignore };
    HN_REQUIRE(out->n <= HN_MAX_IGNORED, HN_ERR_ARGUMENT, "--ignore: expected at most %d",
               HN_MAX_IGNORED);
    for (int i = 0; i < out->n; i++)
        out->at[i] = choice->ignore[i];
    return HN_OK;
}

/* What the model says of sequences: how long they may be, and ids, which may be of rows that no
 * token has: models are padded. A tokenizer alone says nothing. */
static hn_status read_model(hn_data_input *in, const hn_data_choice *choice, const char *model,
                            hn_example_rule *rule)
{
    hn_adapter_base base;
    hn_ignored ignored;
    bool is_alone;
    HN_TRY(hn_data_choice_ignored(choice, &ignored));
    HN_TRY(hn_model_format_of(model)->is_tokenizer_alone(in->heap, model, &is_alone));
    HN_REQUIRE(!is_alone || !ignored.n, HN_ERR_ARGUMENT,
               "--ignore %s: %s is a tokenizer alone: expected a model, whose key it would be", ignored.at[0], model);
    if (is_alone)
        return HN_OK;
    const hn_status status = hn_adapter_base_open(in->heap, model, &ignored, &base);
    if (status == HN_OK) {
        const int64_t longest = hn_hparams_longest(base.hp);
        rule->context = longest > 0 ? (size_t)longest : 0;
        rule->reach = (size_t)hn_hparams_reach(base.hp);
        rule->n_ids = base.hp->n_vocab;
    }
    hn_adapter_base_close(&base);
    return status;
}

/* A variable that no template reads changes nothing, whatever it was given for. */
static hn_status check_variables(const hn_data_input *in, const hn_data_choice *choice)
{
    const char *const which = choice->template ? choice->template : choice->name;
    for (int i = 0; i < in->chat.n_vars; i++)
        HN_REQUIRE(choice->drop_unread || hn_chat_format_mentions(in->chat.chat, which, in->chat.vars[i].name),
                   HN_ERR_ARGUMENT,
                   "--set %s: expected a variable that the chat template reads, found that it reads "
                   "none of this name; --drop-unread goes on without", choice->set[i]);
    return HN_OK;
}

hn_status hn_data_input_open(hn_data_input *in, const hn_data_choice *choice, const char *model,
                             const char *const *files, int n_files)
{
    hn_data_file all[HN_MAX_DATA_FILES] = { 0 };
    hn_dataset_options options = { .files = all,
                                   .drop_empty = choice->drop_empty,
                                   .allow_unended = choice->allow_unended,
                                   .drop_unread = choice->drop_unread,
                                   .held_fraction = choice->held_fraction };
    in->chat.heap = in->heap;
    HN_REQUIRE(!choice->template || !choice->name, HN_ERR_ARGUMENT,
               "--template %s: expected no --template-name with it, found %s", choice->template, choice->name);
    const hn_work_part first = hn_work_part_begin(0, 0.3);
    HN_TRY(hn_work_part_end(&first, hn_open_tokenizer(in->heap, model, &in->tok)));
    HN_TRY(hn_chat_input_open(&in->chat, model));
    HN_REQUIRE(!choice->name || hn_chat_format_has(in->chat.chat, choice->name), HN_ERR_ARGUMENT,
               "no chat template named '%s' in the model", choice->name);
    HN_TRY(hn_chat_input_template(&in->chat, choice->template));
    HN_TRY(hn_chat_input_set(&in->chat, choice->set, choice->n_set));
    HN_TRY(check_variables(in, choice));
    HN_TRY(read_rule(in, choice, &options.rule));
    HN_TRY(read_model(in, choice, model, &options.rule));
    HN_REQUIRE(n_files + choice->n_held <= HN_MAX_DATA_FILES, HN_ERR_ARGUMENT,
               "data files: expected at most %d, found %d", HN_MAX_DATA_FILES,
               n_files + choice->n_held);
    for (int i = 0; i < n_files; i++) {
        all[options.n_files] = (hn_data_file){ .format = choice->format };
        HN_TRY(read_file_option(in, files[i], &all[options.n_files++]));
    }
    for (int i = 0; i < choice->n_held; i++)
        all[options.n_files++] =
            (hn_data_file){ .path = choice->held[i], .format = choice->format, .is_held = true };
    const hn_work_part second = hn_work_part_begin(0.3, 1);
    return hn_work_part_end(&second, hn_dataset_open(&in->dataset, in->heap, &options));
}

void hn_data_input_close(hn_data_input *in)
{
    hn_dataset_close(in->dataset);
    hn_tokenizer_free(in->tok);
    for (int i = 0; i < in->n_paths; i++)
        hn_free(in->heap, in->paths[i]);
    if (in->chat.heap)
        hn_chat_input_close(&in->chat);
}
