"""What counts as saying the same in other words, and what never does."""

import pytest

from reverie.text.compare import facts_of, restates
from reverie.text.word_forms import word_form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("The worker writes logs.", "A worker writes logs", id="articles and full stops"),
        pytest.param("The worker is writing a log", "The worker writes the logs", id="endings"),
        pytest.param("The cache is being filled by the worker", "The worker fills the cache", id="the passive"),
        pytest.param(
            "Rows are being copied into the archive by a job",
            "A job is copying rows into the archive",
            id="with a place",
        ),
        pytest.param("The table, which is small, fits in memory", "The small table fits in memory", id="a clause"),
        pytest.param("The database is slow", "The db is slow", id="a sure synonym"),
        pytest.param("Deploys run on port 8080", "deploys are running on port 8080", id="the same number"),
        pytest.param("It doesn't start", "It does not start", id="the same negation"),
    ],
)
def test_other_words_for_the_same_thing_are_a_restatement(one: str, other: str) -> None:
    assert restates(one, other)
    assert restates(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("The worker calls the queue", "The queue calls the worker", id="who does it"),
        pytest.param(
            "The queue is called by the worker", "The queue calls the worker", id="who does it, in the passive"
        ),
        pytest.param("Deploys run on port 8080", "Deploys run on port 8081", id="a number"),
        pytest.param("Pin numpy to 2.1.0", "Pin numpy to 2.1.1", id="a version"),
        pytest.param("The flag is in core/app.py", "The flag is in core/api.py", id="a path"),
        pytest.param("Ask Alice before a release", "Ask Bjarne before a release", id="a name"),
        pytest.param("The cache is enabled", "The cache is disabled", id="an opposite"),
        pytest.param("The cache is on", "The cache is not on", id="a negation"),
        pytest.param("The pool is full", "The pool is empty", id="another word"),
        pytest.param("Retries are fast and safe", "Retries are fast", id="one says more"),
        pytest.param("Drop the `user` table", "Drop the `users` table", id="what stands in backquotes"),
        pytest.param("The job jumps into the queue", "The job jumps out of the queue", id="a direction"),
    ],
)
def test_what_differs_in_a_fact_a_role_or_a_word_is_none(one: str, other: str) -> None:
    assert not restates(one, other)
    assert not restates(other, one)


def test_facts_are_numbers_versions_paths_and_names() -> None:
    told = facts_of("Since v2.1.0 the Exporter writes 500 rows to data/out.csv")
    assert told == {("version", "2.1.0"), ("name", "exporter"), ("number", "500"), ("path", "data/out.csv")}


@pytest.mark.parametrize(
    ("forms", "expected"),
    [
        (("slice", "slices", "sliced", "slicing"), 1),
        (("put", "puts", "putting"), 1),
        (("carry", "carries", "carried", "carrying"), 1),
        (("ride", "rode", "ridden", "riding"), 1),
        (("cache", "caches", "cached"), 1),
        (("class", "classes"), 1),
        (("string", "strung"), 2),
        (("prefer", "prefers", "preferred", "preferring"), 1),
        (("install", "installs", "installed", "installing"), 1),
        (("queue", "queues", "queued", "queuing"), 1),
        (("product", "products", "production"), 2),
        (("import", "imports", "important", "importer"), 3),
        (("option", "optional", "options"), 2),
        (("operate", "operating", "operation", "operators"), 3),
        (("dependency", "dependencies", "dependence", "depends"), 3),
        (("not", "note", "notes"), 2),
        (("plan", "planned", "plane"), 2),
        (("setting", "settings"), 2),
    ],
)
def test_the_forms_of_a_word_are_one(forms: tuple[str, ...], expected: int) -> None:
    assert len({word_form(form) for form in forms}) == expected
