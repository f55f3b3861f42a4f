"""The bundled model, as it ships."""

import hashlib
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from reverie.embeddings.bundled import BUNDLE, BundledEmbedder
from reverie.errors import EmbedderError

STRANGE = [
    pytest.param("", id="nothing"),
    pytest.param(" \n\t ", id="only spaces"),
    pytest.param("\x00", id="a NUL"),
    pytest.param("before\x00after", id="a NUL inside"),
    pytest.param("\x07\x1b\x7f", id="control characters"),
    pytest.param("🦀🔥👩‍👩‍👧", id="emoji"),
    pytest.param("数据库连接池已满", id="Chinese"),
    pytest.param("قاعدة البيانات ممتلئة", id="Arabic"),
    pytest.param("\ud800 half a surrogate", id="a lone surrogate"),
    pytest.param("z" * 50_000, id="one word of 50,000 letters"),
]


@pytest.fixture(scope="module")
def embedder():
    return BundledEmbedder()


def vector(embedder, text):
    [embedding] = embedder.embed([text])
    return embedding.vector


def test_every_bundled_file_has_its_pinned_sum():
    pinned = dict(reversed(line.split("  ")) for line in (BUNDLE / "SHA256SUMS").read_text().splitlines())
    found = {name: hashlib.sha256((BUNDLE / name).read_bytes()).hexdigest() for name in pinned}
    assert found == pinned
    assert {path.name for path in BUNDLE.iterdir()} - {".gitattributes", "SHA256SUMS"} == pinned.keys()


def test_stamp_and_dimensions_are_known_before_the_model_is_loaded():
    fresh = BundledEmbedder()
    assert (fresh.stamp, fresh.dimensions, fresh.ready) == ("bundled:all-MiniLM-L6-v2-int8", 384, False)
    fresh.warm()
    assert fresh.ready


def test_choosing_an_embedder_imports_nothing_heavy():
    program = (
        "import sys; from reverie.settings import Settings; from reverie.embeddings import base, tokens\n"
        "for name in ('bundled', 'openai:text-embedding-3-large'):\n"
        "    embedder = base.embedder_from(Settings(home='/nowhere', embedder=name))\n"
        "    embedder.stamp, embedder.dimensions, embedder.ready\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'openai', 'tiktoken', 'regex'}\n"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or 0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_paraphrase_is_nearer_than_another_subject(embedder):
    said = vector(embedder, "We chose PostgreSQL for the billing service.")
    assert said @ vector(embedder, "The database behind invoices is Postgres.") > 0.5
    assert said @ vector(embedder, "Our cat sleeps on the radiator.") < 0.2


def test_vectors_are_those_of_the_published_model(embedder):
    """The first numbers are those of the fp32 model, computed with transformers."""
    first = vector(embedder, "This is an example sentence")[:4]
    np.testing.assert_allclose(first, [0.0677, 0.0635, 0.0487, 0.0793], atol=0.02)


@pytest.mark.parametrize(
    ("one", "other", "fp32"),
    [
        ("We chose PostgreSQL for the billing service.", "The database behind invoices is Postgres.", 0.628),
        ("We chose PostgreSQL for the billing service.", "Our cat sleeps on the radiator.", -0.005),
        ("Never force-push to main.", "Pushing with --force to the main branch is forbidden.", 0.718),
    ],
)
def test_similarities_are_those_of_the_published_model(embedder, one, other, fp32):
    assert vector(embedder, one) @ vector(embedder, other) == pytest.approx(fp32, abs=0.03)


@pytest.mark.parametrize("text", STRANGE)
def test_any_text_has_a_unit_vector(embedder, text):
    found = vector(embedder, text)
    assert found.dtype == np.float32
    assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-5)


def test_a_text_has_the_same_vector_alone_and_among_others(embedder):
    texts = ["short", "a rather longer text about the release process of the billing service", "", "x " * 700]
    for text, together in zip(texts, embedder.embed(texts), strict=True):
        [alone] = embedder.embed([text])
        np.testing.assert_array_equal(alone.vector, together.vector)
        np.testing.assert_array_equal(alone.passages, together.passages)


def test_the_models_control_words_are_ordinary_text(embedder):
    assert vector(embedder, "the [SEP] token") @ vector(embedder, "the [CLS] token") < 0.999


def test_a_long_text_is_tokenized_in_stretches_without_a_seam(embedder):
    text = "The billing-service reads its configuration; see getUserById(42).\n" * 200
    whole = embedder._loaded().tokenizer.encode(text, add_special_tokens=False).ids
    windows = [ids[1:-1] for ids in embedder._loaded().windows_of(text)]
    assert windows[0] + [token for ids in windows[1:] for token in ids[32:]] == whole


def test_more_texts_than_one_group_keep_their_order(embedder):
    texts = [f"number {number}" for number in range(300)]
    together = embedder.embed(texts)
    for place in (0, 255, 256, 299):
        np.testing.assert_array_equal(together[place].vector, vector(embedder, texts[place]))


def test_a_text_of_one_window_has_no_passages(embedder):
    [embedding] = embedder.embed(["word " * 254])
    assert embedding.passages == ()


def test_a_text_one_word_longer_has_two_passages_and_their_mean(embedder):
    [embedding] = embedder.embed(["word " * 255])
    first, second = embedding.passages
    mean = (first + second) / np.linalg.norm(first + second)
    np.testing.assert_allclose(embedding.vector, mean, atol=1e-6)


@pytest.mark.parametrize("length", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_end_of_a_long_text_is_found_through_its_passages(embedder, length):
    filler = "The meeting went over the quarterly figures once more and nobody had questions. "
    text = filler * (length // len(filler)) + "The deploy key for staging lives in the blue vault."
    [embedding] = embedder.embed([text])
    asked = vector(embedder, "Where is the staging deployment key kept?")
    nearest = max(range(len(embedding.passages)), key=lambda place: float(embedding.passages[place] @ asked))
    assert nearest == len(embedding.passages) - 1
    assert embedding.passages[-1] @ asked > embedding.vector @ asked + 0.1


def test_the_third_layer_has_a_row_for_each_piece_and_its_two_ends(embedder):
    assert embedder.third_layer("never push").shape == (4, 384)
    assert embedder.third_layer("push " * 1000).shape == (256, 384)
    assert embedder.third_layer("").shape == (2, 384)
    assert (BUNDLE / "model.onnx").stat().st_size == 49_960  # it is split in memory


def test_one_run_gives_a_short_text_its_vector_and_its_third_layer():
    embedder, apart = BundledEmbedder(), BundledEmbedder()
    runs = _counted_runs(embedder)
    vector(embedder, "Never push to main.\n")
    from_one_run = embedder.third_layer("Never push to main.")
    assert runs == ["lower", "upper"]
    assert np.array_equal(from_one_run, apart.third_layer("Never push to main."))
    assert np.array_equal(vector(embedder, "Never push to main."), vector(apart, "Never push to main."))


def test_the_third_layer_alone_is_half_of_a_run():
    embedder = BundledEmbedder()
    runs = _counted_runs(embedder)
    embedder.third_layer("A text that no other test has embedded.")
    assert runs == ["lower"]


def _counted_runs(embedder):
    model = embedder._loaded()
    runs = []

    class Counting:
        def __init__(self, name):
            self.name = name

        def run(self, *arguments):
            runs.append(self.name)
            return getattr(model, self.name).run(*arguments)

    embedder._model = replace(model, lower=Counting("lower"), upper=Counting("upper"))
    return runs


def test_the_two_halves_compute_to_the_bit_what_the_file_says_as_one(embedder):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(BUNDLE))
    whole = onnxruntime.InferenceSession((BUNDLE / "model.onnx").read_bytes(), options)
    for text in ("push", "Never push to main.", "Deploy to production on Monday. " * 40):
        [window] = embedder._loaded().windows_of(text)
        [[expected]] = whole.run(None, {"input_ids": np.array([window], np.int64)})
        assert np.array_equal(embedder._loaded().window(window).rows, expected)


def test_threads_share_one_load_and_get_the_same_vectors():
    fresh = BundledEmbedder()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: vector(fresh, "shared between threads"), range(16)))
    np.testing.assert_array_equal(found, [found[0]] * 16)


def test_no_texts_load_no_model():
    fresh = BundledEmbedder()
    assert fresh.embed([]) == []
    assert not fresh.ready


@pytest.mark.parametrize("name", ["model.onnx", "model.bin", "tokenizer.json"])
@pytest.mark.parametrize("fault", ["missing", "cut short"])
def test_a_damaged_bundle_says_how_to_mend_it(tmp_path, name, fault):
    bundle = shutil.copytree(BUNDLE, tmp_path / "bundle")
    content = (bundle / name).read_bytes()
    (bundle / name).unlink()
    if fault == "cut short":
        (bundle / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(EmbedderError, match="Reinstall it with"):
        BundledEmbedder(bundle).warm()
