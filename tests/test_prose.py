"""No program of the package reads the text of an error or a Problem: facts are fields, and messages are for people.

It is read where a pattern or a method of text is used on `.message`, `.args`, or `str()` of what was caught.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sitemap_reader

PACKAGE = Path(sitemap_reader.__file__).parent
READS = {
    *("search", "match", "fullmatch", "sub", "subn", "split", "rsplit", "findall", "finditer"),
    *("removesuffix", "removeprefix", "partition", "rpartition", "startswith", "index", "find"),
}
# What has no other way, by file: the reason.
ALLOWED = {
    "checks/ci_formats.py": "a message that has the URL is not followed by it",
    "checks/config_file.py": "tomllib's errors have lineno from Python 3.14 on",
    "state/schema.py": "sqlite3 gives a closed database no code",
}


def readings(source: str) -> Iterator[str]:
    """The expressions that read a message."""
    tree = ast.parse(source)
    errors = {each.name for each in ast.walk(tree) if isinstance(each, ast.ExceptHandler)}
    errors |= {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg) and _is_error(each.annotation)}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _readings_of(function, errors)


def _is_error(annotation: ast.expr | None) -> bool:
    return annotation is not None and any(word in ast.unparse(annotation) for word in ("Error", "Exception"))


def _readings_of(function: ast.AST, errors: set[str | None]) -> Iterator[str]:
    texts: set[str] = set()

    def is_message(node: ast.AST) -> bool:
        for each in ast.walk(node):
            match each:
                case ast.Attribute(attr="message" | "args") | ast.Call(func=ast.Name("str"), args=[ast.Name(id=_)]):
                    if isinstance(each, ast.Attribute) or each.args[0].id in errors:  # type: ignore[attr-defined]
                        return True
                case ast.Name(id=name) if name in texts:
                    return True
        return False

    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name("str")) as value):
                if is_message(value):
                    texts.add(name)
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=of, attr=method), args=[_, *_] as given) if method in READS:
                if any(map(is_message, [of, *given])):
                    yield ast.unparse(node)
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[of]) if is_message(of):
                yield ast.unparse(node)


def test_no_program_reads_a_message() -> None:
    found = {
        file.relative_to(PACKAGE).as_posix(): expressions
        for file in sorted(PACKAGE.rglob("*.py"))
        if (expressions := [*readings(file.read_text("utf-8"))])
    }
    assert {name: each for name, each in found.items() if name not in ALLOWED} == {}
    assert ALLOWED.keys() <= found.keys(), "the exception is not needed any more"


@pytest.mark.parametrize("body", [
    "_PATH.search(str(exc))",
    "re.sub('a', '', exc.message)",
    "exc.args[0].partition(' ')",
    "'closed' in str(exc)",
    "problem.message.startswith('a')",
    "text = str(exc)\n        text.removesuffix('.')",
])
def test_a_reading_is_found(body: str) -> None:
    source = f"def f(problem):\n    try:\n        g()\n    except E as exc:\n        {body}"
    assert len([*readings(source)]) == 1
