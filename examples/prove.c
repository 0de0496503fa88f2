/* Proves the gradients of a model on examples, through the installed library:
 *     cc prove.c $(pkg-config --cflags --libs hone) -o prove
 *     ./prove MODEL DATA [CERTIFICATE]
 * A line each: what was checked of which tensor, how often, and how much of what is allowed the worst took. Then the certificate
 * is written, as JSON, whatever it says. */
#include <hone/hone.h>

#include <stdio.h>

static void print(const hn_certificate *certificate)
{
    const hn_certificate_row *row;
    for (size_t i = 0; (row = hn_certificate_get_row(certificate, i)) != NULL; i++)
        printf("%s %s %lld %lld %.3g %.3g\n", row->subject, row->kind, (long long)row->n, (long long)row->n_failed,
               row->worst, row->bound);
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    hn_examples *examples = NULL;
    hn_certificate *certificate = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: prove MODEL DATA [CERTIFICATE]\n");
        return 2;
    }
    const char *data = argv[2];
    const hn_examples_spec spec = { .size = sizeof spec, .model = argv[1], .data = &data, .n_data = 1 };
    hn_status status = hn_engine_new(&engine, NULL);
    if (status == HN_OK)
        status = hn_examples_open(&examples, engine, &spec);
    if (status == HN_OK)
        status = hn_examples_prove(examples, NULL, &certificate);
    if (status != HN_OK)
        fprintf(stderr, "%s\n", hn_error_message());
    if (certificate) { /* also where a check did not hold */
        print(certificate);
        if (argc > 3 && hn_certificate_write(certificate, argv[3], 1) != HN_OK)
            fprintf(stderr, "%s\n", hn_error_message());
    }
    hn_certificate_free(certificate);
    hn_examples_close(examples);
    hn_engine_free(engine);
    return status == HN_OK ? 0 : 1;
}
