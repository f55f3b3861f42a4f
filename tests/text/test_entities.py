"""Which names are found in a text, and which words are left alone."""

import pytest

from reverie.text.entities import LONGEST_NAME, MOST_NAMES, names_in, what_is

NAMES = [
    # people
    ("Lena Fischer asked Jean-Luc Moreau for a rollback.", ["Lena Fischer", "Jean-Luc Moreau"]),
    ("Sofia de la Cruz reviews it, not @priya.", ["Sofia de la Cruz", "@priya"]),
    ("Mark says the tests are slow.", ["Mark"]),
    ("Mark the tests as slow.", []),
    ("Elena's branch is merged.", ["Elena"]),
    # services and parts of a system
    ("The payment gateway calls invoice-worker.", ["payment gateway", "invoice-worker"]),
    ("The new service replaces the old worker.", []),
    ("Restart the millrace fleet before the thrush service.", ["millrace", "thrush"]),
    ("auth-service and user-service share a database.", ["auth-service", "user-service"]),
    ("Turn on the flag new-checkout.", ["new-checkout"]),
    ("El servicio de pagos falla por la noche.", ["servicio de pagos"]),
    # libraries and products, in any case
    ("We cache sessions in redis, not in memcached.", ["redis", "memcached"]),
    ("Use pnpm, never npm or yarn.", ["pnpm", "npm", "yarn"]),
    ("It is written in Go and Rust.", ["Go", "Rust"]),
    ("Go to the next page when the metal starts to rust.", []),
    ("Wir nutzen Kafka für die Rechnungen und das Lager.", ["Kafka"]),
    ("状態管理には Zustand を採用する。", ["Zustand"]),
    # tables, variables, files
    ("The orders table feeds order_items.", ["orders", "order_items"]),
    ("Set AWS_REGION and DEBUG=1 first, then $HOME_DIR.", ["AWS_REGION", "DEBUG", "HOME_DIR"]),
    ("See src/pay/service.ts, tox.ini and .env.local.", ["src/pay/service.ts", "tox.ini", ".env.local"]),
    ("Run bin/setup, or the one in docs/.", ["bin/setup", "docs/"]),
    ("Set `log_min = 'ddl'` in postgresql.conf.", ["log_min", "postgresql.conf"]),
    # classes and functions
    ("`SeatMap.assign` is called by handleSubmit.", ["SeatMap.assign", "handleSubmit"]),
    ("Sessions are made by make_session().", ["make_session"]),
    ("PaymentService.charge() retries, Directory::ALL does not.", ["PaymentService.charge", "Directory::ALL"]),
    # what is no name
    ("The read-only replica lags on long-running, end-to-end queries.", []),
    ("Deploys on Fridays and/or in December are forbidden, 24/7.", []),
    ("Never commit secrets; JSON and HTTP are fine, so is UTF-8.", []),
    ("Ticket PAY-123 is done, e.g. the p95 is 180 ms.", []),
    ("Write to alice@example.com or https://example.com/docs/page.html with --verbose.", []),
    ("Prefer `const` over `let`, run `make deploy`.", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names"), NAMES, ids=[text for text, _ in NAMES])
def test_the_names_in_a_text_are_found_in_order_and_nothing_else(text: str, names: list[str]) -> None:
    assert list(names_in(text)) == names


def test_a_name_is_found_once_in_its_first_spelling() -> None:
    assert names_in("Redis is full. We restarted redis and REDIS.") == ("Redis",)


def test_what_the_project_names_already_is_found_where_the_text_alone_proves_nothing() -> None:
    text = "Traffic goes to harbour first, then the lamp desk answers alice."
    assert names_in(text) == ()
    assert names_in(text, {"harbour", "lamp desk", "alice"}) == ("harbour", "lamp desk", "alice")


def test_a_known_name_that_is_a_word_is_left_alone_where_it_is_used_as_a_word() -> None:
    assert names_in("The harbour is full, a harbour is wet.", {"harbour"}) == ()


def test_a_text_of_any_kind_has_a_bounded_number_of_short_names() -> None:
    many = " ".join(f"table_{number}" for number in range(200))
    assert len(names_in(many)) == MOST_NAMES
    assert names_in("x_" * LONGEST_NAME + "y") == ()
    assert names_in("") == names_in("\x00 \n ` ' \ud83d") == ()


@pytest.mark.parametrize(
    ("name", "texts", "kind"),
    [
        ("orders", ["The orders table is large.", "orders is read often"], "a table"),
        ("Alice Johnson", ["Alice Johnson left."], "a person"),
        ("redis", ["We use redis."], "software"),
        ("REDIS_URL", ["Set REDIS_URL."], "a variable or constant"),
        ("src/app.py", [], "a path or file"),
        ("fare engine", [], "a part of the system"),
        ("FeedBuilder", [], "a name in code"),
        ("Oslo", ["It rains in Oslo."], ""),
    ],
)
def test_what_a_name_is_comes_from_the_words_beside_it_or_its_shape(name: str, texts: list[str], kind: str) -> None:
    assert what_is(name, texts) == kind
