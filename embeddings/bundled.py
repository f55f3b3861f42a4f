"""The embedder that ships inside the package: all-MiniLM-L6-v2 in int8, on onnxruntime.

Each window runs alone, unpadded: on a processor a batch gains almost no time (docs/decisions/0002),
and so a text has the same vector whatever else is embedded with it.
"""

import os
from collections.abc import Sequence
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


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: "Tokenizer"
    session: Any  # onnxruntime publishes no types

    def windows_of(self, text: str) -> list[list[int]]:
        """Cut a text into windows of token ids, framed as the model expects them."""
        from reverie.embeddings.passages import windows

        speakable = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates are not text
        ids = self.tokenizer.encode(speakable, add_special_tokens=False).ids
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
        from reverie.embeddings.passages import pooled

        model = self._loaded()
        cut = [model.windows_of(text) for text in texts]
        every_window = [ids for windows in cut for ids in windows]
        if len(every_window) == 1:
            vectors = [model.vector(every_window[0])]
        else:
            with ThreadPoolExecutor(min(_workers(), len(every_window)), "embed") as pool:
                vectors = list(pool.map(model.vector, every_window))
        left = iter(vectors)
        return [pooled([next(left) for _ in windows]) for windows in cut]

    def _loaded(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _load(self._bundle)
            return self._model


def _load(bundle: Path) -> _Model:
    try:
        from tokenizers import Tokenizer

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
