import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.codebase.identity import hosted_name, path_on_disk, rewritten


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/anvil",
        "https://github.com/acme/anvil.git",
        "https://github.com/acme/anvil/",
        "https://github.com/acme/anvil.git/",
        "https://GitHub.COM/acme/anvil.git",
        "https://github.com:443/acme/anvil.git",
        "https://github.com./acme//anvil",
        "http://github.com/acme/anvil",
        "HTTPS://github.com/acme/anvil",
        "https://wile@github.com/acme/anvil.git",
        "https://wile:hunter2@github.com/acme/anvil.git",
        "https://x-access-token:ghs_secret@github.com/acme/anvil",
        "https://github.com/acme/anvil.git?private_token=secret#fragment",
        "https://github.com/acme/%61nvil",
        "git@github.com:acme/anvil.git",
        "git@github.com:/acme/anvil.git",
        "github.com:acme/anvil",
        "git@[github.com:22]:acme/anvil.git",
        "ssh://git@github.com/acme/anvil.git",
        "ssh://git@github.com:22/acme/anvil.git",
        "ssh://git@ssh.github.com:443/acme/anvil.git",
        "git+ssh://git@github.com/acme/anvil",
        "git://github.com/acme/anvil.git",
    ],
)
def test_every_way_to_write_an_address_is_one_project(url: str) -> None:
    assert hosted_name(url) == "github.com/acme/anvil"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        pytest.param("git@gitlab.com:a/group/of/groups.git", "gitlab.com/a/group/of/groups", id="subgroups"),
        pytest.param("host:/srv/git/anvil/.git", "host/srv/git/anvil", id="the .git folder itself"),
        pytest.param("ssh://git@[::1]:2222/acme/anvil", "::1/acme/anvil", id="IPv6"),
        pytest.param("git@[::1]:acme/anvil", "::1/acme/anvil", id="IPv6, scp-like"),
        pytest.param("https://git.sr.ht/~wile/anvil", "git.sr.ht/~wile/anvil", id="home of a user"),
        pytest.param("https://host/@team/anvil", "host/@team/anvil", id="a name that starts with @"),
        pytest.param("https://host/Acme/Anvil", "host/Acme/Anvil", id="only the host has no letter case"),
        pytest.param("https://host/ключ/наковальня.git", "host/ключ/наковальня", id="not ASCII"),
        pytest.param("git@ssh.dev.azure.com:v3/o/p/r", "dev.azure.com/o/p/r", id="Azure, ssh"),
        pytest.param("https://o@dev.azure.com/o/p/_git/r", "dev.azure.com/o/p/r", id="Azure, https"),
    ],
)
def test_unusual_addresses_keep_what_names_the_project(url: str, name: str) -> None:
    assert hosted_name(url) == name


@pytest.mark.parametrize(
    "url",
    [
        "https://wile:sec@ret@github.com/acme/anvil",
        "https://wile:sec/ret@github.com/acme/anvil",
        "https://wile:sec?ret@github.com/acme/anvil",
        "https://wile:sec#ret@github.com/acme/anvil",
        "https://wile:sec:ret@github.com/acme/anvil",
        "oauth2:sec:ret@github.com:acme/anvil",
    ],
)
def test_a_password_that_was_not_escaped_leaves_no_trace(url: str) -> None:
    assert hosted_name(url) == "github.com/acme/anvil"


_SECRET = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=4).filter(lambda s: s[-1] not in "/@")


@settings(derandomize=True, database=None)
@given(_SECRET)
def test_no_credential_ever_reaches_the_name(secret: str) -> None:
    assert hosted_name(f"https://wile:{secret}@github.com/acme/anvil") == "github.com/acme/anvil"


@settings(derandomize=True, database=None)
@given(st.text())
def test_no_address_is_too_strange_to_read(url: str) -> None:
    name = hosted_name(url)
    assert name is None or "/" in name


@pytest.mark.parametrize("url", ["", "https://github.com", "https://github.com/", "git@github.com:", "ext::sh -c x"])
def test_an_address_without_host_and_path_names_nothing(url: str) -> None:
    assert hosted_name(url) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/srv/git/anvil.git", "/srv/git/anvil.git"),
        ("../anvil", "../anvil"),
        ("./a:b", "./a:b"),
        ("file:///srv/git/the%20anvil", "/srv/git/the anvil"),
        ("file://localhost/srv/anvil", "/srv/anvil"),
        ("host:anvil", None),
        ("https://host/anvil", None),
        ("ext::sh -c x", None),
    ],
)
def test_a_remote_on_this_disk_is_told_from_one_elsewhere(url: str, path: str | None) -> None:
    assert path_on_disk(url) == path


def test_the_longest_insteadof_prefix_wins() -> None:
    rules = [("gh:", "https://github.com/"), ("gh:acme/", "git@github.com:acme-corp/"), ("", "nowhere")]
    assert rewritten("gh:acme/anvil", rules) == "git@github.com:acme-corp/anvil"
    assert rewritten("gh:other/anvil", rules) == "https://github.com/other/anvil"
    assert rewritten("https://host/anvil", rules) == "https://host/anvil"
