"""The embedder that ships inside the package: all-MiniLM-L6-v2 in int8, on onnxruntime.

Each window runs alone, without padding: on a processor a batch gains almost no time (decision 0002), and so a
text has the same vector whatever else is embedded with it.

One session gives two outputs: the last layer, which becomes vectors, and the third of six, which the injection
classifier reads. Much of the syntax is gone from the last layer, because it was trained to compare whole texts.
"""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from reverie.embeddings.base import Embedding, QueryEmbedding
from reverie.errors import EmbedderError
from reverie.text.word_forms import FREQUENT_WORDS

if TYPE_CHECKING:  # loading these takes longer than a handshake may
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

BUNDLE = Path(__file__).parent / "bundle"
STAMP = "bundled:all-MiniLM-L6-v2-int8"
DIMENSIONS = 384
WINDOW = 256
OVERLAP = 32
MOST_WINDOWS = 10
"""Windows of one text that are embedded, some 10,000 characters of prose; each takes 45 ms of a processor."""
SAMPLED_WINDOWS = 5
"""Windows of a text of which not even a third could be embedded: there it makes no difference which are left out."""
_START, _END = 101, 102  # the ids of [CLS] and [SEP], which frame every window
_FIRST_BEYOND_LATIN = "\u0250"
_ROOM = WINDOW - 2
_MOST_WORKERS = 4
_GROUP = 256  # texts whose token ids are in memory at a time
_STRETCH = 4_000  # characters tokenized at a time
_LAST_LAYER = "last_hidden_state"
_THIRD_LAYER = "encoder.layer.2.output.LayerNorm.out"
_FLOAT = 1  # in ONNX
_MOST_RECENT = 16  # eight sessions embed at once, and each asks again for what it has just embedded
_LONGEST_RECENT = 66  # tokens; longer texts are seldom a single statement

_FIRST_WORD = 1_996  # "the": from here on the vocabulary lists whole words, the frequent ones first
_RARITY_OF_SIGNS = 0.1


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: "Tokenizer"
    lower: Any  # from token ids to the third layer; onnxruntime publishes no types
    upper: Any  # from the third layer to the last
    content_pieces: dict[int, bool] = field(default_factory=dict)  # cache of `is_content`
    recent: "dict[tuple[int, ...], NDArray[np.float32]]" = field(default_factory=dict)  # third layer of short windows
    lock: Lock = field(default_factory=Lock)

    def windows_of(self, text: str) -> list[list[int]]:
        """Cut a text into windows of token ids, framed as the model expects them."""
        from reverie.embeddings.base import windows

        ids: list[int] = []
        for stretch in _stretches(_encodable(text)):
            ids += self.tokenizer.encode(stretch, add_special_tokens=False).ids
        return [[_START, *ids[cut], _END] for cut in windows(len(ids), _ROOM, OVERLAP)]

    def window(self, ids: list[int]) -> "_Window":
        """Run one window; of a short one, keep the third layer for the classifier that may ask for it next."""
        from reverie.embeddings.base import unit

        third = self._third(ids)
        if len(ids) <= _LONGEST_RECENT:
            with self.lock:
                self.recent[tuple(ids)] = third
                while len(self.recent) > _MOST_RECENT:
                    del self.recent[next(iter(self.recent))]
        [[last]] = self.upper.run([_LAST_LAYER], {_THIRD_LAYER: third[None]})
        return _Window(unit(last.mean(axis=0)), last, ids)

    def third_layer(self, ids: list[int]) -> "NDArray[np.float32]":
        """Return the third layer of one window, from its last run or from a run of the lower half."""
        with self.lock:
            known = self.recent.get(tuple(ids))
        return self._third(ids) if known is None else known

    def _third(self, ids: list[int]) -> "NDArray[np.float32]":
        import numpy as np

        [[rows]] = self.lower.run([_THIRD_LAYER], {"input_ids": np.array([ids], dtype=np.int64)})
        return np.asarray(rows, np.float32)

    def packed(self, window: "_Window", length: int) -> bytes:
        """Pack the vectors of a window's content pieces, for a text of so many pieces."""
        from reverie.embeddings.token_vectors import packed

        kept = [row for row, piece in enumerate(window.ids[1:-1], 1) if self.is_content(piece)]
        return packed(window.rows[kept or slice(1, -1)], length)

    def is_content(self, piece: int) -> bool:
        """Return whether a piece is neither a sign nor a function word; half of them are, and nothing is lost."""
        if piece not in self.content_pieces:
            text = self.tokenizer.id_to_token(piece) or ""
            self.content_pieces[piece] = any(map(str.isalnum, text)) and text not in FREQUENT_WORDS
        return self.content_pieces[piece]

    def rarity(self, piece: int) -> float:
        """Return how rare a piece is in English, by Zipf's law from its rank in the vocabulary."""
        if (self.tokenizer.id_to_token(piece) or "").startswith("##"):
            return 1.0
        if piece < _FIRST_WORD:
            return _RARITY_OF_SIGNS
        return math.log(2 + piece - _FIRST_WORD) / math.log(self.tokenizer.get_vocab_size() - _FIRST_WORD)


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """The model's output for one window: its unit vector, and a row for each of its token ids."""

    vector: "NDArray[np.float32]"
    rows: "NDArray[np.float32]"
    ids: list[int]


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
        """Return whether the model is loaded."""
        return self._model is not None

    def warm(self) -> None:
        """Load the model; threads that come meanwhile wait for the same load.

        Raises:
            EmbedderError: if the bundled files are missing or damaged.
        """
        self._loaded()

    def read(self, question: str) -> QueryEmbedding:
        """Embed a question: the whole as one vector, and its first 254 pieces each as its own.

        Raises:
            EmbedderError: if the bundled files are missing or damaged.
        """
        import numpy as np

        from reverie.embeddings.base import pooled

        model = self._loaded()
        cut = model.windows_of(question)
        windows = [model.window(cut[number]) for number in _chosen(len(cut))]
        rows, ids = windows[0].rows[1:-1], windows[0].ids[1:-1]
        if not ids:
            return QueryEmbedding(windows[0].vector)
        return QueryEmbedding(
            pooled([window.vector for window in windows]).vector,
            np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32),
            _words_of(model, question, len(ids)),
            tuple(map(model.rarity, ids)),
            _share_in_latin(question),
        )

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Embed each text, in order; one of more than 256 word pieces also gets passages, `MOST_WINDOWS` at most.

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

    def third_layer(self, text: str) -> "NDArray[np.float32]":
        """Return the third layer's state of each word piece of a text, of 254 at most, and of its two ends.

        A short text that was embedded just before costs no second run.

        Raises:
            EmbedderError: if the bundled files are missing or damaged.
        """
        model = self._loaded()
        pieces = model.tokenizer.encode(_encodable(text), add_special_tokens=False).ids[:_ROOM]
        return model.third_layer([_START, *pieces, _END])

    def _loaded(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _load(self._bundle)
            return self._model


def _embedded(texts: Sequence[str], model: _Model, run: Callable[..., Iterator[Any]]) -> list[Embedding]:
    from reverie.embeddings.base import pooled

    whole_cut = [model.windows_of(text) for text in texts]
    cut = [[windows[number] for number in _chosen(len(windows))] for windows in whole_cut]
    # Only the first window's rows are kept: a text of a hundred windows would hold forty megabytes of them.
    wanted = [(tuple(ids), number == 0) for windows in cut for number, ids in enumerate(windows)]
    # A text that repeats itself has windows that are the same: each is run once.
    distinct = list(dict.fromkeys(wanted))
    ran = dict(zip(distinct, run(_run, [(model, list(ids), first) for ids, first in distinct]), strict=True))
    made = iter([ran[window] for window in wanted])
    found = []
    for windows, chosen in zip(whole_cut, cut, strict=True):
        results = [next(made) for _ in chosen]
        whole = pooled([vector for vector, _ in results])
        first = results[0][1]
        length = sum(len(ids) - 2 for ids in windows) - OVERLAP * (len(windows) - 1)
        found.append(replace(whole, pieces=model.packed(first, length), share=len(chosen) / len(windows)))
    return found


def _chosen(count: int) -> list[int]:
    """Return which windows of a text are embedded: all, or some that are spread over it evenly."""
    from reverie.embeddings.base import spread

    return spread(count, MOST_WINDOWS if count <= 3 * MOST_WINDOWS else SAMPLED_WINDOWS)


def _run(task: "tuple[_Model, list[int], bool]") -> "tuple[NDArray[np.float32], _Window | None]":
    model, ids, keep_rows = task
    window = model.window(ids)
    return window.vector, window if keep_rows else None


def _share_in_latin(text: str) -> float:
    """Return how many of the letters are Latin: of other scripts the model knows single letters, not words."""
    letters = [character for character in text if character.isalpha()]
    return sum(letter < _FIRST_BEYOND_LATIN for letter in letters) / len(letters) if letters else 1.0


def _words_of(model: _Model, text: str, count: int) -> tuple[str, ...]:
    """Return the word that each of the first pieces of a text is part of."""
    words: list[str] = []
    for stretch in _stretches(_encodable(text)):
        encoded = model.tokenizer.encode(stretch, add_special_tokens=False)
        spans: dict[int | None, tuple[int, int]] = {}
        for word, (start, end) in zip(encoded.word_ids, encoded.offsets, strict=True):
            first, last = spans.get(word, (start, end))
            spans[word] = (min(first, start), max(last, end))
        words += (stretch[slice(*spans[word])] for word in encoded.word_ids)
        if len(words) >= count:
            break
    return tuple(words[:count])


def _encodable(text: str) -> str:
    """Replace lone surrogates, which the tokenizer cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


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

        tokenizer = Tokenizer.from_file(str(bundle / "tokenizer.json"))
        tokenizer.no_padding()  # the published file pads and cuts to 128
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True  # "[SEP]" in a memory is five characters, not a command

        halves = _halves((bundle / "model.onnx").read_bytes())
        lower, upper = (session_of(half, bundle) for half in halves)
    except Exception as error:
        raise EmbedderError(
            f"The bundled embedding model in {bundle} could not be loaded ({error}). "
            "Reinstall it with `pip install --force-reinstall reverie-mcp`."
        ) from error
    return _Model(tokenizer, lower, upper)


def session_of(model: bytes, bundle: Path) -> Any:
    """Return what runs an ONNX graph whose weights, if not in the graph, lie in `bundle`."""
    # onnxruntime leaves a device id and a database in the user's cache as soon as it is imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    ort: Any = import_module("onnxruntime")  # a plain import would need types it does not have

    ort.disable_telemetry_events()
    options = ort.SessionOptions()
    options.log_severity_level = 3  # errors only: they are raised as well
    options.intra_op_num_threads = 1  # threads take whole windows instead
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # the arena keeps the memory of the longest text for ever
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(bundle))
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _halves(model: bytes) -> tuple[bytes, bytes]:
    """Split an ONNX file where the third layer ends: what reads token ids, and what goes on from there.

    As one graph it is run to its end whatever output is asked for, `only_execute_path_to_fetches` or not. A file is
    a protobuf message; the fields that matter here: of a model 7 is the graph; of a graph 1 is a node, 5 a tensor of
    weights, 11 an input and 12 an output; of a node 1 is an input and 2 an output; 8 is the name of a tensor.
    """
    [graph] = (content for number, content, _ in _fields(model) if number == 7)
    rest = b"".join(written for number, _, written in _fields(model) if number != 7)
    [last] = (content for number, content, _ in _fields(graph) if number == 12)
    # Floats, for unknown numbers of texts and tokens. Were these named, as in the last layer, onnxruntime would join
    # more nodes and round otherwise, and a text would get another vector than the one it has in a store.
    shape = _field(1, b"") + _field(1, b"") + _field(1, bytes([1 << 3]) + _number(DIMENSIONS))
    third = _field(1, _THIRD_LAYER.encode()) + _field(2, _field(1, bytes([1 << 3, _FLOAT]) + _field(2, shape)))
    lower = _upstream(graph, _THIRD_LAYER, before=()) + _field(12, third)
    upper = _upstream(graph, _LAST_LAYER, before=(_THIRD_LAYER,)) + _field(11, third) + _field(12, last)
    return rest + _field(7, lower), rest + _field(7, upper)


def _upstream(graph: bytes, wanted: str, before: Sequence[str]) -> bytes:
    """Return the nodes, weights and inputs from which one value of a graph is computed, given those before it."""
    needed = {wanted.encode()}
    kept: list[bytes] = []
    for number, content, written in reversed(list(_fields(graph))):  # a node stands after those that it needs
        if number == 1:
            ends = {name: {part for n, part, _ in _fields(content) if n == name} for name in (1, 2)}
            if needed & ends[2] - {name.encode() for name in before}:
                needed |= ends[1]
                kept.append(written)
    for number, content, written in _fields(graph):
        name = {5: 8, 11: 1}.get(number)
        if number == 2 or (name and needed & {part for n, part, _ in _fields(content) if n == name}):
            kept.append(written)
    return b"".join(reversed(kept))


def _fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the fields of a protobuf message: number, content, and the whole field as it is written."""
    at = 0
    while at < len(message):
        start = at
        key, at = _varint(message, at)
        length = {1: 8, 5: 4}.get(key & 7, 0)
        if key & 7 == 2:
            length, at = _varint(message, at)
        elif key & 7 == 0:
            _, at = _varint(message, at)
        yield key >> 3, message[at : at + length], message[start : at + length]
        at += length


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _number(len(content)) + content


def _number(value: int) -> bytes:
    """Write a number as seven bits a byte, all but the last byte marked."""
    marked = []
    while value >= 0x80:
        marked.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*marked, value])


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Read a number that `_number` would write; return it and where it ends."""
    value = shift = 0
    while message[at] & 0x80:
        value |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | message[at] << shift, at + 1


def _workers() -> int:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MOST_WORKERS)
