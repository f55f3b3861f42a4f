"""Attack: an assistant remembers a secret. It must reach neither the disk nor an export nor a search."""

import json

import pytest

from reverie.errors import InvalidInput
from reverie.tools.requests import RememberRequest, ReviseRequest
from reverie.tools.revise import revise

pytestmark = pytest.mark.anyio

PASSWORD = "Zanzi" + "b4r!Quagmire"


async def test_in_the_text(session, keep, on_disk, tokens):
    for name, token in tokens.items():
        kept = await keep(f"The {name} is {token}, used by the build.")
        assert kept.redactions, name
        assert kept.status == "active", name
    assert on_disk("used by the build")
    for name, token in tokens.items():
        assert on_disk(token) == [], name


async def test_in_the_title_the_tags_the_files_and_the_project(session, keep, on_disk, tokens):
    token = tokens["github classic"]
    kept = await keep(
        "The deploy bot has a token.", title=f"bot {token}", tags=[token, "bot"], files=[f"conf/{token}.txt"]
    )
    await keep("Elsewhere.", project=f"https://bot:{PASSWORD}@git.test/x")
    assert kept.redactions == ["github-token"] * 3
    assert on_disk(token) == []
    assert on_disk(PASSWORD) == []


async def test_in_a_revision_and_its_reason(session, keep, on_disk, tokens):
    token = tokens["stripe live"]
    old = await keep("Payments go through Stripe.")
    revised = await revise(
        session,
        ReviseRequest(id=old.id, content=f"Payments go through Stripe with {token}.", reason=f"the key is {token}"),
    )
    assert revised.redactions == ["stripe-key", "stripe-key"]
    assert on_disk(token) == []


async def test_in_an_import_in_any_field(session, take_in, on_disk, tokens):
    token = tokens["slack bot"]
    tally = await take_in(
        {
            "content": f"Alerts are posted with {token}.",
            "title": token,
            "tags": [token],
            "source_ref": f"https://x:{PASSWORD}@h.test",
            "entities": [token],
            "status_reason": token,
            "branch": token,
        }
    )
    assert (tally.added, tally.redacted) == (1, 1)
    assert on_disk(token) == []
    assert on_disk(PASSWORD) == []


async def test_in_a_store_that_is_older_than_the_scan(session, exported, tokens, on_disk):
    """A secret that lies in a table already still does not leave by an export."""
    from reverie.storage.rows import Embedded
    from reverie.tools.remember import drafted

    token = tokens["npm"]
    draft = drafted(session, RememberRequest(content=f"Publish with {token}"), session.now)
    [embedding] = await session.embed([draft.content])
    await session.store.add([Embedded(draft, embedding.vector, embedding.passages)], actor="test", at=session.now)
    assert on_disk(token)
    line = json.loads(await exported())
    assert token not in json.dumps(line)
    assert line["content"] == "Publish with [redacted: npm-token]"


async def test_what_was_redacted_is_searched_and_read_like_the_rest(keep, ask, tokens):
    await keep(f"The crawler authenticates with {tokens['anthropic']} against the gateway.")
    answer, text = await ask("how does the crawler authenticate?")
    assert "[redacted: anthropic-key]" in answer.results[0].content
    assert tokens["anthropic"] not in text


async def test_what_is_marked_private_is_not_kept(keep, on_disk):
    kept = await keep("We met at ten. <private>Zanzibar is ill.</private> The release moved to May.")
    assert kept.redactions == ["private"]
    assert on_disk("Zanzibar") == []
    assert on_disk("The release moved to May")


async def test_nothing_but_private_text_is_refused(keep, on_disk):
    with pytest.raises(InvalidInput, match="no text"):
        await keep("<private>Zanzibar</private>")
    assert on_disk("Zanzibar") == []
