"""Token counts, held against tiktoken itself."""

import hashlib
from base64 import b64encode
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public

import reverie.embeddings.tokens as tokens
from reverie.embeddings.tokens import Vocabulary

PUBLISHED_SUM = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
SAMPLES = [
    "",
    " ",
    "hello world",
    "We'll deploy on Friday; I'VE checked, it's fine.",
    "def getUserById(user_id: int) -> User | None:\n    return self._users.get(user_id)\n",
    "\t\tif (x >= 10 && y != 0) {\r\n\t\t\treturn x / y; // why?\r\n\t\t}\n\n\n",
    "2026-11-16T01:59:58.670Z 192.168.10.1 0xDEADBEEF 3.14159265358979",
    "4f9a1c3e5b7d9f0a2c4e6b8d0f1a3c5e7b9d1f3a",
    b64encode(bytes(range(256))).decode(),
    "数据库连接池已满，请稍后再试。",
    "قاعدة البيانات ممتلئة",
    "Ελληνικά, Кириллица, ไทย, हिन्दी, ქართული",
    "🦀🔥👩‍👩‍👧 🇨🇭 naïve café İstanbul'S I'ſ",
    "\x00\x01\x1c\x1d \x1e\x1f\x7f\x85\u2028 x",
    "\ud800 half a surrogate",
    "<|endoftext|> and <|endofprompt|> are only text",
    " " * 300 + "a" + "\n" * 40 + "=" * 500,
    "no" * 4000,
]


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary(tokens.BUNDLED)


@pytest.fixture(scope="module")
def theirs(vocabulary):
    """tiktoken's o200k_base, built from our file by its own recipe, so that nothing is downloaded."""
    ranks = {vocabulary.token(rank): rank for rank in range(len(vocabulary))}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: ranks)
        return tiktoken.Encoding(**openai_public.o200k_base())


@pytest.fixture
def broken(monkeypatch, tmp_path):
    damaged = tmp_path / "o200k_base.bin"
    damaged.write_bytes(tokens.BUNDLED.read_bytes()[:1_000_000])
    monkeypatch.setattr(tokens, "BUNDLED", damaged)


def test_the_bundled_vocabulary_is_the_published_one(vocabulary):
    lines = (b"%s %d\n" % (b64encode(vocabulary.token(rank)), rank) for rank in range(len(vocabulary)))
    assert hashlib.sha256(b"".join(lines)).hexdigest() == PUBLISHED_SUM


def test_every_token_is_found_by_its_bytes(vocabulary):
    assert all(vocabulary.rank(vocabulary.token(rank)) == rank for rank in range(len(vocabulary)))
    assert vocabulary.rank(b"no such token at all") is None


@pytest.mark.parametrize("text", SAMPLES)
def test_counts_are_those_of_tiktoken(theirs, text):
    assert tokens.count_tokens(text) == len(theirs.encode_ordinary(text))


def test_counts_of_our_own_sources_are_those_of_tiktoken(theirs):
    for path in sorted(Path(tokens.__file__).parent.glob("*.py")):
        text = path.read_text("utf-8")
        assert tokens.count_tokens(text) == len(theirs.encode_ordinary(text)), path


@given(text=st.text(max_size=200))
def test_counts_of_any_text_are_those_of_tiktoken(theirs, text):
    assert tokens.count_tokens(text) == len(theirs.encode_ordinary(text))


@given(text=st.text(alphabet="ab \n'sS1/.é界", max_size=200))
def test_counts_of_awkward_seams_are_those_of_tiktoken(theirs, text):
    assert tokens.count_tokens(text) == len(theirs.encode_ordinary(text))


@given(text=st.one_of(st.text(max_size=200), st.sampled_from(SAMPLES)), limit=st.integers(-1, 60))
def test_a_cut_is_a_prefix_within_its_limit(text, limit):
    cut = tokens.cut_to_tokens(text, limit)
    assert text.startswith(cut)
    assert tokens.count_tokens(cut) <= max(limit, 0)
    assert cut == text or tokens.count_tokens(text) > limit


def test_a_cut_takes_all_that_fits():
    text = "one two three four five"
    assert [tokens.cut_to_tokens(text, limit) for limit in (0, 1, 3, 5, 9)] == [
        "",
        "one",
        "one two three",
        text,
        text,
    ]


def test_a_megabyte_without_a_seam_is_cut_without_being_merged():
    assert tokens.count_tokens(tokens.cut_to_tokens("x" * 1_000_000, 10)) == 10


def test_counting_needs_no_network_and_is_exact():
    tokens.warm()
    assert not tokens.tokens_are_estimated()


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("text", SAMPLES)
def test_without_the_vocabulary_counts_are_estimated_from_above(theirs, text):
    assert tokens.tokens_are_estimated()
    assert tokens.count_tokens(text) >= len(theirs.encode_ordinary(text))
    cut = tokens.cut_to_tokens(text, 20)
    assert text.startswith(cut)
    assert len(theirs.encode_ordinary(cut)) <= 20
