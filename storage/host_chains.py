"""How several hosts number the events of one journal.

In a folder all processes append to one file, and its events are one chain: 1, 2, 3. Hosts that share a bucket have no
file in common, so each host has a chain of its own. A number says which: the low 16 bits are the host's, the bits
above count. The count follows Lamport: who changes memories holds the write lease, and the lease passes on how far
the last holder counted. So of two changes of one memory the later has the higher number, whatever the hosts' clocks
say.
"""

from dataclasses import dataclass
from typing import Final

from reverie.storage.locks import HeldLease

SHARED: Final = -1
"""The chain of a folder, which all processes share."""

MOST_HOSTS: Final = 2**16
_FIRST_COUNT = 2**30  # above every number that a folder's chain reaches
_FIRST_NUMBER = _FIRST_COUNT * MOST_HOSTS


def chain_of(number: int) -> int:
    """Return the chain that an event belongs to, by its number."""
    return SHARED if number < _FIRST_NUMBER else number % MOST_HOSTS


@dataclass(frozen=True, slots=True)
class HostChain:
    """The chain of one host."""

    index: int

    def number_after(self, previous: int, lease: HeldLease | None) -> int:
        """Return the number of the event that follows one of this chain; with the write lease, of all hosts."""
        count = max(previous // MOST_HOSTS, _FIRST_COUNT, lease.mark if lease is not None else 0) + 1
        if lease is not None:
            lease.mark = count
        return count * MOST_HOSTS + self.index
