import math
from collections.abc import Callable

import pytest

from reverie.recall.features import features_of
from reverie.storage.rows import Embedded
from reverie.storage.scope import Scope
from reverie.tools.session import Session

pytestmark = pytest.mark.anyio
Make = Callable[..., Embedded]


async def test_the_words_of_a_query_have_a_highest_score_that_no_memory_passes(session: Session, make: Make) -> None:
    items = [make("the lamp is lit"), make("quite another matter")]
    await session.store.add(items, actor="test", at=session.now)
    candidates = await session.store.search.find(None, Scope(), 5)
    found = await features_of(candidates, "lamp glass", None, 5)
    # Of two memories one has a lamp, ln(1 + 1.5 / 1.5), none glass, ln(1 + 2.5 / 0.5); each k1 + 1 times at most.
    assert found.max_word_score == pytest.approx(2.2 * (math.log(2) + math.log(6)))
    assert [0.0 < one.word_score < found.max_word_score for one in found.candidates] == [True]
