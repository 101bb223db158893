"""No regular expression of the package takes time that grows faster than its text."""
# Found and timed are those in calls of `re`, in the arguments of pandas, and in values of modules and classes.

from __future__ import annotations

import ast
import builtins
import importlib
import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import dropwhile
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import attrs
import pytest
from pattern_growth import Growth, growth
from tiers import needs

import sitemap_reader

PACKAGE = Path(sitemap_reader.__file__).parent
METHODS = frozenset({"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"})


@attrs.frozen
class Use:
    """A pattern, its line, and the methods by which it is used."""

    line: int
    pattern: re.Pattern[Any]
    methods: frozenset[str] = METHODS

    @property
    def calls(self) -> list[str]:
        """The methods that differ in time: all others find all matches."""
        return sorted({each if each in {"match", "fullmatch", "search"} else "findall" for each in self.methods})

    @property
    def growth(self) -> Growth | None:
        return growth(self.pattern, self.calls)


class Sample(str):
    """In place of what only a call knows: a letter, whose attributes are that letter."""

    def __getattr__(self, name: str) -> Sample:
        return self


class Samples(dict[str, Any]):
    """A sample for any name."""

    def __missing__(self, name: str) -> Any:
        return self[""]


@cache
def tree_of(path: Path) -> ast.Module:
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node  # type: ignore[attr-defined]
    return tree


def uses(path: Path) -> Iterator[Use]:
    """The patterns that a module compiles in a call of `re`, gives to pandas, or has as values of its own."""
    if path.parent.parent.name == "integrations":
        needs(path.parent.name)
    name = ".".join(("sitemap_reader", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    names = vars(importlib.import_module(name))
    found = set()
    for node in ast.walk(tree_of(path)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        is_of_re = ast.unparse(node.func.value) == "re" and node.func.attr in {*METHODS, "compile"}
        if is_of_re or any(each.arg == "regex" for each in node.keywords):
            given = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
            flags = sum(value(each, names) for each in given if ast.unparse(each).startswith("re."))
            pattern = re.compile(value(node.args[0], names), flags)
            found.add((pattern.pattern, pattern.flags))
            yield Use(node.lineno, pattern, methods_of(node, path))
    imported = {
        each.asname or each.name
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    for pattern in values({name: each for name, each in names.items() if name not in imported}):
        if (pattern.pattern, pattern.flags) not in found:
            yield Use(0, pattern)


def value(node: ast.expr, names: dict[str, Any]) -> Any:
    """The value of an expression, with samples of the names that only a call knows."""
    of_calls: set[str] = set()
    place: Any = node
    while place := getattr(place, "parent", None):
        if isinstance(place, (ast.FunctionDef, ast.Lambda)):
            of_calls |= {each.arg for each in ast.walk(place) if isinstance(each, ast.arg)}
    known = ChainMap({name: each for name, each in names.items() if name not in of_calls}, vars(builtins))
    code = compile(ast.Expression(node), "pattern", "eval")
    for sample in (Sample("a"), b"a"):
        with suppress(TypeError):  # one is text, the other bytes
            return eval(code, {}, ChainMap(*known.maps, Samples({"": sample})))  # noqa: S307
    raise AssertionError(f"a pattern that this test cannot evaluate: {ast.unparse(node)}")


def methods_of(call: ast.Call, path: Path) -> frozenset[str]:
    """The methods that are called of what a call returns; all of them where that is passed on."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr != "compile":
        return frozenset({call.func.attr}) & METHODS or METHODS
    match call.parent:  # type: ignore[attr-defined]
        case ast.Attribute(attr=method):
            return frozenset({method})
        case ast.Assign(targets=[ast.Name(id=name)]):
            where = [path] if name.startswith("_") else PACKAGE.rglob("*.py")
            loads = [node for each in where for node in ast.walk(tree_of(each)) if is_load(node, name)]
            called = {getattr(node.parent, "attr", "") for node in loads} - {"pattern"}  # type: ignore[attr-defined]
            return frozenset(called) if called and called <= METHODS else METHODS
    return METHODS


def is_load(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def values(given: Any) -> Iterator[re.Pattern[Any]]:
    """The patterns among the values of a module, its classes and containers."""
    for each in given.values() if isinstance(given, dict) else given:
        each = getattr(each, "__self__", each)  # of a method as `search = re.compile(…).search`
        if isinstance(each, re.Pattern):
            yield each
        elif isinstance(each, (dict, list, tuple, set, frozenset)) and each is not given:
            yield from values(each)
        elif isinstance(each, type) and each.__module__.startswith("sitemap_reader"):
            yield from values(dict(vars(each)))


MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if re.search(r"\bre\.|regex=", path.read_text("utf-8"))]


@pytest.mark.slow
@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_time_grows_no_faster_than_the_text(path: Path) -> None:
    assert [(use.line, use.pattern.pattern, found) for use in uses(path) if (found := use.growth)] == []


@pytest.mark.slow
def test_patterns_are_compiled_by_re_alone() -> None:
    """Another way to a pattern would not be found here; RE2 is linear by its design."""
    for path in {*PACKAGE.rglob("*.py")} - {PACKAGE / "model" / "linear_pattern.py"}:
        for node in ast.walk(tree_of(path)):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert {name.partition(".")[0] for name in names}.isdisjoint({"regex", "re2"}), path
            assert not (isinstance(node, ast.ImportFrom) and node.module == "re"), path


# --- what growth() finds ---

QUADRATIC: list[tuple[str | bytes, int, str]] = [
    (r"\s*(?:allow|(d[a-z]*l[a-z]*w))\b\s*:?\s*(?=[^\s#])", re.IGNORECASE, "match"),
    (r"(?:(?<=//)|(?<![^\s'\"]))[^\s@/'\"]*:(?!//)[^\s@]*@(?:[^\s@/]*@)*", 0, "sub"),
    (rb"""<\?xml\s[^>]*?\bencoding\s*=\s*(["'])\s*([^"'<>]{1,80}?)\s*\1""", 0, "match"),
    (r"^.*a.*b", 0, "match"),
    (r"\s*x\s*$", 0, "search"),
    (r"\s+$", 0, "sub"),
    (r"a*a*b", 0, "match"),
    (r"allow\s*:?\s*/", 0, "match"),
    (r"<([^<>]*)>(\s*;\s*[\w*]+\s*(=\s*\w*)?\s*)*,", 0, "match"),
    (r"<([^>]*)>; rel=next", 0, "findall"),
    (r"<!--.*?-->", re.DOTALL, "search"),
    (r"max-[\w-]+:", 0, "findall"),
    (r"\[(.+?)\]", 0, "search"),
    (r"(?i:https?)://\S+@", 0, "search"),
    (r"(\d+)(,\d+)*;", 0, "search"),
    (r"(?>[a-z]+)=", 0, "search"),
    (r"\w++:", 0, "search"),
    (r"(?=.*x)y", 0, "search"),
    (r"(a+)+$", 0, "match"),
    (r"(?:x|x)*y", 0, "match"),
    (r"(?:\w+\s?)*!", 0, "match"),
]
LINEAR: list[tuple[str | bytes, int, str]] = [
    (r"\s*(?:allow|(d[a-z]{1,9}w))\b\s*(?::\s*)?(?=[^\s#])", re.IGNORECASE, "match"),
    (r"[^\s@]++(?:@(?:[^\s@/]*@)*)?", 0, "sub"),
    (r"<(?:\"[^\"]*\"|'[^']*'|[^>\"']++)*+>", 0, "match"),
    (r"(?<![\w-])max-[\w-]+\s*:", 0, "findall"),
    (r"<([^<>]*)>; rel=next", 0, "findall"),
    (r"^\w+:", re.MULTILINE, "findall"),
    (r"\s{0,10}x", 0, "search"),
    (r"(?:\w+\s)*!", 0, "match"),
    (r"\s*x\s*", 0, "fullmatch"),
    (r"a*b*c*d", 0, "match"),
    (rb"[^<\]]++", 0, "search"),
    (r"[a-z0-9+.-]*://", 0, "match"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "flags", "method"), QUADRATIC)
def test_quadratic_and_exponential_patterns_are_found(pattern: str, flags: int, method: str) -> None:
    assert growth(re.compile(pattern, flags), [method])


@pytest.mark.parametrize(("pattern", "flags", "method"), LINEAR)
def test_linear_patterns_are_not(pattern: str, flags: int, method: str) -> None:
    assert growth(re.compile(pattern, flags), [method]) is None


def test_patterns_in_calls_with_local_names_are_evaluated() -> None:
    """`scan.end_tag()` compiles a pattern with the name that it is given."""
    found = {use.pattern.pattern for use in uses(PACKAGE / "parser" / "xml" / "markup.py")}
    assert rb"</(?:[\w.-]+:)?a\s*>" in found


# --- possessive groups ---

SINGLE = {_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY, _constants.FAILURE}
WITHOUT_WIDTH = {_constants.ASSERT, _constants.ASSERT_NOT, _constants.AT}


def fails_late(items: Sequence[Any]) -> bool:
    """Whether a group may fail behind a character that it has taken, and not before one of its alternatives."""
    taken = [*dropwhile(lambda item: item[0] in WITHOUT_WIDTH, items)]
    if not taken:
        return False
    (kind, value), *rest = taken
    if rest:
        return any(can_fail(*each) for each in rest)
    if kind is _constants.SUBPATTERN:
        return fails_late(value[-1])
    if kind is _constants.BRANCH:  # before each alternative CPython goes back
        return fails_late(value[1][-1])
    return kind not in SINGLE and can_fail(kind, value)


def can_fail(kind: Any, value: Any) -> bool:
    repeats = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
    if kind in repeats:
        return bool(value[0] > 1 or (value[0] and not (len(value[2]) == 1 and value[2][0][0] in SINGLE)))
    return True


def possessive_groups(items: Iterable[Any]) -> Iterator[Sequence[Any]]:
    for kind, value in items:
        if kind is _constants.POSSESSIVE_REPEAT:
            yield value[2]
        for part in value if isinstance(value, tuple) else ():
            for each in part if isinstance(part, list) else [part]:
                if isinstance(each, _parser.SubPattern):
                    yield from possessive_groups(each)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_possessive_groups_match_alike_before_python_3_11_5(path: Path) -> None:
    """Where such a group fails behind a character, it keeps that one (CPython issue 106052); `|(?!)` helps."""
    late = {
        use.line: use.pattern.pattern
        for use in uses(path)
        for group in possessive_groups(_parser.parse(use.pattern.pattern, use.pattern.flags))
        if fails_late(group)
    }
    assert late == {}
