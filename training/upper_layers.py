"""The encoder's upper three layers with a head for planted orders: as a network to train, and as an int8 graph.

The layers start from the published weights and read the third layer as the shipped int8 graph gives it, so that
training sees what the classifier will see. Only `orders_upper.py` uses this; it needs torch, which nothing else does.
"""

from collections.abc import Iterator, Sequence
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

WIDTH, HEADS = 384, 12
LAYERS = (3, 4, 5)
UNITS = 64
DROPPED, DROPPED_IN_HEAD, DROPPED_PIECES = 0.1, 0.3, 0.1
_PARTS = {
    "o": "attention.output.dense",
    "n1": "attention.output.LayerNorm",
    "i": "intermediate.dense",
    "f": "output.dense",
    "n2": "output.LayerNorm",
}
_JOINED = ("query", "key", "value")
Pieces = Sequence[NDArray[np.float16]]


class Layer(nn.Module):
    """One layer of BERT, from the published weights."""

    def __init__(self, weights: dict[str, torch.Tensor], number: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.o = nn.Linear(WIDTH, WIDTH)
        self.n1 = nn.LayerNorm(WIDTH, eps=1e-12)
        self.i = nn.Linear(WIDTH, 4 * WIDTH)
        self.f = nn.Linear(4 * WIDTH, WIDTH)
        self.n2 = nn.LayerNorm(WIDTH, eps=1e-12)
        at = f"encoder.layer.{number}."
        with torch.no_grad():
            for kind in ("weight", "bias"):
                joined = [weights[f"{at}attention.self.{part}.{kind}"] for part in _JOINED]
                getattr(self.qkv, kind).copy_(torch.cat(joined))
                for name, part in _PARTS.items():
                    getattr(getattr(self, name), kind).copy_(weights[f"{at}{part}.{kind}"])

    def forward(self, rows: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Attend and feed forward, each added back and normed."""
        texts, tokens, width = rows.shape
        parts = (
            part.view(texts, tokens, HEADS, width // HEADS).transpose(1, 2)
            for part in self.qkv(rows).split(width, -1)
        )
        seen = functional.scaled_dot_product_attention(*parts, attn_mask=mask[:, None, None, :])
        seen = seen.transpose(1, 2).reshape(texts, tokens, width)
        rows = self.n1(rows + functional.dropout(self.o(seen), DROPPED, self.training))
        fed = self.f(functional.gelu(self.i(rows)))
        return self.n2(rows + functional.dropout(fed, DROPPED, self.training))


class Upper(nn.Module):
    """The upper layers, and a hidden layer on their mean, their largest values and the readable features."""

    def __init__(self, weights: dict[str, torch.Tensor], cues: int) -> None:
        super().__init__()
        self.ls = nn.ModuleList(Layer(weights, number) for number in LAYERS)
        self.h = nn.Linear(2 * WIDTH + cues, UNITS)
        self.out = nn.Linear(UNITS, 1)

    def forward(self, rows: torch.Tensor, mask: torch.Tensor, cues: torch.Tensor) -> torch.Tensor:
        """Return the log-odds of an order for each text of a batch."""
        if self.training:
            rows = rows * (torch.rand(rows.shape[:2]) > DROPPED_PIECES).unsqueeze(-1)
        for layer in self.ls:
            rows = layer(rows, mask)
        there = mask.unsqueeze(-1)
        mean = (rows * there).sum(1) / there.sum(1)
        largest = rows.masked_fill(~there, -1e4).amax(1)
        seen = torch.cat([mean.float(), largest.float(), cues], -1)
        units = functional.gelu(self.h(functional.dropout(seen, DROPPED_IN_HEAD, self.training)))
        return self.out(functional.dropout(units, DROPPED_IN_HEAD, self.training))[:, 0]


def batch(pieces: Pieces, cues: NDArray[np.float32], chosen: Sequence[int]) -> tuple[torch.Tensor, ...]:
    """Return the rows of some texts, padded to the longest, which of them are there, and the features."""
    longest = max(len(pieces[at]) for at in chosen)
    rows = np.zeros((len(chosen), longest, WIDTH), np.float32)
    there = np.zeros((len(chosen), longest), bool)
    for number, at in enumerate(chosen):
        rows[number, : len(pieces[at])] = pieces[at]
        there[number, : len(pieces[at])] = True
    return torch.from_numpy(rows), torch.from_numpy(there), torch.from_numpy(cues[chosen])


def scored(network: Upper, pieces: Pieces, cues: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the log-odds of each text."""
    network.eval()
    scores = np.zeros(len(pieces), np.float32)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for chosen in _by_length(pieces, 128):
            scores[chosen] = network(*batch(pieces, cues, chosen)).float().numpy()
    return scores


def _by_length(pieces: Pieces, size: int) -> Iterator[NDArray[np.intp]]:
    order = np.argsort([len(rows) for rows in pieces], kind="stable")
    yield from (order[start : start + size] for start in range(0, len(order), size))


def graph_of(network: Upper) -> Any:
    """Return the trained layers as an ONNX model in int8, with the operators of the embedding model."""
    from onnx import TensorProto, helper

    export = _export_model()
    graph = export.Graph(_named_as_published(network))
    graph.shared_constants()
    along = graph.constant("tokens_axis", np.array([1]))
    rows = "rows"
    for number in LAYERS:
        rows = graph.layer(rows, number)
    mean = graph.node("ReduceMean", [rows, along], "mean", keepdims=0)
    largest = graph.node("ReduceMax", [rows, along], "largest", keepdims=0)
    seen = graph.node("Concat", [mean, largest, "cues"], "seen", axis=1)
    for name, part, made in (("head", network.h, "head.sum"), ("out", network.out, "score")):
        weight, bias = (
            graph.constant(f"{name}.{kind}", getattr(part, kind).detach().numpy()) for kind in ("weight", "bias")
        )
        seen = graph.node("Gemm", [seen, weight, bias], made, transB=1)
        if name == "head":
            seen = graph.node("Gelu", [seen], "head.units")
    inputs = [
        helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["texts", "tokens", WIDTH]),
        helper.make_tensor_value_info("cues", TensorProto.FLOAT, ["texts", "cues"]),
    ]
    outputs = [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["texts", "one"])]
    made = helper.make_graph(graph.nodes, "orders", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(export.MICROSOFT, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9, producer_name="reverie")


def _named_as_published(network: Upper) -> dict[str, NDArray[np.float32]]:
    weights: dict[str, NDArray[np.float32]] = {}
    for number, layer in zip(LAYERS, network.ls, strict=True):
        at = f"encoder.layer.{number}."
        for kind in ("weight", "bias"):
            for part, rows in zip(_JOINED, np.split(getattr(layer.qkv, kind).detach().numpy(), 3), strict=True):
                weights[f"{at}attention.self.{part}.{kind}"] = rows
            for name, part in _PARTS.items():
                weights[f"{at}{part}.{kind}"] = getattr(getattr(layer, name), kind).detach().numpy()
    return weights


def _export_model() -> Any:
    path = Path(__file__).parents[1] / "scripts" / "export_model"
    loader = SourceFileLoader("export_model", str(path))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None  # noqa: S101 - a loader was given
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
