"""Losses and low-rank gradients of preferences (DPO, ORPO, KTO) and of staying near the base (KL), in float64.

    python tools/reference/preferences.py MODELS_DIR OUT_DIR [name ...]

OUT_DIR/NAME.safetensors: pairs of sequences (ids, weights, begin: chosen, rejected, chosen, ...),
A and B, and under dpo., orpo., kto., held. and kl. the gradients of

    dpo   mean over pairs of -log sigmoid(BETA * ((c - c0) - (r - r0))), sums of log-probabilities
          of supervised tokens, of the model with the changes and of the base
    orpo  over pairs, of which the second counts twice, the weighted mean of
          -c - BETA * log sigmoid(log odds of exp(c) less those of exp(r)), means of log-probabilities
          of supervised tokens; the odds as TRL's odds_ratio_loss has them
    kto   over sequences 5, 2, 1, 0 as single examples, labelled true and false in turn, of which the
          second counts twice, the weighted mean of WANTED or UNWANTED times 1 - sigmoid(BETA *
          (gain - z)), or of z - gain where the label is false, as TRL's kto_loss; gain is
          log-probabilities of supervised tokens beyond the base's, z the mean gain of each prompt with
          the answer before it, the first with the last's, cut at the length of the longest sequence,
          0 at least, without a gradient
    held  the same of 0 to 5, whose mean is below 0
    kl    sum of weight * (nll + KL_WEIGHT * KL(changed, base)) / sum of weights, of the chosen ones

with the losses in __metadata__.
"""
import os
import sys

import torch
from safetensors.torch import save_file
from torch.func import functional_call

import gradients as g

BETA, KL_WEIGHT = 0.3, 0.5
WANTED, UNWANTED = 1.5, 0.75


def draw(vocab):
    rng = torch.Generator().manual_seed(11)
    sequences = []
    for lengths in ((5, 7, 4), (3, 6, 9), (8, 5, 5)):
        prompt, chosen, rejected = (torch.randint(3, vocab, (n,), generator=rng) for n in lengths)
        for answer in (chosen, rejected):
            sequences.append((torch.cat([prompt, answer]),
                              torch.cat([torch.zeros(len(prompt)), torch.ones(len(answer))]).double()))
    return sequences


def log_probabilities(model, weights, ids):
    logits = functional_call(model, weights, (ids[None],), {"use_cache": False}).logits[0]
    return torch.log_softmax(logits, -1)


def said(logs, ids, w):
    return (logs[:-1].gather(1, ids[1:, None])[:, 0] * w[1:]).sum()


def dpo(model, changed, base, batch):
    loss = 0
    for i in range(0, len(batch), 2):
        margin = 0
        for sign, (ids, w) in ((1, batch[i]), (-1, batch[i + 1])):
            gain = said(log_probabilities(model, changed, ids), ids, w)
            gain = gain - said(log_probabilities(model, base, ids), ids, w).detach()
            margin = margin + sign * gain
        loss = loss - torch.nn.functional.logsigmoid(BETA * margin)
    return loss / (len(batch) // 2)


def orpo(model, changed, base, batch):
    loss = total = 0
    for i in range(0, len(batch), 2):
        weight = 2 if i == 2 else 1
        c, r = (said(log_probabilities(model, changed, ids), ids, w) / w[1:].sum() for ids, w in batch[i:i + 2])
        odds = (c - r) - (torch.log1p(-c.exp()) - torch.log1p(-r.exp()))
        loss = loss + weight * (-c - BETA * torch.nn.functional.logsigmoid(odds))
        total = total + weight
    return loss / total


def gain_of(model, changed, base, ids, w):
    return said(log_probabilities(model, changed, ids), ids, w) - \
        said(log_probabilities(model, base, ids), ids, w).detach()


def kto(model, changed, base, batch, order=(5, 2, 1, 0)):
    batch = [batch[i] for i in order]
    longest = max(len(ids) for ids, _ in batch)
    anchor = 0
    for i, (ids, w) in enumerate(batch):
        other, v = batch[i - 1]
        joined = torch.cat([ids[w == 0], other[v > 0]])[:longest]
        where = (torch.arange(len(joined)) >= int((w == 0).sum())).double()
        anchor = anchor + gain_of(model, changed, base, joined, where).detach() / len(batch)
    anchor = anchor.clamp(min=0)
    loss = total = 0
    for i, (ids, w) in enumerate(batch):
        weight, gain = 2 if i == 1 else 1, gain_of(model, changed, base, ids, w)
        beyond = gain - anchor if i % 2 == 0 else anchor - gain
        loss = loss + weight * (WANTED if i % 2 == 0 else UNWANTED) * (1 - torch.sigmoid(BETA * beyond))
        total = total + weight
    return loss / total


def held(model, changed, base, batch):
    return kto(model, changed, base, batch, range(6))


def kl(model, changed, base, batch):
    loss = total = 0
    for ids, w in batch[::2]:
        q = log_probabilities(model, changed, ids)
        p = log_probabilities(model, base, ids).detach()
        loss = loss - said(q, ids, w) + KL_WEIGHT * (((q.exp() * (q - p)).sum(-1))[:-1] * w[1:]).sum()
        total = total + w[1:].sum()
    return loss / total


def main():
    for name in sys.argv[3:] or ["llama", "qwen3moe", "gemma4-moe"]:
        model = g.load(os.path.join(sys.argv[1], name), torch.float64)
        base = g.weights_of(model)
        text = model.config.get_text_config()
        targets = [t for i in range(text.num_hidden_layers) for t in g.TARGETS[name](i)]
        batch = draw(text.vocab_size)
        lora = g.make_lora(base, targets)
        out, losses = dict(lora), {}
        with g.Double():
            for kind, loss_of in (("dpo", dpo), ("kl", kl), ("orpo", orpo), ("kto", kto),
                                  ("held", held)):
                own = g.leaves_of(lora)
                loss = loss_of(model, g.changed(base, own, targets), base, batch)
                loss.backward()
                losses[kind] = repr(loss.item())
                for n, t in own.items():
                    out[f"{kind}.{n}"] = (t.grad if t.grad is not None else torch.zeros_like(t))
        out = {n: t.float() for n, t in out.items()}
        out["ids"] = torch.cat([i for i, _ in batch]).int()
        out["weights"] = torch.cat([w for _, w in batch]).float()
        out["begin"] = torch.tensor([0] + [sum(len(i) for i, _ in batch[:k + 1]) for k in range(len(batch))]).int()
        os.makedirs(sys.argv[2], exist_ok=True)
        save_file(out, os.path.join(sys.argv[2], name + ".safetensors"), losses)
        print(name, losses)


main()
