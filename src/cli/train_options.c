#include "cli/train_options.h"

#include <string.h>

static hn_status describe_data(hn_train_input *in, const hn_data_args *args)
{
    hn_str *text = &in->data_text;
    const char *which = args->template ? args->template : args->name;
    hn_str_print(text, "loss = %s\nmax-length = %lld\ntoo-long = %s\nplain = %d\n",
                 args->loss ? args->loss : "assistant", (long long)args->max_length,
                 args->too_long ? args->too_long : "error", args->plain);
    hn_str_print(text, "drop-empty = %d\nallow-unended = %d\nheld-fraction = %.17g\n",
                 args->drop_empty, args->allow_unended, args->held_fraction);
    for (int i = 0; i < args->set.n; i++)
        hn_str_print(text, "set %s\n", args->set.at[i]);
    HN_TRY(hn_tokenizer_digest(in->data.tok, in->tokenizer));
    if (!args->plain)
        hn_chat_format_digest(in->data.chat.chat, which, in->template);
    return hn_str_status(text);
}

hn_status hn_train_input_open(hn_train_input *in, const char *model, const hn_data_args *data,
                              const hn_list *files, int threads, FILE *shows)
{
    const char *paths[HN_MAX_LIST];
    HN_REQUIRE(files->n, HN_ERR_ARGUMENT, "expected --data FILE");
    for (int i = 0; i < files->n; i++)
        paths[i] = files->at[i];
    in->data.heap = in->heap;
    in->data_text = hn_str_on(in->heap);
    const hn_device_options open = { .n_threads = threads };
    HN_TRY(hn_data_input_open(&in->data, data, model, paths, files->n, false));
    HN_TRY(hn_data_input_check(&in->data, &in->preflight));
    if (shows)
        hn_preflight_print(&in->preflight, in->data.dataset, shows);
    HN_TRY(hn_preflight_verdict(&in->preflight, in->data.dataset));
    HN_TRY(describe_data(in, data));
    HN_TRY(hn_model_open(in->heap, model, &in->model));
    HN_REQUIRE(hn_model_hparams(in->model)->n_vocab >= hn_tokenizer_size(in->data.tok),
               HN_ERR_FORMAT, "%s: the tokenizer has %d tokens, the embedding %lld rows", model,
               hn_tokenizer_size(in->data.tok), (long long)hn_model_hparams(in->model)->n_vocab);
    return hn_devices_open(in->heap, "cpu", &open, &in->n_devices, in->devices);
}

void hn_train_input_close(hn_train_input *in)
{
    hn_devices_close(in->n_devices, in->devices);
    hn_model_close(in->model);
    hn_data_input_close(&in->data);
    if (in->data_text.heap)
        hn_str_free(&in->data_text);
}

hn_train_subject hn_train_input_subject(const hn_train_input *in, const hn_train_config *config,
                                        const char *dir)
{
    hn_train_subject s = { .model = in->model, .dataset = in->data.dataset,
                           .device = in->devices[0], .dir = dir, .config = config,
                           .data_text = in->data_text.text };
    memcpy(s.tokenizer, in->tokenizer, sizeof s.tokenizer);
    memcpy(s.template, in->template, sizeof s.template);
    return s;
}
