"""Token counts: tiktoken's own, loaded from our file alone."""

import os
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public

import reverie.embeddings.tokens as tokens

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
SEAMS = "ab \n\t'sS1/.é界\u3000"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "o200k_base.tiktoken"
    path.write_bytes(tokens.BUNDLED.read_bytes()[:1_000_000])
    return path


def test_counts_are_those_that_openai_publishes():
    """The numbers are from the OpenAI cookbook, for o200k_base."""
    assert tokens.count_tokens("antidisestablishmentarianism") == 6
    assert tokens.count_tokens("2 + 2 = 4") == 7
    assert tokens.count_tokens("お誕生日おめでとう") == 8
    assert tokens.count_tokens("tiktoken is great!") == 6


def test_vocabulary_and_pattern_are_those_that_tiktoken_would_download(monkeypatch):
    asked = []
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **given: asked.append(given))
    assert openai_public.o200k_base()["pat_str"] == tokens.PATTERN
    assert asked == [{"expected_hash": tokens.PUBLISHED_SHA256}]


def test_what_looks_like_a_special_token_is_text():
    assert tokens.count_tokens("<|endoftext|>") == 7


def test_loading_needs_no_network_and_no_folder_and_costs_less_than_60_mb(tmp_path):
    program = (
        "import os, socket, sys\n"
        "def no_network(*_, **__): raise OSError('there is no network')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = no_network\n"
        "def megabytes():\n"
        "    with open('/proc/self/statm') as file: return int(file.read().split()[1]) * 4096 / 1e6\n"
        "from reverie.embeddings import tokens\n"
        "before = megabytes() if sys.platform == 'linux' else 0\n"
        "tokens.warm()\n"
        "after = megabytes() if sys.platform == 'linux' else 0\n"
        "assert not tokens.tokens_are_estimated() and not tokens.tokens_fault()\n"
        "assert tokens.count_tokens('hello world') == 2\n"
        "assert 'requests' not in sys.modules\n"
        "assert after - before < 60, after - before\n"
    )
    empty = {name: str(tmp_path) for name in ("HOME", "TMPDIR", "TEMP", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")}
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | empty)
    assert list(tmp_path.iterdir()) == []


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


def test_a_long_text_is_cut_without_being_counted_to_its_end():
    assert tokens.count_tokens(tokens.cut_to_tokens("x" * 1_000_000, 10)) == 10
    assert tokens.cut_to_tokens("word " * 100_000, 60_000) == ("word " * 60_000)[:-1]


@given(text=st.text(alphabet=SEAMS, max_size=60))
def test_a_text_counted_in_parts_costs_what_it_costs_in_one(text):
    whole = tokens.count_tokens(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_MOST_AT_ONCE", 7)
        parts = list(tokens._parts(text))
        assert "".join(parts) == text
        exact = all(len(part) <= 7 for part in parts)
        assert tokens.count_tokens(text) == whole if exact else tokens.count_tokens(text) >= whole


def test_a_million_spaces_are_more_than_tiktoken_bears_and_are_counted_all_the_same():
    assert tokens.count_tokens(" " * 1_000_000) == 1_000_000
    text = "a few words, again and again. " * 40_000
    assert tokens.count_tokens(text) == 40_000 * tokens.count_tokens(" a few words, again and again.") + 1


def test_a_damaged_vocabulary_is_told_and_stays_where_it_is(damaged):
    tokenizer = tokens.Tokenizer(damaged)
    assert tokenizer.fault == f"tokens are estimated: {damaged} is damaged"
    assert tokenizer.counter.count("hello world") == len("hello world")
    tokenizer.load()
    assert not tokenizer.is_exact
    assert damaged.exists()


def test_a_vocabulary_that_is_missing_is_told(tmp_path):
    tokenizer = tokens.Tokenizer(tmp_path / "nowhere")
    tokenizer.load()
    assert "No such file" in tokenizer.fault
    assert tokenizer.counter.count("hello world") == len("hello world")


def test_without_tiktoken_counts_stay_estimates_and_the_reason_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    tokenizer = tokens.Tokenizer(tokens.BUNDLED)
    tokenizer.load()
    assert not tokenizer.is_exact
    assert "tiktoken" in tokenizer.fault
