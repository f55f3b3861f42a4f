"""The tree of errors.

ReverieError
├── InvalidInput            an argument is not what the tool takes
├── SettingError            an environment variable or reverie.toml is wrong
├── KeyUnavailable          the key of this installation cannot be read or made
├── MemoryNotFound          no memory has this id
├── AmbiguousId             an id prefix fits several memories
├── MoveRefused             a memory cannot go to that layer
├── RateLimited             one session asks for more than it may
├── NotAllowed              a token's scope does not cover the call
├── EmbedderError           text could not be turned into a vector
├── ModelError              the language model gave no usable answer
│   ├── ModelNonsense       it answered, but not in the form asked for
│   └── BudgetSpent         one more call would pass the budget
└── StoreError
    ├── StoreUnavailable    the data folder cannot be read or written
    ├── StoreDamaged        a table cannot be read
    ├── StoreBusy           other processes locked the store for too long
    ├── StoreTooNew         a newer Reverie wrote this store
    └── WrongEmbedder       the store's vectors come from another model

A message says what happened and what to try next; attributes keep the facts.
"""

from collections.abc import Sequence


class ReverieError(Exception):
    """Base of every error that Reverie raises on purpose."""


class InvalidInput(ReverieError):
    """An argument is not what the tool takes."""

    def __init__(self, argument: str, problem: str, hint: str) -> None:
        super().__init__(f"{argument}: {problem}. {hint}")
        self.argument = argument


class SettingError(ReverieError):
    """A setting has a value that it does not take."""

    def __init__(self, name: str, value: str, takes: str) -> None:
        super().__init__(f"The setting {name} is {value!r}. It takes {takes}.")
        self.name = name
        self.value = value


class KeyUnavailable(ReverieError):
    """The key of this installation can be neither read nor made."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"The key of this installation, {path}, cannot be used: {problem}. Make the folder writable, or set "
            "REVERIE_CONFIG to one that is."
        )
        self.path = path


class MemoryNotFound(ReverieError):
    """No memory has the given id."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(
            f"No memory has the id {memory_id!r}. Use recall to find the right one; with all_projects it looks in "
            "other projects too."
        )
        self.memory_id = memory_id


class AmbiguousId(ReverieError):
    """An id prefix fits more than one memory."""

    def __init__(self, prefix: str, candidates: Sequence[str]) -> None:
        shown = ", ".join(candidates[:5])
        super().__init__(f"The id prefix {prefix!r} fits several memories ({shown}). Give more of the id.")
        self.prefix = prefix
        self.candidates = tuple(candidates)


class MoveRefused(ReverieError):
    """A memory cannot be moved to the wanted layer."""


class RateLimited(ReverieError):
    """One session asks for more than it may."""


class NotAllowed(ReverieError):
    """A token's scope does not cover the call."""

    def __init__(self, wanted: str, scope: str) -> None:
        super().__init__(f"{wanted} needs a token with the scope {scope!r}. Ask whoever runs this server for one.")
        self.scope = scope


class EmbedderError(ReverieError):
    """Text could not be turned into a vector."""


class ModelError(ReverieError):
    """The language model gave no usable answer."""


class ModelNonsense(ModelError):
    """The language model answered, but not in the form it was asked for."""


class BudgetSpent(ModelError):
    """One more call to the language model would pass the budget."""

    def __init__(self, spent_cents: float, call_cents: float, budget_cents: float) -> None:
        super().__init__(
            f"The language model was not asked: {spent_cents:.3f} cents are spent, this call may cost "
            f"{call_cents:.3f}, and the budget is {budget_cents:g}. Raise budget_cents to allow it."
        )
        self.spent_cents = spent_cents
        self.call_cents = call_cents
        self.budget_cents = budget_cents


class StoreError(ReverieError):
    """Base of everything that goes wrong with the data folder."""


class StoreUnavailable(StoreError):
    """The data folder cannot be read or written."""


class StoreDamaged(StoreError):
    """A table cannot be read."""

    def __init__(self, table: str, detail: str) -> None:
        super().__init__(
            f"The table {table!r} cannot be read ({detail}). Run `reverie doctor` to see what is damaged; "
            "restore the data folder from a backup or import your last export."
        )
        self.table = table


class StoreBusy(StoreError):
    """Other processes locked the store for too long."""


class StoreTooNew(StoreError):
    """A newer Reverie wrote this store."""

    def __init__(self, found: int, known: int) -> None:
        super().__init__(
            f"This store has schema {found}; this Reverie knows schemas up to {known}. "
            "Upgrade with `pip install -U reverie-mcp`."
        )
        self.found = found
        self.known = known


class WrongEmbedder(StoreError):
    """The store's vectors come from another model than the one configured."""

    def __init__(self, stored: str, configured: str) -> None:
        super().__init__(
            f"The memories of this store were embedded with {stored!r}, but this session is set to "
            f"{configured!r}. Run `reverie reembed` to convert the store, or set REVERIE_EMBEDDER back."
        )
        self.stored = stored
        self.configured = configured
