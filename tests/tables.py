"""Tests of a table: one test for many cases, which says of each that fails what failed.

A case of its own costs pytest and each of its processes more than the rule that it tries, where those are hundreds.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def for_each(names: str, cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test with each case, as `parametrize` does, and tell at the end which have failed."""
    wanted = [name.strip() for name in names.split(",")]
    table = [case if len(wanted) > 1 else (case,) for case in cases]
    if not table:
        raise ValueError(f"a table of no {names} proves nothing")

    def made(test: Test) -> Test:
        @functools.wraps(test)
        def run(*given: Any, **fixtures: Any) -> None:
            failed: list[str] = []
            for case in table:
                try:
                    test(*given, **fixtures, **dict(zip(wanted, case, strict=True)))
                except Exception as problem:  # noqa: BLE001 - the other cases are tried too
                    failed.append(f"{case!r}: {type(problem).__name__}: {problem}"[:_LONGEST])
            assert not failed, f"{len(failed)} of {len(table)} cases fail:\n" + "\n".join(failed[:_MOST])

        signature = inspect.signature(test)
        rest = [one for name, one in signature.parameters.items() if name not in wanted]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run

    return made


_LONGEST = 600
_MOST = 20
