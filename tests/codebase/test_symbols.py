"""What files define, language by language, and how a definition's fingerprint behaves."""

import pytest

from reverie.codebase.symbols import Symbol, find_symbol, symbol_digest, symbols_of

SOURCES = {
    "a.py": '''
"""Doc."""
LIMIT = 3
def read(path: str, *, strict: bool = False) -> dict[str, int]:
    """Read it.

    At length."""
class Parser(Base):
    depth: int = 1
    @property
    async def feed(self, text): ...
if True:
    def conditional(): ...
''',
    "a.js": """
// Fetches it.
export async function fetchIt(url, { retries = 3 } = {}) { const inner = () => 1; return inner }
export const LIMIT = 10;
const add = (a, b) => a + b;
export default class Store extends Base { #secret = 1; get(id) { return 1 } static of = () => new Store() }
module.exports.helper = function (x) { };
""",
    "a.ts": """
export interface Props { name: string }
export type Id = string | number;
export abstract class Repo<T> { abstract go(): void; async load<K>(k: K): Promise<T> { return this.x } }
enum Color { Red }
namespace N { export function inner(): void {} }
""",
    "a.tsx": "export const Button = (props: Props) => { return <b>{props.name}</b> }\n",
    "a.go": """package p
// New makes one.
func New(addr string) *Server { return nil }
func (s *Server) Start(ctx context.Context) error { return nil }
type Server struct { a int }
const Max = 10
""",
    "a.rs": """
/// A pair.
pub struct Pair<T> { a: T }
impl<T: Clone> Pair<T> { pub fn new(a: T) -> Self { Pair { a } } }
pub trait Go { fn go(&self) -> u8; }
mod inner { pub fn deep() {} }
pub const N: usize = 3;
""",
    "A.java": """package a;
/** The app. */
public class App extends B {
  public static final int MAX = 3; private int q;
  @Override public String run(int a, List<String> b) throws X { int y = 1; return ""; }
  interface In { void f(); }
}
record R(int a) {}
""",
    "a.c": """#define MAXN 10
/* adds */
static int add(int a, int b) { return a + b; }
char *name(void);
typedef struct { int x; } point_t;
struct node { int v; };
""",
    "a.cpp": """namespace n {
class W : public B { public: W(); int size() const; private: int x_; };
template <typename T> T maxOf(T a, T b) { return a; }
int W::size() const { return 1; }
}
""",
    "a.cs": """namespace N.M {
/// <summary>Runs it.</summary>
public class Svc : IS { public const int Max = 3; public string Name { get; set; }
  public async Task<int> RunAsync(int a) { return 1; } }
enum E { A }
}
""",
    "a.rb": """# Top.
module M
  LIMIT = 3
  class C < B
    def go(a, b = 1) = a
    def self.make; end
  end
end
""",
    "a.php": """<?php
namespace App;
/** Sends. */
class Mailer extends Base { const MAX = 3; public function send(string $to): bool { return true; } }
function helper(int $a) { return 1; }
""",
}

EXPECTED = {
    "a.py": {"LIMIT", "read", "Parser", "Parser.depth", "Parser.feed", "conditional"},
    "a.js": {"fetchIt", "LIMIT", "add", "Store", "Store.get", "Store.of", "helper"},
    "a.ts": {"Props", "Id", "Repo", "Repo.go", "Repo.load", "Color", "N", "N.inner"},
    "a.tsx": {"Button"},
    "a.go": {"New", "Server.Start", "Server", "Max"},
    "a.rs": {"Pair", "Pair.new", "Go", "Go.go", "inner.deep", "N"},
    "A.java": {"App", "App.MAX", "App.run", "App.In", "App.In.f", "R"},
    "a.c": {"MAXN", "add", "name", "point_t", "node"},
    "a.cpp": {"n", "n.W", "n.W.W", "n.W.size", "n.maxOf"},
    "a.cs": {"Svc", "Svc.Max", "Svc.Name", "Svc.RunAsync", "E"},
    "a.rb": {"M", "M.LIMIT", "M.C", "M.C.go", "M.C.make"},
    "a.php": {"Mailer", "Mailer.MAX", "Mailer.send", "helper"},
}


def _named(path: str, name: str, source: str | None = None) -> Symbol:
    found = find_symbol(symbols_of(path, (source or SOURCES[path]).encode()), name)
    assert found is not None
    return found


@pytest.mark.parametrize("path", SOURCES)
def test_every_language_tells_what_it_defines_and_nothing_from_inside_functions(path: str) -> None:
    assert {symbol.qualified for symbol in symbols_of(path, SOURCES[path].encode())} == EXPECTED[path]


@pytest.mark.parametrize(
    ("path", "name", "signature", "doc"),
    [
        ("a.py", "read", "def read(path: str, *, strict: bool=False) -> dict[str, int]", "Read it."),
        ("a.js", "fetchIt", "async function fetchIt(url, { retries = 3 } = {})", "Fetches it."),
        ("a.ts", "Repo.load", "async load<K>(k: K): Promise<T>", ""),
        ("a.go", "New", "func New(addr string) *Server", "New makes one."),
        ("a.rs", "Pair", "pub struct Pair<T>", "A pair."),
        ("A.java", "App", "public class App extends B", "The app."),
        ("a.c", "add", "static int add(int a, int b)", "adds"),
        ("a.cs", "Svc", "public class Svc : IS", "Runs it."),
        ("a.php", "Mailer.send", "public function send(string $to): bool", ""),
    ],
)
def test_a_signature_has_parameters_types_and_the_first_line_of_the_doc(
    path: str, name: str, signature: str, doc: str
) -> None:
    symbol = _named(path, name)
    assert (symbol.signature, symbol.doc) == (signature, doc)


def test_spans_count_lines_from_one_and_take_decorators_along() -> None:
    assert _named("a.py", "Parser.feed").span == (10, 11)
    assert _named("a.py", "Parser").span == (8, 11)


def test_python_that_this_python_cannot_parse_is_read_by_its_indentation() -> None:
    old = "print 'x'\nclass A:\n    def f(self):\n        def g(): pass\n        return 1\ndef top(a): pass\n"
    found = symbols_of("old.py", old.encode())
    assert [(symbol.qualified, symbol.span) for symbol in found] == [("A", (2, 5)), ("A.f", (3, 5)), ("top", (6, 6))]


@pytest.mark.parametrize("path", SOURCES)
def test_broken_source_and_bytes_that_are_no_text_do_no_harm(path: str) -> None:
    for source in (b"", b"\xff\xfe\x00garbage((((", SOURCES[path].encode()[:-40], b"{" * 3_000):
        assert isinstance(symbols_of(path, source), tuple)


def test_a_language_that_is_not_known_defines_nothing() -> None:
    assert symbols_of("notes.md", b"# def f():") == ()


def test_a_fingerprint_heeds_the_body_and_the_signature_but_not_the_rest_of_the_file() -> None:
    def digest(source: str) -> str:
        return symbol_digest(_named("a.py", "f", source), source.encode())

    plain = digest("def f(a):\n    return a\n")
    assert digest("import os\n\ndef f(a):\n    return a\n\ndef g(): ...\n") == plain
    assert digest("def f(a):   \r\n    return a\r\n") == plain
    body, signature = plain.split("-")
    assert digest("def f(a):\n    return -a\n").split("-") != [body, signature]
    assert digest("def f(a):\n    return -a\n").split("-")[1] == signature
    assert digest("def f(a, b):\n    return a\n").split("-")[1] != signature


def test_a_name_that_ends_several_definitions_means_none_of_them() -> None:
    source = b"class A:\n    def go(self): ...\nclass B:\n    def go(self): ...\n"
    assert find_symbol(symbols_of("x.py", source), "go") is None
    assert find_symbol(symbols_of("x.py", source), "B.go") is not None
