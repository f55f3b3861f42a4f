"""The embedder that ships inside the package: all-MiniLM-L6-v2 in int8, on onnxruntime.

Each window runs alone, unpadded: on a processor a batch gains almost no time (docs/decisions/0002),
and so a text has the same vector whatever else is embedded with it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from reverie.embeddings.embedder import Embedding
from reverie.errors import EmbedderError

if TYPE_CHECKING:  # loading these takes longer than a handshake may
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

BUNDLE = Path(__file__).parent / "bundle"
STAMP = "bundled:all-MiniLM-L6-v2-int8"
DIMENSIONS = 384
WINDOW = 256
OVERLAP = 32
_START, _END = 101, 102  # the ids of [CLS] and [SEP], which frame every window
_ROOM = WINDOW - 2
_MOST_WORKERS = 4
_GROUP = 256  # texts whose token ids are held at a time
_STRETCH = 4_000  # characters tokenized at a time


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: "Tokenizer"
    session: Any  # onnxruntime publishes no types

    def windows_of(self, text: str) -> list[list[int]]:
        """Cut a text into windows of token ids, framed as the model expects them."""
        from reverie.embeddings.passages import windows

        speakable = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates are not text
        ids: list[int] = []
        for stretch in _stretches(speakable):
            ids += self.tokenizer.encode(stretch, add_special_tokens=False).ids
        return [[_START, *ids[cut], _END] for cut in windows(len(ids), _ROOM, OVERLAP)]

    def token_vectors(self, ids: list[int]) -> "NDArray[np.float32]":
        """Run one window and return a row for each of its tokens."""
        import numpy as np

        [hidden] = self.session.run(None, {"input_ids": np.array([ids], dtype=np.int64)})
        rows: NDArray[np.float32] = hidden[0]
        return rows

    def vector(self, ids: list[int]) -> "NDArray[np.float32]":
        """Run one window and return the mean of its tokens at unit length."""
        from reverie.embeddings.passages import unit

        return unit(self.token_vectors(ids).mean(axis=0))


class BundledEmbedder:
    """Embeds offline and without a key; the model is loaded by the first use or by `warm`."""

    def __init__(self, bundle: Path = BUNDLE) -> None:
        self._bundle = bundle
        self._lock = Lock()
        self._model: _Model | None = None

    @property
    def stamp(self) -> str:
        """The model's name, known without loading it."""
        return STAMP

    @property
    def dimensions(self) -> int:
        """384, known without loading the model."""
        return DIMENSIONS

    @property
    def ready(self) -> bool:
        """Whether the model is loaded."""
        return self._model is not None

    def warm(self) -> None:
        """Load the model; threads that come meanwhile wait for the same load.

        Raises:
            EmbedderError: if the bundled files are missing or damaged.
        """
        self._loaded()

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed each text, in order; one of more than 256 word pieces also gets passages.

        Raises:
            EmbedderError: if the bundled files are missing or damaged.
        """
        if not texts:
            return []
        model = self._loaded()
        if len(texts) == 1 and len(texts[0]) < _ROOM:  # one window: spares starting threads
            return _embedded(texts, model, map)
        found: list[Embedding] = []
        with ThreadPoolExecutor(_workers(), "embed") as pool:
            for start in range(0, len(texts), _GROUP):
                found += _embedded(texts[start : start + _GROUP], model, pool.map)
        return found

    def _loaded(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _load(self._bundle)
            return self._model


def _embedded(texts: Sequence[str], model: _Model, run: Callable[..., Iterator[Any]]) -> list[Embedding]:
    from reverie.embeddings.passages import pooled

    cut = [model.windows_of(text) for text in texts]
    vectors = iter(run(model.vector, [ids for windows in cut for ids in windows]))
    return [pooled([next(vectors) for _ in windows]) for windows in cut]


def _stretches(text: str) -> Iterator[str]:
    """Cut a text between words: the tokenizer needs some 200 times the memory of what it is given."""
    start = 0
    while len(text) - start > _STRETCH:
        gap = max(text.rfind(space, start, start + _STRETCH) for space in " \n") + 1
        end = gap if gap > start else start + _STRETCH
        yield text[start:end]
        start = end
    yield text[start:]


def _load(bundle: Path) -> _Model:
    try:
        from tokenizers import Tokenizer

        # onnxruntime leaves a device id and a database in the user's cache as soon as it is imported.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        ort: Any = import_module("onnxruntime")  # a plain import would need types it does not have

        tokenizer = Tokenizer.from_file(str(bundle / "tokenizer.json"))
        tokenizer.no_padding()  # the published file pads and cuts to 128
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True  # "[SEP]" in a memory is five characters, not a command

        ort.disable_telemetry_events()
        options = ort.SessionOptions()
        options.log_severity_level = 3  # errors only: they are raised as well
        options.intra_op_num_threads = 1  # threads take whole windows instead
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # the arena keeps the memory of the longest text for ever
        options.enable_mem_pattern = False
        session = ort.InferenceSession(str(bundle / "model.onnx"), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise EmbedderError(
            f"The bundled embedding model in {bundle} could not be loaded ({error}). "
            "Reinstall it with `pip install --force-reinstall reverie-mcp`."
        ) from error
    return _Model(tokenizer, session)


def _workers() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MOST_WORKERS)
