"""The memory of this machine, and keeping that of a process small: malloc settings, returning free pages."""

import asyncio
import contextlib
import ctypes
import os
import re
import sys


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 where the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0  # only Linux reports it


def release_heap() -> None:
    """Return the free pages of the C heap; reading or merging a table leaves its buffers there."""
    with contextlib.suppress(AttributeError, OSError):  # another C library has no such call
        ctypes.CDLL(None).malloc_trim(0)


_M_ARENA_MAX, _FEW_ARENAS = -8, 2
_M_MMAP_THRESHOLD, _LARGE = -3, 512 * 1024
_MADV_DONTNEED = 4
_CODE_OF_A_LIBRARY = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r-xp .*\.so(?:\.[\d.]+)?$")
_SECONDS_TO_SETTLE_IN, _SECONDS_BETWEEN = 5.0, 15.0


def limit_malloc_arenas() -> None:
    """Keep glibc from giving every thread a heap of its own: a third less memory, at no cost we could measure."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):  # another C library has no such setting
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_M_ARENA_MAX, _FEW_ARENAS)
            mallopt(_M_MMAP_THRESHOLD, _LARGE)  # else it grows, and what a merge frees stays in the heap


async def release_memory_periodically() -> None:
    """Return memory that only start-up and the first answers needed, then again every 15 seconds."""
    pause = _SECONDS_TO_SETTLE_IN
    while sys.platform == "linux":
        release_library_pages()
        await asyncio.sleep(pause)
        pause = _SECONDS_BETWEEN


def release_library_pages() -> None:
    """Release the pages of library code; those still in use are mapped again from the page cache.

    LanceDB and onnxruntime are 200 MB of code, most of it touched once, at start. See decision 0004.
    """
    with contextlib.suppress(AttributeError, OSError):
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        with open("/proc/self/maps", encoding="utf-8") as maps:
            ranges = [match for line in maps if (match := _CODE_OF_A_LIBRARY.match(line.rstrip()))]
        for match in ranges:
            start, end = int(match[1], 16), int(match[2], 16)
            madvise(start, end - start, _MADV_DONTNEED)
    release_heap()


_LIMITS_OF_A_CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_IF_UNKNOWN = 4 * 1024**3


def machine_memory() -> int:
    """Return how many bytes of memory this machine has, or the container that this process is in."""
    limits = [_physical_memory()]
    for path in _LIMITS_OF_A_CONTAINER:
        with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as file:
            limits.append(int(file.read()))  # "max" where there is no limit
    return min(limit for limit in limits if limit > 0)


def _physical_memory() -> int:
    if sys.platform == "win32":
        return _windows_memory()
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return _IF_UNKNOWN


def _windows_memory() -> int:
    kilobytes = ctypes.c_ulonglong(0)
    kernel = getattr(ctypes, "windll", None)
    if kernel is None or not kernel.kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes)):
        return _IF_UNKNOWN
    return kilobytes.value * 1024
