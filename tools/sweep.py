"""The sweep that a server runs at start and every few minutes; dream/sweep.py has the rules.

It is a module of its own because a server imports it early, and nothing else of the dream.
"""

from reverie.dream.sweep import Swept, sweep_store
from reverie.tools.session import Session


async def sweep(session: Session) -> Swept:
    """Expire, move and make core whatever is due now, and archive what has been expired or superseded for a day.

    Raises:
        StoreError: if the store cannot be read or written; the next sweep finishes one that was cut short.
    """
    await session.accesses.count()  # what was recalled a moment ago must not count as unused
    swept = await sweep_store(session.store, session.settings, session.now)
    archived = await session.store.archive.take_in(session.now)
    await session.store.vectors.shrink()
    if swept.expired or swept.moved or swept.made_core or archived:
        session.maintenance.note_write()
    return swept
