"""The table of names: it says what git would say, whatever happened to the files since it was made."""

import os

import pytest

from reverie.codebase.name_index import DefinitionIndex
from reverie.codebase.tree import SourceTree


@pytest.fixture
def tree(repo):
    repo.write("src/shop.py", "def price(item):\n    return item.cost\n\nclass Basket:\n    limit = 3\n")
    repo.write("src/web.js", "class Page {\n  render(view) {\n    return view\n  }\n}\n")
    repo.write(".gitignore", "made/\n")
    repo.commit()
    tree = SourceTree(repo.root)
    tree.defining(["price"])  # from now on the table is being made
    tree._names.wait()
    return tree


def homes(tree, name):
    return [(path, symbol.qualified) for path, symbol in tree.defining([name])[name]]


def test_the_table_finds_what_git_finds(tree):
    fresh = SourceTree(tree.root)
    for name in ("price", "Basket", "limit", "render", "Page", "nothing_of_the_kind"):
        assert homes(tree, name) == homes(fresh, name)
    assert homes(tree, "price") == [("src/shop.py", "price")]


def test_a_changed_file_is_read_again(tree, repo):
    repo.write("src/shop.py", "def cost(item):\n    return item.cost\n")
    assert homes(tree, "price") == []
    assert homes(tree, "cost") == [("src/shop.py", "cost")]


def test_a_new_file_in_a_new_folder_is_found(tree, repo):
    assert homes(tree, "refund") == []
    repo.write("src/deep/er/money.py", "def refund():\n    pass\n")
    assert homes(tree, "refund") == [("src/deep/er/money.py", "refund")]


def test_a_second_definition_is_seen_beside_the_first(tree, repo):
    repo.write("src/other.py", "def price():\n    pass\n")
    assert homes(tree, "price") == [("src/other.py", "price"), ("src/shop.py", "price")]


def test_what_is_gone_or_moved_is_not_where_it_was(tree, repo):
    (repo.root / "src/shop.py").rename(repo.root / "src/store.py")
    assert homes(tree, "price") == [("src/store.py", "price")]
    (repo.root / "src/store.py").unlink()
    assert homes(tree, "price") == []


def test_what_git_ignores_stays_out(tree, repo):
    repo.write("made/copy.py", "def price():\n    pass\n")
    assert homes(tree, "price") == [("src/shop.py", "price")]


def test_a_name_that_only_its_place_declares_is_asked_for_again_after_a_change(tree, repo):
    assert homes(tree, "paint") == []
    repo.write("src/web.js", "class Page {\n  paint(view) {\n    return view\n  }\n}\n")
    assert homes(tree, "paint") == [("src/web.js", "Page.paint")]


def test_a_link_out_of_the_project_is_not_read(repo, tmp_path):
    outside = tmp_path / "outside.py"
    outside.write_text("def secret_of_others():\n    pass\n")
    os.symlink(outside, repo.root / "inside.py")
    names = DefinitionIndex(repo.root, lambda: ["inside.py"])
    names.holding(["secret_of_others"])
    names.wait()
    assert names.holding(["secret_of_others"]) == {"secret_of_others": []}


def test_a_name_in_other_letters_is_left_to_git(tree, repo):
    repo.write("src/greek.py", "def λόγος():\n    pass\n")
    assert homes(tree, "λόγος") == [("src/greek.py", "λόγος")]
