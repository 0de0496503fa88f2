/* Fine-tunes a model and at once talks with what came of it, in one process, through the installed library:
 *     cc tune.c $(pkg-config --cflags --libs hone) -o tune
 *     ./tune MODEL DATA FOLDER QUESTION [OPTION=VALUE]...
 * It says what `hone train` and then `hone chat --lora` with the same options say. */
#include <hone/hone.h>

#include <stdio.h>
#include <string.h>

static void print(void *context, const char *text, size_t bytes)
{
    (void)context;
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
}

/* The model with the adapter; where whole tensors were trained, the file is a model itself. */
static hn_status open_tuned(hn_lm **lm, hn_engine *engine, const char *model, const char *result)
{
    const char *ending = strrchr(result, '/');
    if (ending && !strcmp(ending, "/model.gguf"))
        return hn_lm_open(lm, engine, result, NULL);
    const hn_status status = hn_lm_open(lm, engine, model, NULL);
    return status == HN_OK ? hn_lm_add_adapter(*lm, result, NULL) : status;
}

static hn_status use(hn_engine *engine, const char *model, const char *result, const char *question)
{
    hn_lm *lm = NULL;
    hn_lm_chat *chat = NULL;
    const hn_lm_chat_options options = { .size = sizeof options, .on_text = print, .max_answer = 60 };
    hn_status status = open_tuned(&lm, engine, model, result);
    if (status == HN_OK)
        status = hn_lm_chat_new(&chat, lm, &options);
    if (status == HN_OK)
        status = hn_lm_chat_ask(chat, question, NULL, 0);
    puts("");
    hn_lm_chat_free(chat);
    hn_lm_close(lm);
    return status;
}

int main(int argc, char **argv)
{
    hn_engine *engine = NULL;
    hn_finetune_result result;
    if (argc < 5) {
        fprintf(stderr, "usage: tune MODEL DATA FOLDER QUESTION [OPTION=VALUE]...\n");
        return 2;
    }
    const char *data = argv[2];
    const hn_finetune_spec spec = { .size = sizeof spec, .model = argv[1], .data = &data, .n_data = 1, .out = argv[3],
                                    .settings = (const char *const *)(argv + 5), .n_settings = argc - 5 };
    const int is_done = hn_engine_new(&engine, NULL) == HN_OK && hn_finetune(engine, &spec, &result, sizeof result) == HN_OK &&
                        use(engine, argv[1], result.path, argv[4]) == HN_OK;
    if (!is_done)
        fprintf(stderr, "%s\n", hn_error_message());
    hn_engine_free(engine);
    return is_done ? 0 : 1;
}
