"""lm-evaluation-harness against a running server: its log-likelihoods beside those of `hone eval`.

    python tools/reference/lm_eval_served.py build/hone [--model hone:tiny] [--examples 40]

The harness's own `local-completions` asks for them, in batches and several at a time, and reads them out of the reply; only its
tokenizer is the server's (/tokenize), for a file of hone needs no other program's. What it says of each completion and the token by
which a text ends is added up and held to the loss that `hone eval --plain` has of the same examples. Needs: pip install
lm-eval[api]. With 0.4.13 and the built-in model, 40 examples of 460 tokens: asked one by one, eight in a request and six at a time
they are the same to the bit, and their mean is 20.1288510142, where hone eval, which adds up in 32 bits, has 20.1288505554."""
import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import urllib.request

from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalCompletionsAPI

BEGINNINGS = ["Once upon a time", "The old man", "In the garden", "Nobody knew why", "At night the cat", "My sister"]
ENDS = [" there was a little house by the sea.", " went to the market.", " sat down, and said nothing more about it.", " saw a red bird."]
PARTS = [" and", ", who was tired,", " in the end", ""]


def ask(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


class Served(LocalCompletionsAPI):
    def __init__(self, url, **options):
        super().__init__(base_url=url + "/v1/completions", tokenizer_backend=None, tokenized_requests=True, **options)
        self.url = url
        self.tokenizer = self  # the harness wants to see one
        self.tokenized_requests = True

    def tok_encode(self, string, **_):
        return ask(self.url, "/tokenize", {"content": string, "add_special": True, "parse_special": True})["tokens"]


def likelihoods(url, model, pairs, at_a_time, batch):
    lm = Served(url, model=model, num_concurrent=at_a_time, batch_size=batch, max_length=2048)
    requests = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
    return [value for value, _ in lm.loglikelihood(requests, disable_tqdm=True)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("hone")
    p.add_argument("--model", default="hone:tiny")
    p.add_argument("--end", default="<|end|>", help="the token by which a text ends")
    p.add_argument("--examples", type=int, default=40)
    args = p.parse_args()
    pairs = [(b + m, e) for b, m, e in itertools.product(BEGINNINGS, PARTS, ENDS)][: args.examples]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as data:
        for prompt, completion in pairs:
            data.write(json.dumps({"prompt": prompt, "completion": completion}) + "\n")
        data.flush()
        out = subprocess.run([args.hone, "eval", args.model, "--data", data.name, "--plain", "--json"], check=True, capture_output=True)
    base = json.loads(out.stdout)
    print("hone eval:", out.stdout.decode().strip()[:300])
    server = subprocess.Popen([args.hone, "serve", f"m={args.model}", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        url = server.stdout.readline().decode().strip()
        said = [likelihoods(url, "m", [(a, b + args.end) for a, b in pairs], *how) for how in [(1, 1), (1, 8), (6, 1)]]
    finally:
        server.terminate()
        server.wait()
    same = said[0] == said[1] == said[2]
    sums = find(base, "loss"), find(base, "tokens")
    mean = -sum(said[0]) / sums[1]
    print(f"{len(pairs)} completions one by one, eight in a request, six at a time: {'the same' if same else 'DIFFERENT'}")
    print(f"loss by the harness {mean:.12g}, by hone eval {sums[0]:.12g}")
    sys.exit(0 if same and abs(mean - sums[0]) <= 1e-6 * abs(sums[0]) else 1)


def find(value, key):
    """The first number of this name."""
    if isinstance(value, dict):
        if isinstance(value.get(key), (int, float)):
            return value[key]
        value = list(value.values())
    for one in value if isinstance(value, list) else []:
        found = find(one, key)
        if found is not None:
            return found
    return None


if __name__ == "__main__":
    main()
