/* hone plan: how one training step of a built-in transformer uses memory. */
#include "base/file.h"
#include "cli/command.h"
#include "graph/plan_print.h"
#include "nn/decoder.h"
#include "train/descent.h"

#include <string.h>

typedef struct plan_args {
    int64_t layers, width, heads, kv_heads, ffn, vocab, tokens, experts, used, rank, recompute,
        threads;
    const char *mode, *device;
    bool quiet;
    hn_sink svg;
} plan_args;

static const hn_option options[] = {
    HN_INT(plan_args, layers, "layers", "N", 1, 200, "default 2"),
    HN_INT(plan_args, width, "width", "N", 1, 65536, "of the residual stream; default 64"),
    HN_INT(plan_args, heads, "heads", "N", 1, 1024, "query heads; default 4"),
    HN_INT(plan_args, kv_heads, "kv-heads", "N", 1, 1024, "key and value heads; default 2"),
    HN_INT(plan_args, ffn, "ffn", "N", 1, 262144, "default 128"),
    HN_INT(plan_args, vocab, "vocab", "N", 2, 1048576, "default 256"),
    HN_INT(plan_args, tokens, "tokens", "N", 1, 1048576, "of a micro-batch; default 64"),
    HN_INT(plan_args, experts, "experts", "N", 0, 4096, "0: dense, the default"),
    HN_INT(plan_args, used, "used", "N", 1, 64, "experts a token; default 2"),
    HN_INT(plan_args, rank, "rank", "N", 0, 4096, "of adapters; 0 trains everything, the default"),
    HN_INT(plan_args, recompute, "recompute", "N", 0, 200, "keep every n-th layer boundary; 0: all"),
    HN_INT(plan_args, threads, "threads", "N", 1, 256, "scratch is counted for so many"),
    HN_TEXT(plan_args, mode, "plan", "MODE", "separate, reuse, inplace (the default) or poison"),
    HN_TEXT(plan_args, device, "device", "LIST", "cpu, or cpu,cpu: layers are spread over them"),
    HN_OUT(plan_args, svg, "svg", "FILE", "draw it: bytes against time, a box a tensor"),
    HN_FLAG(plan_args, quiet, "quiet", "print only the bytes"),
    HN_OPTION_END,
};

static hn_status print_plan(const plan_args *args, const hn_plan *plan, hn_heap *heap, FILE *out)
{
    hn_str text = hn_str_on(heap);
    hn_plan_text(plan, &text);
    hn_status status = hn_str_status(&text);
    const char *from = args->quiet ? strstr(text.text, "\ndevice 0:") : text.text;
    if (status == HN_OK)
        fputs(from ? from + (*from == '\n') : "", out);
    hn_str_clear(&text);
    if (args->svg.path && status == HN_OK) {
        hn_plan_svg(plan, &text);
        status = hn_str_status(&text);
        const hn_span span = { text.text, text.length };
        if (status == HN_OK)
            status = hn_file_write(args->svg, &span, 1);
    }
    hn_str_free(&text);
    return status;
}

static hn_status make_plan(const plan_args *args, hn_graph *g, nn_decoder *d, int n_devices,
                           hn_device *const *devices, FILE *out)
{
    HN_REQUIRE(args->heads % args->kv_heads == 0, HN_ERR_ARGUMENT,
               "%lld heads do not divide into %lld", (long long)args->heads,
               (long long)args->kv_heads);
    hn_descent_options step = { .recompute_every = (int)args->recompute, .clip_norm = 1 };
    if (args->mode)
        HN_TRY(hn_plan_mode_parse(args->mode, &step.mode));
    const nn_decoder_options o = {
        .vocab = args->vocab, .width = args->width, .n_layer = args->layers, .n_head = args->heads,
        .n_kv_head = args->kv_heads, .head_dim = args->width / args->heads > 1 ? args->width / args->heads / 2 * 2 : 2,
        .ffn = args->ffn, .n_expert = args->experts, .n_used = args->used, .max_tokens = args->tokens,
        .lora_rank = args->rank, .n_devices = n_devices,
    };
    nn_decoder_build(d, g, &o);
    HN_TRY(hn_graph_finish(g));
    hn_descent *descent;
    HN_TRY(hn_descent_new(&descent, g, d->loss, d->n_params, d->params, n_devices, devices, &step));
    const hn_status status = print_plan(args, hn_descent_plan(descent), g->heap, out);
    hn_descent_free(descent);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands, (void)operands;
    const plan_args *args = parsed;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_device *devices[HN_MAX_DEVICES];
    int n;
    const hn_device_options open = { .n_threads = (int)args->threads };
    HN_TRY(hn_devices_open(&heap, args->device ? args->device : "cpu", &open, &n, devices));
    hn_graph *g = NULL;
    nn_decoder *d = hn_alloc(&heap, HN_TAG_GRAPH, sizeof *d);
    hn_status status = d ? hn_graph_new(&g, &heap) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = make_plan(args, g, d, n, devices, out);
    hn_graph_free(g);
    hn_free(&heap, d);
    hn_devices_close(n, devices);
    return status;
}

static const plan_args defaults = { .layers = 2, .width = 64, .heads = 4, .kv_heads = 2, .ffn = 128,
                                    .vocab = 256, .tokens = 64, .used = 2 };

const hn_command hn_cmd_plan = {
    .name = "plan",
    .operands = "",
    .summary = "show how a training step of a built-in transformer uses memory",
    .example = "plan",
    .options = options,
    .defaults = &defaults,
    .args_size = sizeof(plan_args),
    .run = run,
};
