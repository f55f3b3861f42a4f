"""Vectors of few bits a dimension: packing, reading and comparing them (rule `002-compression`).

A packed vector is one byte that says how many bits a dimension has, its scale (the largest absolute value) as a
float, and the codes. The range from minus to plus the scale is cut into 256, 16 or 4 steps of one width; a code is
the number of the step, and stands for the middle of it, which is the nearest of the values that codes stand for. Each
coarser step is made of whole finer ones. So a vector may fade from 8 to 4 to 2 bits without its text, and has the
codes that it would have had at once.

Rounding adds noise of Δ²/12 a dimension, where Δ is the width of a step. A rounded vector is therefore longer than
the vector it stands for, and its plain cosine too small. `_factors` takes the noise out of the length.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from reverie.lifecycle.rules import WHOLE, Precision

Vector = NDArray[np.float32]
Records = NDArray[np.uint8]
"""Packed vectors of one precision, a row each: the bits, the scale, the codes."""

PACKED_BITS: tuple[Precision, ...] = (8, 4, 2)
VECTOR_COLUMNS = ("vector", "packed")
"""The columns that hold a row's vector: one of them does, the other is null."""

COUNTS_NOISE = True
"""Whether a comparison accounts for the noise of rounding; without, it is the plain cosine of the rounded vector."""

_SCALE_BYTES = 4
_HEADER = 1 + _SCALE_BYTES
_FINEST = 8
_ROWS_AT_ONCE = 1_024  # so that a block of codes and its numbers stay in the processor's cache
_COPIES_PAY = 4  # where fewer than one vector in so many is wanted, copying those is quicker than comparing all
_LEAST_SHARE = 0.25  # of the squared length is never noise: else a vector of few large numbers would explode


def known_precision(bits: int) -> Precision:
    """Return a precision that can be stored: one that nobody knows, as an import may bring, means a whole vector."""
    known: tuple[Precision, ...] = get_args(Precision)
    return next((one for one in known if one == bits), WHOLE)


def width_of(bits: int, dimensions: int) -> int:
    """Return how many bytes a packed vector takes."""
    return _HEADER + _code_bytes(bits, dimensions)


def bytes_of(bits: int, dimensions: int) -> int:
    """Return how many bytes a vector takes in memory."""
    return dimensions * 4 if bits == WHOLE else _code_bytes(bits, dimensions) + _SCALE_BYTES


def pack(vectors: Vector, bits: int) -> Records:
    """Round vectors to so many bits a dimension."""
    vectors = np.asarray(vectors, np.float32)
    scale = np.abs(vectors).max(axis=1, initial=0.0).astype("<f4")
    shares = np.divide(vectors, scale[:, None], out=np.zeros_like(vectors), where=scale[:, None] > 0)
    codes = np.clip(np.floor((shares + 1) * 2 ** (_FINEST - 1)), 0, 2**_FINEST - 1).astype(np.uint8)
    return _joined(codes, scale, bits)


def coarser(records: Records, bits: int, dimensions: int) -> Records:
    """Return packed vectors with fewer bits, exactly as if the whole vectors had been packed so."""
    had = _bits_of(records)
    if bits > had:
        raise ValueError(f"a vector of {had} bits has no {bits} bits")
    codes = _codes(records[:, _HEADER:], had)[:, :dimensions] << (_FINEST - had)
    return _joined(np.asarray(codes, np.uint8), _scales(records), bits)


def unpack(records: Records, dimensions: int) -> Vector:
    """Return packed vectors as numbers whose product with a unit vector is the cosine."""
    bits = _bits_of(records)
    levels = _levels(_codes(records[:, _HEADER:], bits)[:, :dimensions], bits)
    factors = _factors(levels, _scales(records))
    return np.asarray(levels * factors[:, None], np.float32)


def _joined(codes: Records, scale: NDArray[np.float32], bits: int) -> Records:
    """Put bits, scale and codes of the finest precision into one row each; several codes share a byte."""
    count, dimensions = codes.shape
    in_a_byte = _FINEST // bits
    planes = np.zeros((count, in_a_byte, _code_bytes(bits, dimensions)), np.uint8)
    padded = np.zeros((count, planes.shape[1] * planes.shape[2]), np.uint8)
    padded[:, :dimensions] = codes >> (_FINEST - bits)
    planes[:] = padded.reshape(planes.shape)
    packed = np.zeros((count, planes.shape[2]), np.uint8)
    for number in range(in_a_byte):
        packed |= planes[:, number] << (number * bits)
    head = np.full((count, 1), bits, np.uint8)
    return np.hstack([head, np.ascontiguousarray(scale, "<f4").view(np.uint8).reshape(count, _SCALE_BYTES), packed])


def _code_bytes(bits: int, dimensions: int) -> int:
    in_a_byte = _FINEST // bits
    return -(-dimensions // in_a_byte)


def _bits_of(records: Records) -> int:
    return int(records[0, 0]) if len(records) else _FINEST


def _scales(records: Records) -> NDArray[np.float32]:
    scales: NDArray[np.float32] = np.ascontiguousarray(records[:, 1:_HEADER]).view("<f4").reshape(-1)
    return scales


def _codes(packed: Records, bits: int) -> Records:
    """Return the codes one by one: the first of every byte, then the second of every byte, and so on."""
    mask = np.uint8(2**bits - 1)
    return np.hstack([(packed >> shift) & mask for shift in range(0, _FINEST, bits)])


def _levels(codes: Records, bits: int) -> Vector:
    """Return what codes stand for, in steps from zero."""
    return codes.astype(np.float32) + np.float32(0.5 - 2 ** (bits - 1))


def _shares_without_noise(levels: Vector) -> NDArray[np.float64]:
    """Return which share of the squared length of rounded vectors is not noise, which is Δ²/12 a dimension."""
    squares = np.einsum("ij,ij->i", levels, levels, dtype=np.float64)
    noise = levels.shape[1] / 12
    return np.asarray(np.maximum(1 - noise / np.maximum(squares, 1e-12), _LEAST_SHARE), np.float64)


def _factors(levels: Vector, scales: NDArray[np.float32]) -> Vector:
    """Return what to multiply the levels of each vector by, so that a product with a unit vector is the cosine."""
    squares = np.einsum("ij,ij->i", levels, levels, dtype=np.float64)
    if COUNTS_NOISE:
        squares = squares * _shares_without_noise(levels)
    return np.asarray(np.where(scales > 0, 1 / np.sqrt(np.maximum(squares, 1e-12)), 0.0), np.float32)


# -- columns ---------------------------------------------------------------------------------------------------


def vector_type(dimensions: int) -> pa.DataType:
    """Return the type of the column of whole vectors.

    A list of one vector or none: a null in a column of fixed length takes as many bytes on disk as a vector.
    """
    return pa.list_(pa.list_(pa.float32(), dimensions))


def vector_columns(
    vectors: Sequence[Vector], precisions: Sequence[int], dimensions: int
) -> tuple[pa.Array, pa.Array]:
    """Return vectors as the two columns of a table, each at its precision."""
    matrix = np.stack(vectors) if len(vectors) else np.empty((0, dimensions), np.float32)
    bits = np.array([known_precision(one) for one in precisions], np.int64)
    packed: list[bytes | None] = [None] * len(vectors)
    for one in PACKED_BITS:
        rows = np.flatnonzero(bits == one)
        for row, record in zip(rows.tolist(), pack(matrix[rows], one), strict=True):
            packed[row] = record.tobytes()
    return whole_column(matrix[bits == WHOLE], bits == WHOLE, dimensions), pa.array(packed, pa.binary())


def whole_column(matrix: Vector, present: NDArray[np.bool_], dimensions: int) -> pa.Array:
    """Return a column that has the rows of a matrix where something is present, and nulls elsewhere."""
    flat = pa.array(np.ascontiguousarray(matrix, np.float32).reshape(-1), pa.float32())
    offsets = np.concatenate([[0], np.cumsum(present)]).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()),
        pa.FixedSizeListArray.from_arrays(flat, dimensions),
        type=vector_type(dimensions),
        mask=pa.array(~np.asarray(present, np.bool_)),
    )


def whole_rows(column: pa.ChunkedArray, dimensions: int) -> tuple[NDArray[np.int64], Vector]:
    """Return which rows of a column have a whole vector, and those vectors."""
    array = _as_one(column)
    rows = np.flatnonzero(_is_valid(array) & (np.diff(array.offsets.to_numpy()) == 1))
    chosen = array if len(rows) == len(array) else array.take(pa.array(rows))
    flat = chosen.flatten().flatten().to_numpy(zero_copy_only=False)
    return rows, np.asarray(flat, np.float32).reshape(-1, dimensions)


def packed_rows(column: pa.ChunkedArray, dimensions: int) -> dict[int, tuple[NDArray[np.int64], Records]]:
    """Return which rows of a column are packed, and their records, by bits; what is damaged is left out."""
    array = _as_one(column)
    found: dict[int, tuple[NDArray[np.int64], Records]] = {}
    if array.null_count == len(array):
        return found
    offsets = np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]
    lengths = np.where(_is_valid(array), np.diff(offsets), -1)
    for bits in PACKED_BITS:
        width = width_of(bits, dimensions)
        rows = np.flatnonzero(lengths == width)
        if len(rows):
            records = np.frombuffer(b"".join(array.take(pa.array(rows)).to_pylist()), np.uint8).reshape(-1, width)
            sound = (records[:, 0] == bits) & np.isfinite(_scales(records))
            if sound.any():
                found[bits] = rows[sound], records[sound]
    return found


def matrix_of(rows: pa.Table, dimensions: int) -> Vector:
    """Return the vectors of rows as a matrix, whatever their precision; of a damaged row zeros."""
    matrix = np.zeros((len(rows), dimensions), np.float32)
    whole, vectors = whole_rows(rows.column("vector"), dimensions)
    matrix[whole] = vectors
    for packed, records in packed_rows(rows.column("packed"), dimensions).values():
        matrix[packed] = unpack(records, dimensions)
    return matrix


def vectors_in(parts: Iterable[pa.Table], dimensions: int) -> dict[str, Vector]:
    """Return the vectors in rows of several tables under their ids."""
    return {
        memory_id: vector
        for rows in parts
        for memory_id, vector in zip(rows.column("id").to_pylist(), matrix_of(rows, dimensions), strict=True)
    }


def _is_valid(array: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def _as_one(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


# -- in memory -------------------------------------------------------------------------------------------------


class _Block:
    """Vectors of one precision in one matrix; each has a slot, and the index of its memory."""

    def __init__(self, bits: int, dimensions: int) -> None:
        self.bits = bits
        self._dimensions = dimensions
        whole = bits == WHOLE
        self._width = dimensions if whole else _code_bytes(bits, dimensions)
        self._data = np.empty((0, self._width), np.float32 if whole else np.uint8)
        self._factors = np.empty(0, np.float32)
        self.owners = np.empty(0, np.int64)
        self._used = 0
        self._free: list[int] = []

    def __len__(self) -> int:
        return self._used - len(self._free)

    @property
    def nbytes(self) -> int:
        """How many bytes the matrix takes."""
        return self._data.nbytes + self._factors.nbytes

    def reserve(self, more: int) -> None:
        """Make room for exactly so many more."""
        self._grow(self._used + max(0, more - len(self._free)))

    def put(self, owners: NDArray[np.int64], values: NDArray[np.generic], factors: Vector) -> NDArray[np.int64]:
        """Take in new vectors; return their slots."""
        again = min(len(owners), len(self._free))
        reused = [self._free.pop() for _ in range(again)]
        end = self._used + len(owners) - again
        if end > len(self.owners):
            self._grow(max(end, len(self.owners) * 3 // 2))
        slots = np.array([*reused, *range(self._used, end)], np.int64)
        self._used = end
        self.owners[slots] = owners
        self.overwrite(slots, values, factors)
        return slots

    def overwrite(self, slots: NDArray[np.int64], values: NDArray[np.generic], factors: Vector) -> None:
        """Put other vectors into slots that are taken."""
        self._data[slots] = values
        if self.bits != WHOLE:
            self._factors[slots] = factors

    def release(self, slots: NDArray[np.int64]) -> None:
        """Give slots back."""
        self.owners[slots] = -1
        self._free.extend(slots.tolist())

    @property
    def is_mostly_empty(self) -> bool:
        """Whether it is worth being written anew."""
        return len(self._free) > max(256, len(self))

    def squeeze(self) -> NDArray[np.int64]:
        """Close the gaps; return the owner of each slot."""
        taken = np.flatnonzero(self.owners[: self._used] >= 0)
        self._data, self.owners = self._data[taken], self.owners[taken]
        if self.bits != WHOLE:
            self._factors = self._factors[taken]
        self._used, self._free = len(taken), []
        return self.owners

    def at(self, slot: int) -> Vector:
        """Return one vector as numbers."""
        if self.bits == WHOLE:
            return np.asarray(self._data[slot], np.float32)
        codes = _codes(self._data[slot : slot + 1], self.bits)[:, : self._dimensions]
        return np.asarray(_levels(codes, self.bits)[0] * self._factors[slot], np.float32)

    def similarities(self, vector: Vector, wanted: NDArray[np.bool_] | None) -> tuple[NDArray[np.int64], Vector]:
        """Return the owners of all vectors, at least of the wanted ones, and their cosines with this one."""
        if wanted is not None and self.bits == WHOLE:
            owned = self.owners[: self._used]
            slots = np.flatnonzero(wanted[owned] & (owned >= 0))
            if len(slots) * _COPIES_PAY < self._used:
                return owned[slots], np.asarray(self._data[slots] @ vector, np.float32)
        found = self._whole(vector) if self.bits == WHOLE else self._of_codes(vector)
        owners = self.owners[: self._used]
        if not self._free:
            return owners, found
        taken = owners >= 0
        return owners[taken], found[taken]

    def _whole(self, vector: Vector) -> Vector:
        return np.asarray(self._data[: self._used] @ vector, np.float32)

    def _of_codes(self, vector: Vector) -> Vector:
        """Multiply the codes as they are, a block at a time; the middle of the steps is one number for all."""
        padded = np.zeros(self._width * (_FINEST // self.bits), np.float32)
        padded[: self._dimensions] = vector
        parts = padded.reshape(-1, self._width)
        mask = np.uint8(2**self.bits - 1)
        found = np.full(self._used, np.float32(0.5 - 2 ** (self.bits - 1)) * vector.sum(), np.float32)
        for start in range(0, self._used, _ROWS_AT_ONCE):
            codes = self._data[start : min(start + _ROWS_AT_ONCE, self._used)]
            for number, part in enumerate(parts):
                plane = codes if self.bits == _FINEST else (codes >> (number * self.bits)) & mask
                found[start : start + len(codes)] += plane.astype(np.float32) @ part
        return np.asarray(found * self._factors[: self._used], np.float32)

    def _grow(self, room: int) -> None:
        extra = room - len(self.owners)
        if extra <= 0:
            return
        self._data = np.concatenate([self._data, np.empty((extra, self._width), self._data.dtype)])
        self.owners = np.concatenate([self.owners, np.full(extra, -1, np.int64)])
        if self.bits != WHOLE:
            self._factors = np.concatenate([self._factors, np.zeros(extra, np.float32)])


NOWHERE: Final = 0
"""The bits of a memory whose vector is not in memory."""

FAR = np.float32(-1.0)
"""The cosine of a memory whose vector is not in memory."""


class VectorMatrix:
    """The vectors of one table by the index of their memory: one matrix for each precision.

    Without `keeps_whole` it has only the packed ones; the others are left on disk.
    """

    def __init__(self, dimensions: int, *, keeps_whole: bool) -> None:
        self.keeps_whole = keeps_whole
        self._dimensions = dimensions
        self._bits = np.zeros(0, np.uint8)
        self._slots = np.zeros(0, np.int64)
        self._blocks: Mapping[int, _Block] = {bits: _Block(bits, dimensions) for bits in (WHOLE, *PACKED_BITS)}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read for it."""
        return VECTOR_COLUMNS if self.keeps_whole else ("packed",)

    @property
    def nbytes(self) -> int:
        """How many bytes the matrices take."""
        return sum(block.nbytes for block in self._blocks.values())

    def counts(self) -> dict[int, int]:
        """Return how many vectors of each precision are in memory."""
        return {bits: len(block) for bits, block in self._blocks.items()}

    def reserve_whole(self, count: int) -> None:
        """Make room for so many whole vectors, and no more: a matrix that grows by and by has room to spare."""
        if self.keeps_whole:
            self._blocks[WHOLE].reserve(count)

    def write(self, indices: NDArray[np.int64], rows: pa.Table) -> None:
        """Take in the vectors of these rows, whatever those had before."""
        self._make_room(int(indices.max(initial=-1)) + 1)
        if self.keeps_whole:
            places, vectors = whole_rows(rows.column("vector"), self._dimensions)
            self._write(WHOLE, indices[places], vectors, np.empty(0, np.float32))
        by_bits = packed_rows(rows.column("packed"), self._dimensions)
        for bits, (places, records) in by_bits.items():
            levels = _levels(_codes(records[:, _HEADER:], bits)[:, : self._dimensions], bits)
            factors = _factors(levels, _scales(records))
            self._write(bits, indices[places], records[:, _HEADER:], factors)
        if not self.keeps_whole:
            packed = [places for places, _ in by_bits.values()]
            self._release(np.setdiff1d(indices, indices[np.concatenate(packed)] if packed else np.empty(0, np.int64)))
        self._squeeze()

    def similarities(self, vector: Vector, count: int, wanted: NDArray[np.bool_] | None = None) -> Vector:
        """Return the cosine at each of the first indices, at least of the wanted ones (None: all).

        It is FAR where the vector is not in memory.
        """
        found = np.full(max(count, len(self._bits)), FAR, np.float32)
        mask = None
        if wanted is not None:
            mask = np.zeros(len(found), np.bool_)
            mask[: len(wanted)] = wanted
        for block in self._blocks.values():
            if len(block):
                owners, similarities = block.similarities(vector, mask)
                found[owners] = similarities
        return found[:count]

    def is_packed(self, count: int) -> NDArray[np.bool_]:
        """Return a mask of the first indices whose vector is packed."""
        mask = np.zeros(count, np.bool_)
        known = self._bits[:count]
        mask[: len(known)] = (known != NOWHERE) & (known != WHOLE)
        return mask

    def are_here(self, count: int) -> NDArray[np.bool_]:
        """Return a mask of the first indices whose vector is in memory."""
        mask = np.zeros(count, np.bool_)
        known = self._bits[:count]
        mask[: len(known)] = known != NOWHERE
        return mask

    @property
    def has_packed(self) -> bool:
        """Whether any vector is packed."""
        return any(len(self._blocks[bits]) for bits in PACKED_BITS)

    def at(self, index: int) -> Vector | None:
        """Return the vector of a memory, if it is in memory."""
        bits = int(self._bits[index]) if index < len(self._bits) else NOWHERE
        return None if bits == NOWHERE else self._blocks[bits].at(int(self._slots[index]))

    def drop_whole(self) -> None:
        """Leave the whole vectors to the disk from now on."""
        self.keeps_whole = False
        self._bits[self._bits == WHOLE] = NOWHERE
        self._blocks = {**self._blocks, WHOLE: _Block(WHOLE, self._dimensions)}

    def _write(self, bits: int, indices: NDArray[np.int64], values: NDArray[np.generic], factors: Vector) -> None:
        block = self._blocks[bits]
        factors = factors if len(factors) else np.zeros(len(indices), np.float32)
        here = self._bits[indices] == bits
        if here.any():
            block.overwrite(self._slots[indices[here]], values[here], factors[here])
            indices, values, factors = indices[~here], values[~here], factors[~here]
        if len(indices):
            self._release(indices)
            self._slots[indices] = block.put(indices, values, factors)
            self._bits[indices] = bits

    def _release(self, indices: NDArray[np.int64]) -> None:
        had = self._bits[indices]
        for bits in np.unique(had).tolist():
            if bits != NOWHERE:
                self._blocks[bits].release(self._slots[indices[had == bits]])
        self._bits[indices] = NOWHERE

    def _squeeze(self) -> None:
        for block in self._blocks.values():
            if block.is_mostly_empty:
                owners = block.squeeze()
                self._slots[owners] = np.arange(len(owners))

    def _make_room(self, room: int) -> None:
        if room > len(self._bits):
            extra = max(room, len(self._bits) * 3 // 2) - len(self._bits)
            self._bits = np.concatenate([self._bits, np.zeros(extra, np.uint8)])
            self._slots = np.concatenate([self._slots, np.zeros(extra, np.int64)])
