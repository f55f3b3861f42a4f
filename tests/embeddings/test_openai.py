"""The OpenAI embedder, through the real client, against a real server on loopback."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from reverie.embeddings import openai as hosted
from reverie.embeddings.base import embedder_from
from reverie.embeddings.openai import TIMEOUTS, OpenAIEmbedder
from reverie.errors import EmbedderError
from reverie.settings import Settings

KEY = "sk-test-of-loopback"


class Api:
    """Speaks the embeddings API; `script` holds what to do with the next requests instead."""

    def __init__(self) -> None:
        self.requests: list[list[str]] = []
        self.keys: list[str] = []
        self.script: list[Callable[[list[str]], tuple[int, object]]] = []
        self.dimensions = 4
        self.hang = threading.Event()

    def answer(self, texts: list[str]) -> tuple[int, object]:
        self.requests.append(texts)
        if self.script:
            step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            return step(texts)
        return self.vectors(texts)

    def vectors(self, texts: list[str]) -> tuple[int, object]:
        """Answer in reverse order, as the API may: a text's place is in `index`."""
        rows = [
            {"object": "embedding", "index": place, "embedding": self.vector(text)}
            for place, text in enumerate(texts)
        ]
        return 200, {"object": "list", "data": rows[::-1], "model": "m", "usage": {}}

    def vector(self, text: str) -> list[float]:
        return [float(len(text)), 3.0] + [0.0] * (self.dimensions - 2)


def refuse(status, message, code=None):
    return lambda _: (status, {"error": {"message": message, "code": code}})


@pytest.fixture
def api(monkeypatch):
    api = Api()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            api.keys.append(self.headers["authorization"])
            status, body = api.answer(request["input"])
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            pass  # a client that ran out of patience has hung up

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("NO_PROXY", "*")
        yield api
        api.hang.set()
        server.shutdown()


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def embedder(api, pauses):
    timeouts = replace(TIMEOUTS, answer=5.0, sleep=pauses.append, jitter=lambda: 0.5)
    made = OpenAIEmbedder("some-model", timeouts)
    yield made
    if made.ready:
        made._connection.close()


def test_vectors_come_back_in_the_order_of_the_texts_and_at_unit_length(api, embedder):
    found = [embedding.vector for embedding in embedder.embed(["four", ""])]
    np.testing.assert_allclose(found, [[0.8, 0.6, 0, 0], [0.3162278, 0.9486833, 0, 0]], rtol=1e-6)
    assert api.requests == [["four", " "]]
    assert api.keys == [f"Bearer {KEY}"]


def test_a_model_we_do_not_know_is_asked_its_dimensions_once(api, embedder):
    assert embedder.dimensions == 4
    assert embedder.dimensions == 4
    assert len(api.requests) == 1


def test_a_model_we_know_is_not_asked(api):
    assert OpenAIEmbedder("text-embedding-3-large").dimensions == 3072
    assert api.requests == []


def test_the_setting_chooses_the_model():
    chosen = embedder_from(Settings(home="/nowhere", embedder="openai:text-embedding-3-small"))
    assert (chosen.stamp, chosen.dimensions, chosen.ready) == ("openai:text-embedding-3-small", 1536, False)


def test_many_texts_go_in_requests_of_limited_count(api, embedder):
    found = embedder.embed([f"text {number}" for number in range(1100)])
    assert len(found) == 1100
    assert [len(texts) for texts in api.requests] == [512, 512, 76]


def test_heavy_texts_go_in_requests_of_limited_size(api, embedder):
    embedder.embed(["x" * 7000] * 100)
    assert all(sum(map(len, texts)) <= 290_000 for texts in api.requests)
    assert sum(len(texts) for texts in api.requests) == 100


def test_a_long_text_is_cut_into_windows_that_no_vocabulary_can_overflow(api, embedder):
    [embedding] = embedder.embed(["数据库" * 10_000])
    [sent] = api.requests
    assert len(embedding.passages) == len(sent) == 12  # 90,000 bytes in steps of 7,600
    assert all(len(text.encode()) <= 8000 for text in sent)
    assert np.linalg.norm(embedding.vector) == pytest.approx(1.0)


def test_a_server_that_was_busy_is_asked_again(api, embedder, pauses):
    api.script = [refuse(429, "slow down"), refuse(503, "starting"), api.vectors]
    assert len(embedder.embed(["a"])) == 1
    assert pauses == [0.5, 2.0]


def test_a_server_that_keeps_failing_is_given_up(api, embedder, pauses):
    api.script = [refuse(500, "out of memory")]
    with pytest.raises(EmbedderError, match=r"asked 4 times.*out of memory.*Try again later"):
        embedder.embed(["a"])
    assert pauses == [0.5, 2.0, 6.0]


def test_an_empty_account_is_not_asked_again(api, embedder, pauses):
    api.script = [refuse(429, "quota", "insufficient_quota")]
    with pytest.raises(EmbedderError, match="check the account's quota"):
        embedder.embed(["a"])
    assert pauses == []


def test_a_refused_key_names_the_variable_and_hides_the_key(api, embedder, pauses):
    api.script = [refuse(401, f"bad key {KEY}")]
    with pytest.raises(EmbedderError, match="Set OPENAI_API_KEY") as caught:
        embedder.embed(["a"])
    assert KEY not in str(caught.value)
    assert pauses == []


def test_an_unknown_model_names_the_setting(api, embedder):
    api.script = [refuse(404, "no such model")]
    with pytest.raises(EmbedderError, match="Check REVERIE_EMBEDDER"):
        embedder.embed(["a"])


def test_texts_the_model_does_not_take_are_a_refusal(api, embedder):
    api.script = [refuse(400, "input too long")]
    with pytest.raises(EmbedderError, match="input too long"):
        embedder.embed(["a"])


def test_a_silent_server_is_given_up(api):
    def hang(texts):
        api.hang.wait(10)
        return api.vectors(texts)

    api.script = [hang]
    embedder = OpenAIEmbedder("m", replace(TIMEOUTS, answer=0.05, pauses=(0.0,)))
    with pytest.raises(EmbedderError, match="did not answer in time"):
        embedder.embed(["a"])
    embedder._connection.close()


def test_no_pause_outlasts_the_patience(api, pauses):
    api.script = [refuse(500, "down")]
    embedder = OpenAIEmbedder("m", replace(TIMEOUTS, total=1.0, pauses=(60.0,), sleep=pauses.append))
    with pytest.raises(EmbedderError, match="asked once"):
        embedder.embed(["a"])
    assert pauses == []
    embedder._connection.close()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>It works!</html>", id="a web page that claims to be JSON"),
        pytest.param(b"", id="nothing"),
        pytest.param({"hello": "world"}, id="other JSON"),
        pytest.param({"data": [{"index": 0, "embedding": "words"}]}, id="words for numbers"),
        pytest.param({"data": [{"index": 0, "embedding": []}]}, id="an empty vector"),
        pytest.param({"data": [{"embedding": [1.0]}]}, id="no index"),
        pytest.param({"data": [{"index": 7, "embedding": [1.0]}]}, id="a wrong index"),
    ],
)
def test_nonsense_is_an_error_that_says_where_to_look(api, embedder, body):
    api.script = [lambda _: (200, body)]
    with pytest.raises(EmbedderError, match="Check that OPENAI_BASE_URL points at the API"):
        embedder.embed(["a"])


def test_too_few_vectors_are_an_error(api, embedder):
    api.script = [lambda texts: api.vectors(texts[:1])]
    with pytest.raises(EmbedderError, match="1 vectors for 2 texts"):
        embedder.embed(["a", "b"])


def test_vectors_of_another_length_are_an_error(api, embedder):
    embedder.embed(["a"])
    api.dimensions = 5
    with pytest.raises(EmbedderError, match=r"5 dimensions where 4 were expected"):
        embedder.embed(["a"])


@pytest.mark.parametrize("values", [[0.0, 0.0], [float("nan"), 1.0]])
def test_a_vector_without_direction_is_an_error(api, embedder, values):
    api.script = [lambda _: (200, {"data": [{"index": 0, "embedding": values}]})]
    with pytest.raises(EmbedderError, match="all zeros or not finite"):
        embedder.embed(["a"])


def test_a_closed_port_says_how_to_work_offline(api, embedder, monkeypatch, pauses):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    with pytest.raises(EmbedderError, match=r"could not be reached.*REVERIE_EMBEDDER=bundled"):
        embedder.embed(["a"])
    assert len(pauses) == 3


def test_a_missing_key_is_asked_for(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbedderError, match=r"Set OPENAI_API_KEY.*local server"):
        OpenAIEmbedder("m").warm()


def test_no_texts_ask_nothing(api, embedder):
    assert embedder.embed([]) == []
    assert api.requests == []


def test_known_dimensions_are_those_openai_documents():
    assert hosted.KNOWN_DIMENSIONS == {
        "text-embedding-3-small": 1536,
        "text-embedding-3-large": 3072,
        "text-embedding-ada-002": 1536,
    }
