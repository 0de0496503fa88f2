/* Finding is cheap and opening is not: a look at the data can refuse before the model is read. */
#include "train/input.h"

#include "models/open_tokenizer.h"
#include "train/run_told.h"

#include <string.h>

static hn_status describe_data(hn_train_input *in, const hn_data_choice *choice)
{
    hn_str *text = &in->data_text;
    const char *which = choice->template ? choice->template : choice->name;
    hn_str_print(text, "loss = %s\nmax-length = %lld\ntoo-long = %s\nplain = %d\n",
                 choice->loss ? choice->loss : "assistant", (long long)choice->max_length,
                 choice->too_long ? choice->too_long : "error", choice->plain);
    hn_str_print(text, "drop-empty = %d\nallow-unended = %d\nheld-fraction = %.17g\n",
                 choice->drop_empty, choice->allow_unended, choice->held_fraction);
    for (int i = 0; i < choice->n_set; i++)
        hn_str_print(text, "set %s\n", choice->set[i]);
    for (int i = 0; i < choice->n_ignore_field; i++)
        hn_str_print(text, HN_RUN_LINE_FIELD " %s\n", choice->ignore_field[i]);
    for (int i = 0; i < choice->n_ignore; i++)
        hn_str_print(text, HN_RUN_LINE_KEY " %s\n", choice->ignore[i]);
    if (choice->drop_unread)
        hn_str_add(text, "drop-unread\n");
    HN_TRY(hn_tokenizer_digest(in->data.tok, in->tokenizer));
    if (!choice->plain) {
        char usual[65];
        hn_chat_format_digest(in->data.chat.chat, which, in->template);
        hn_chat_format_digest(in->data.chat.chat, NULL, usual);
        if (strcmp(in->template, usual) != 0)
            hn_chat_format_source(in->data.chat.chat, which, &in->template_text);
    }
    return hn_str_status(text);
}

hn_status hn_train_input_find(hn_train_input *in, const char *model, const hn_data_choice *choice,
                              const char *const *files, int n_files)
{
    HN_REQUIRE(n_files > 0, HN_ERR_ARGUMENT, "expected --data FILE");
    in->data.heap = in->heap;
    in->data_text = hn_str_on(in->heap);
    in->told = hn_str_on(in->heap);
    HN_TRY(hn_run_told_write_data(model, choice, files, n_files, &in->told));
    return hn_data_input_open(&in->data, choice, model, files, n_files);
}

hn_status hn_train_input_check(hn_train_input *in, const hn_train_look *look)
{
    static const hn_train_look nobody = { 0 };
    look = look ? look : &nobody;
    HN_TRY(hn_preflight_run(in->data.dataset, &in->preflight, look->watch, look->context));
    if (look->found)
        look->found(look->context, &in->preflight, in->data.dataset);
    return hn_preflight_verdict(&in->preflight, in->data.dataset);
}

hn_status hn_train_input_open_model(hn_train_input *in, const char *model, const hn_data_choice *choice)
{
    hn_ignored ignored;
    HN_TRY(describe_data(in, choice));
    HN_TRY(hn_data_choice_ignored(choice, &ignored));
    HN_TRY(hn_model_open(in->heap, model, &ignored, &in->model));
    return hn_check_vocabulary(in->data.tok, in->model);
}

hn_status hn_train_input_open(hn_train_input *in, const char *model, const hn_data_choice *choice,
                              const char *const *files, int n_files, const hn_train_look *look)
{
    HN_TRY(hn_train_input_find(in, model, choice, files, n_files));
    HN_TRY(hn_train_input_check(in, look));
    return hn_train_input_open_model(in, model, choice);
}

void hn_train_input_close(hn_train_input *in)
{
    hn_model_close(in->model);
    hn_data_input_close(&in->data);
    if (in->data_text.heap)
        hn_str_free(&in->data_text);
    if (in->told.heap)
        hn_str_free(&in->told);
}

hn_train_subject hn_train_input_subject(const hn_train_input *in, const hn_train_config *config,
                                        const char *dir)
{
    hn_train_subject s = { .model = in->model, .dataset = in->data.dataset,
                           .run = in->run, .dir = dir, .config = config,
                           .data_text = in->data_text.text, .told = in->told.text,
                           .template_text = in->template_text };
    memcpy(s.tokenizer, in->tokenizer, sizeof s.tokenizer);
    memcpy(s.template, in->template, sizeof s.template);
    return s;
}
