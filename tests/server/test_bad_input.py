"""What bad input gets: an error that says what and what to try, nothing half-written, a server that goes on."""

import json
import shutil
import subprocess
import sys

import pytest

from reverie.storage import access_log

LONGEST = 100_000
SERVE = ["-m", "reverie", "serve"]


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        pytest.param("remember", {"content": ""}, ["content", "no text"], id="empty content"),
        pytest.param("remember", {"content": " \t\n\u3000"}, ["content", "no text"], id="whitespace"),
        pytest.param("remember", {"content": "a" * (LONGEST + 1)}, ["100,001", "100,000", "split"], id="too long"),
        pytest.param("remember", {"content": "x", "layer": "attic"}, ["layer", "semantic"], id="unknown layer"),
        pytest.param("remember", {"content": "x", "kind": "rumour"}, ["kind", "decision"], id="unknown kind"),
        pytest.param("remember", {"content": "x", "source": "moon"}, ["source", "human"], id="unknown source"),
        pytest.param("remember", {"content": "x", "tier": "whale"}, ["tier", "elephant"], id="unknown tier"),
        pytest.param("remember", {"content": "x", "importance": 1.01}, ["importance", "1"], id="importance above 1"),
        pytest.param("remember", {"content": "x", "importance": -0.01}, ["importance", "0"], id="importance below 0"),
        pytest.param("remember", {"content": "x", "confidence": 2}, ["confidence", "1"], id="confidence above 1"),
        pytest.param("remember", {"content": "x", "valence": -3}, ["valence", "-1"], id="valence below -1"),
        pytest.param(
            "remember", {"content": "x", "happened_at": "soon"}, ["happened_at", "soon", "ISO"], id="no moment"
        ),
        pytest.param(
            "remember", {"content": "x", "happened_at": "2026-02-30"}, ["happened_at", "ISO"], id="30 February"
        ),
        pytest.param("remember", {"content": "x", "forget_after": "3 moons"}, ["forget_after", "30d"], id="no span"),
        pytest.param(
            "remember", {"content": "x", "forget_after": "99999999999d"}, ["forget_after"], id="endless span"
        ),
        pytest.param("remember", {"content": "x", "tags": ["a", " "]}, ["tags", "empty"], id="an empty tag"),
        pytest.param("remember", {"content": "x", "tags": ["t" * 201]}, ["tags", "200"], id="a long tag"),
        pytest.param("remember", {"content": "x", "title": "t" * 201}, ["title", "200"], id="a long title"),
        pytest.param("remember", {"content": "x", "project": "p" * 201}, ["project", "200"], id="a long project"),
        pytest.param("remember", {"content": "x", "files": ["../etc/passwd"]}, ["files", "project"], id="a path out"),
        pytest.param("remember", {"content": "x", "files": ["/etc/passwd"]}, ["files", "project"], id="a root path"),
        pytest.param(
            "remember", {"content": "x", "supersedes": "zzzzzzzzzz"}, ["zzzzzzzzzz", "recall"], id="supersedes"
        ),
        pytest.param("recall", {"query": ""}, ["query"], id="an empty query"),
        pytest.param("recall", {"query": "q" * 10_001}, ["query", "10,000"], id="a long query"),
        pytest.param("recall", {"query": "x", "limit": 0}, ["limit", "1"], id="limit 0"),
        pytest.param("recall", {"query": "x", "limit": 101}, ["limit", "100"], id="limit 101"),
        pytest.param("recall", {"query": "x", "max_tokens": 49}, ["max_tokens", "50"], id="too few tokens"),
        pytest.param("recall", {"query": "x", "since": "yore"}, ["since", "yore", "ISO"], id="since yore"),
        pytest.param("recall", {"query": "x", "before": "13:00"}, ["before", "ISO"], id="before 13:00"),
        pytest.param("recall", {"query": "x", "as_of": "never"}, ["as_of", "ISO"], id="as of never"),
        pytest.param("recall", {"query": "x", "layers": ["attic"]}, ["layers", "semantic"], id="recall in the attic"),
        pytest.param("recall", {"query": "x", "include": ["ghosts"]}, ["include", "expired"], id="include ghosts"),
        pytest.param("recall", {"query": "x", "min_strength": -1}, ["min_strength", "0"], id="negative strength"),
        pytest.param("inspect", {"ids": []}, ["ids"], id="no ids"),
        pytest.param("inspect", {"ids": [""]}, ["id"], id="an empty id"),
        pytest.param("inspect", {"ids": ["zzzzzzzzzz"]}, ["zzzzzzzzzz", "recall"], id="an unknown id"),
        pytest.param("inspect", {"ids": ["zzzzzzz"]}, ["zzzzzzz", "8 characters"], id="a short prefix"),
        pytest.param("inspect", {"ids": [f"id-{n}" for n in range(101)]}, ["ids", "100"], id="101 ids"),
        pytest.param("revise", {"id": "zzzzzzzzzz", "content": "x"}, ["zzzzzzzzzz", "recall"], id="revise nothing"),
        pytest.param("revise", {"id": "zzzzzzzzzz", "content": " "}, ["content", "no text"], id="revise to nothing"),
        pytest.param("forget", {}, ["ids", "filter"], id="forget everything"),
        pytest.param("forget", {"ids": ["zzzzzzzzzz"]}, ["zzzzzzzzzz", "recall"], id="forget the unknown"),
        pytest.param("forget", {"older_than": "long"}, ["older_than", "30d"], id="older than long"),
        pytest.param("forget", {"layer": "attic"}, ["layer", "semantic"], id="forget the attic"),
        pytest.param("restore", {}, ["ids"], id="restore nothing"),
        pytest.param("restore", {"event_id": "zzzzzzzzzz"}, ["event_id", "zzzzzzzzzz"], id="an unknown event"),
        pytest.param("restore", {"dream_id": "zzzzzzzzzz"}, ["dream_id", "zzzzzzzzzz"], id="an unknown dream"),
        pytest.param("promote", {"id": "zzzzzzzzzz"}, ["zzzzzzzzzz", "recall"], id="promote the unknown"),
        pytest.param("demote", {"id": "zz"}, ["zz", "8 characters"], id="demote a short prefix"),
        pytest.param("promote", {"id": "zzzzzzzzzz", "to": "attic"}, ["to", "semantic"], id="promote to the attic"),
        pytest.param("pin", {"id": "zzzzzzzzzz"}, ["zzzzzzzzzz", "recall"], id="pin the unknown"),
    ],
)
def test_bad_input_is_refused_in_words_and_leaves_the_store_as_it_was(server_here, tool, arguments, says):
    before = server_here.total()
    refusal = server_here.refused(tool, **arguments)
    for part in says:
        assert part in refusal
    assert len(refusal) < 700
    assert "Traceback" not in refusal
    assert server_here.total() == before


def test_content_of_exactly_the_longest_length_is_kept_whole(server_here, chance):
    # Signs that the model reads as one unknown word: embedding a hundred thousand letters takes ten seconds.
    content = "".join(chance.choices("🦊🐙🌍🎈🔭🧵", k=LONGEST))
    kept = server_here.call("remember", content=content)["id"]
    assert server_here.full(kept)["content"] == content


def test_an_id_prefix_that_fits_two_memories_names_both(server_here, called, module_folder):
    # Ids of the first versions begin with their time: what was written within thirty-two milliseconds shares eight.
    one, other = "01hx2c3d4e5f6g7h", "01hx2c3d4e5f6g7j"
    lines = [json.dumps({"id": name, "content": f"Told in one breath as {name}."}) for name in (one, other)]
    (module_folder / "old.jsonl").write_text("\n".join(lines) + "\n")
    assert called(module_folder, "import", "old.jsonl").returncode == 0
    refusal = server_here.refused("forget", ids=[one[:8]])
    assert one in refusal
    assert other in refusal
    assert server_here.full(one)["status"] == server_here.full(other)["status"] == "active"


def test_a_refused_forget_forgets_nothing(server_here):
    kept = server_here.call("remember", content="One unknown id among the known spoils the whole call.")["id"]
    server_here.refused("forget", ids=[kept, "zzzzzzzzzz"])
    assert server_here.full(kept)["status"] == "active"


def test_codebase_stands_beside_the_ladder(server_here):
    kept = server_here.call("remember", content="The ladder has four rungs.", layer="semantic")["id"]
    assert "codebase" in server_here.refused("promote", id=kept, to="codebase")
    assert server_here.full(kept)["layer"] == "semantic"


# -- the data folder ------------------------------------------------------------------------------------------


def test_a_data_folder_that_cannot_be_written_is_named_and_works_once_it_can(start_here, tmp_path):
    blocked = tmp_path / "not-a-folder"
    blocked.write_text("a file stands here")
    server = start_here(blocked / "home")
    refusal = server.refused("remember", content="This has nowhere to go.")
    assert str(blocked) in refusal
    assert "REVERIE_HOME" in refusal
    assert "REVERIE_HOME" in server.refused("status")
    blocked.unlink()
    server.call("remember", content="This has somewhere to go.")
    assert server.total() == 1


def damage(folder, how, chance):
    """Spoil every file of a table's data or of its list of versions."""
    part, deed = how
    for path in sorted((folder / part).rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            path.write_bytes(chance.randbytes(len(data)) if deed == "garbled" else data[: len(data) // 2])


def test_a_damaged_table_is_named_the_rest_goes_on_and_mending_it_needs_no_restart(
    start_here, tmp_path, chance, monkeypatch
):
    # Counting recalls ten seconds later would write to the table, and the server would have to read it again.
    monkeypatch.setattr(access_log, "_SECONDS_TO_GATHER", 3_600.0)
    server = start_here()
    server.call("remember", content="Turtles sleep on the sea floor.", layer="semantic")
    server.call("remember", content="A whale was seen at noon.", layer="episodic")
    assert len(server.call("recall", query="turtles and whales")["results"]) == 2  # both have reached their tables
    table = tmp_path / "home" / "domains" / "default" / "tables-1" / "semantic.lance"
    shutil.copytree(table, tmp_path / "backup")
    # A server that has read the table answers from what it holds; one that has not must say what it meets.
    for part, deed in (("data", "garbled"), ("_versions", "cut short")):
        damage(table, (part, deed), chance)
        later = start_here()
        refusal = later.refused("recall", query="turtles")
        assert "'semantic'" in refusal, deed
        assert "reverie doctor" in refusal
        assert ".rs" not in refusal  # where in LanceDB's source it was noticed helps nobody
        assert later.run(later.client.list_tools).tools
        assert server.call("recall", query="whale", layers=["episodic"])["results"]
        assert server.call("recall", query="turtles", limit=1)["results"]
        shutil.rmtree(table)
        shutil.copytree(tmp_path / "backup", table)
        for one in (server, later):
            [found] = one.call("recall", query="turtles", limit=1)["results"]
            assert found["content"] == "Turtles sleep on the sea floor."
            assert one.total() == 2


@pytest.mark.slow
def test_a_file_that_may_not_grow_is_told_as_a_full_disk_and_nothing_stays(start, start_here, chance):
    """A limit on file sizes fails writes as a full disk does; a short memory still fits under it."""
    server = start_here()
    server.call("remember", content="There was room for this.")
    cramped = start(before="ulimit -f 96")  # in blocks of 512 bytes
    long = "".join(chance.choices("🦊🐙🌍🎈🔭🧵", k=20_000))  # many bytes, and quickly embedded
    refusal = cramped.refused("remember", content=long)
    assert "full" in refusal
    assert "space" in refusal
    assert server.total() == cramped.total() == 1
    assert cramped.call("remember", content="A short one still fits.")["id"]
    assert server.total() == 2


@pytest.mark.slow
def test_a_disk_that_is_full_is_told_and_freeing_it_needs_no_restart(start, tmp_path, chance):
    """A real file system without room, in a mount namespace that goes with the process."""
    home = tmp_path / "small"
    home.mkdir()
    mount = f"mount -t tmpfs -o size=2500k tmpfs '{home}'"
    try:
        subprocess.run(["unshare", "-m", "sh", "-c", mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting is not allowed here")
    fill = f"head -c 1700k /dev/zero > '{home}/ballast'"
    free = f"( while [ ! -e '{tmp_path}/free' ]; do sleep 0.1; done; rm '{home}/ballast' ) </dev/null >/dev/null &"
    server = start(
        home,
        program=["unshare", "-m", "sh", "-c", f'{mount}; {fill}; {free} exec "$@"', "sh", sys.executable, *SERVE],
    )
    refusal, kept = "", 0
    for _ in range(200):
        content = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz ", k=2_000))
        answer = server.answer("remember", content=content)
        if answer.is_error:
            refusal = answer.content[0].text
            break
        kept += 1
    assert "full" in refusal
    (tmp_path / "free").touch()
    server.until_done("status")
    assert server.total() == kept


# -- settings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value", "takes"),
    [
        pytest.param("REVERIE_EMBEDDER", "foo", "bundled", id="an unknown embedder"),
        pytest.param("REVERIE_CLOCK", "later", "+90d", id="a clock set to later"),
        pytest.param("REVERIE_HOME", "memories", "absolute", id="a relative home"),
        pytest.param("REVERIE_DOMAIN", "../other", "letters", id="a domain that climbs"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_takes_and_nothing_is_written(
    start_here, tmp_path, setting, value, takes
):
    one = start_here(**{setting: value})  # the handshake succeeds: the first answer is where somebody sees it
    told = one.refused("status")
    assert one.run(one.client.list_tools).tools
    for part in (setting, value, takes):
        assert part in told
    assert not list(tmp_path.rglob("*.lance"))


def test_a_mistake_in_the_settings_file_is_named(start_here, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "reverie.toml").write_text('embeder = "bundled"\n')
    one = start_here(home)
    told = one.refused("status")
    assert "embeder" in told
    assert "embedder" in told
    (home / "reverie.toml").write_text('embedder = "bundled"\n')
    assert one.call("status")["home"]
