"""The rules of the package: imports point down, the pure folders are pure, public names are documented."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import sitemap_reader
from sitemap_reader.model import OPTIONS

PACKAGE = Path(sitemap_reader.__file__).parent
# Lowest first: a folder imports from those of its own layer and below.
LAYERS = [
    {"version", "model"},
    {"serialize", "parser"},
    {"frontier", "pages"},
    {"fetch"},
    {"pipeline"},
    {"state"},
    {"client"},
    {"compare", "statistics", "scale"},
    {"checks", "watching"},
    {"reader", "types"},
    {"analysis", "cli", "integrations"},
    {"__init__", "__main__"},
]
LAYER = {folder: number for number, folders in enumerate(LAYERS) for folder in folders}
PURE = ("parser", "frontier")
IMPURE_MODULES = {
    "asyncio", "http.client", "http.server", "io", "logging", "multiprocessing", "os", "pathlib", "selectors",
    "shutil", "signal", "socket", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib.request",
    "aiohttp", "feedparser",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "now", "utcnow", "today"}
PARSERS = {"feed", "text", "urlset", "robots"}
MODULES = sorted(PACKAGE.rglob("*.py"))
ROOT = PACKAGE.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
WITHOUT_DOCSTRING = {"version.py"}


def failing(check: Callable[[Path], object], paths: Iterable[Path] = MODULES) -> dict[str, object]:
    """File -> what the check found in it; files in which it found nothing are left out."""
    found = {str(path.relative_to(ROOT)): check(path) for path in paths}
    assert found
    return {name: each for name, each in found.items() if each}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree_of(path)))


def parts_of(path: Path) -> tuple[str, ...]:
    return path.relative_to(PACKAGE).with_suffix("").parts


def import_calls(nodes: list[ast.AST]) -> Iterator[ast.expr]:
    """The name that each call of import_module() or __import__() is given."""
    for node in nodes:
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("import_module", "__import__"):
                yield node.args[0]


def names_in_strings(path: Path) -> Iterator[str]:
    """Modules named by a string: by import_module(), in a package's table of lazy names, or by their full name."""
    nodes = nodes_of(path)
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    absolute = re.compile(rf"sitemap_reader\.({'|'.join(LAYER)})[.\w]*")
    yield from filter(absolute.fullmatch, texts)
    if path.name == "__init__.py":
        yield from (text for text in texts if re.fullmatch(r"\.[\w.]+", text))
    yield from (name.value for name in import_calls(nodes) if isinstance(name, ast.Constant))


def parts_of_import(level: int, module: str, here: tuple[str, ...]) -> tuple[str, ...]:
    """A module that is imported in the package `here`: `("", dotted name)`, or ours as parts below the package."""
    parts = tuple(module.split(".")) if module else ()
    if level:
        return (*here[: len(here) - level + 1], *parts)
    return parts[1:] if parts[:1] == (PACKAGE.name,) and len(parts) > 1 else ("", module)


@cache
def imports_of(path: Path) -> set[tuple[str, ...]]:
    """Every module that a file imports, also for types and by a string; that of a package with its stub, if any."""
    here = parts_of(path)[:-1]
    levels = {name: len(name) - len(name.lstrip(".")) for name in names_in_strings(path)}
    found = {parts_of_import(level, name[level:], here) for name, level in levels.items()}
    stub = path.with_suffix(".pyi")
    for node in nodes_of(path) + (nodes_of(stub) if stub.exists() else []):
        if isinstance(node, ast.Import):
            found |= {parts_of_import(0, alias.name, here) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found |= {parts_of_import(node.level, name, here) for name in names}
    return found


def ours(path: Path) -> set[tuple[str, ...]]:
    return {module for module in imports_of(path) if module and module[0] != ""}


@pytest.mark.slow
def test_imports_point_down():
    def above(path: Path) -> set[tuple[str, ...]]:
        return {module for module in ours(path) if LAYER[module[0]] > LAYER[parts_of(path)[0]]}

    assert failing(above) == {}


def test_no_module_is_imported_by_a_computed_name():
    def computed(path: Path) -> bool:
        return any(not isinstance(name, ast.Constant) for name in import_calls(nodes_of(path)))

    assert failing(computed) == {}


# Text of a module of `analysis/`, and what it imports.
IMPORTS = {
    "from .report import page": {("analysis", "report")},
    "def f():\n    from .report.page import g": {("analysis", "report", "page")},
    'import_module(".report.page", __package__)': {("analysis", "report", "page")},
    'importlib.import_module("..cli.main", __package__)': {("cli", "main")},
    '__import__("sitemap_reader.cli.main")': {("cli", "main")},
    'LAZY = "sitemap_reader.cli.main"': {("cli", "main")},
    "from sitemap_reader.cli import main": {("cli",)},
    "import pandas": {("", "pandas")},
}


@pytest.mark.parametrize("text", IMPORTS)
def test_imports_are_found_in_statements_and_strings(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "sitemap_reader" / "analysis").mkdir(parents=True)
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "sitemap_reader")
    path = tmp_path / "sitemap_reader" / "analysis" / "snapshot.py"
    path.write_text(text)
    assert imports_of(path) == IMPORTS[text]


@cache
def import_graph() -> dict[str, set[str]]:
    """Module -> the modules that it imports, as `client/crawler`; imports in functions and for types count too."""
    names = {"/".join(parts_of(path)).removesuffix("/__init__"): path for path in MODULES}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        targets = {
            next(("/".join(each[:n]) for n in (len(each), len(each) - 1) if "/".join(each[:n]) in names), "")
            for each in ours(path)
        }
        # `from . import scanner`, a compiled module, names its package, which lists the names of its modules.
        graph[name] = {target for target in targets if target and not f"{name}/".startswith(f"{target}/")}
    return graph


@pytest.mark.slow
def test_no_circle_of_imports_between_files():
    try:
        TopologicalSorter(import_graph()).prepare()
    except CycleError as exc:
        pytest.fail(f"these import each other in a circle: {' <- '.join(exc.args[1])}")


def folder_imports() -> dict[str, set[str]]:
    """Folder -> the folders whose modules it imports directly."""
    found: dict[str, set[str]] = {}
    for name, targets in import_graph().items():
        folder = name.partition("/")[0]
        found.setdefault(folder, set()).update(target.partition("/")[0] for target in targets)
    files = {path.stem for path in PACKAGE.glob("*.py")}
    return {folder: targets - {folder} - files for folder, targets in found.items() if folder not in files}


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """All nodes reachable from `start`."""
    found, waiting = set(), [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def test_the_picture_of_the_architecture_shows_the_imports():
    """Each arrow is an import, and each import between folders is an arrow or a path of arrows."""
    drawn: dict[str, set[str]] = {}
    for upper, lower in re.findall(r"^    (\w+) --> (\w+)$", ARCHITECTURE, re.MULTILINE):
        drawn.setdefault(upper, set()).add(lower)
    imports = folder_imports()
    for folder in {*drawn, *imports}:
        assert drawn.get(folder, set()) <= imports.get(folder, set()), f"{folder}: arrows without an import"
        assert imports.get(folder, set()) <= reachable(drawn, folder), f"{folder}: imports without an arrow"


def test_the_architecture_names_every_module():
    named = {name.rpartition("/")[2].removesuffix(".py") for name in re.findall(r"`([\w/.]+)`", ARCHITECTURE)}
    assert {path.stem for path in MODULES} - {"__init__"} - named == set()


def private_names(node: ast.ClassDef, *, is_set: bool) -> set[str]:
    """The private attributes of `self` that a class sets, as methods too, or those that it uses."""
    inside = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and is_self(each.value)]
    names = {each.attr for each in inside if isinstance(each.ctx, ast.Store) or not is_set}
    members = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    members |= {ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)}
    return {name for name in names | (members if is_set else set()) if re.match("_[a-z]", name)}


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def test_a_class_stands_in_one_file():
    """A file may be long. A class that uses many private names of a parent in another file is a part of that class."""
    classes = {node.name: (path, node) for path in MODULES for node in nodes_of(path) if isinstance(node, ast.ClassDef)}
    parts = {}
    for name, (path, node) in classes.items():
        parents = [classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
        elsewhere = [parent for place, parent in parents if place != path]
        theirs = {each for parent in elsewhere for each in private_names(parent, is_set=True)}
        shared = theirs & private_names(node, is_set=False) - private_names(node, is_set=True) if theirs else theirs
        if len(shared) > 2:
            parts[name] = shared
    assert parts == {}


def test_pure_folders_use_no_io_and_no_clock():
    def outside(path: Path) -> set[str]:
        modules = {name for package, *name_of in imports_of(path) if not package for name in name_of}
        calls = [node.func for node in nodes_of(path) if isinstance(node, ast.Call)]
        names = {call.id for call in calls if isinstance(call, ast.Name)}
        names |= {call.attr for call in calls if isinstance(call, ast.Attribute)}
        impure = {name for name in modules if name in IMPURE_MODULES or name.split(".")[0] in {"aiohttp", "asyncio"}}
        return impure | (names & IMPURE_CALLS)

    assert failing(outside, [path for path in MODULES if parts_of(path)[0] in PURE]) == {}


def test_parsers_never_import_each_other():
    for name in PARSERS:
        imported = {module[-1] for module in ours(PACKAGE / "parser" / "dialects" / f"{name}.py")}
        assert not imported & (PARSERS - {name}), name


def test_every_module_has_a_docstring():
    def missing(path: Path) -> bool:
        return ast.get_docstring(tree_of(path)) is None

    assert failing(missing, [path for path in MODULES if path.name not in WITHOUT_DOCSTRING]) == {}


def test_no_public_name_is_a_modules():
    modules = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert not set(sitemap_reader.__all__) & (modules - {"__init__"})


PACKAGES = sorted(path.parent for path in PACKAGE.glob("**/__init__.pyi"))


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: path.name)
def test_public_names_load_on_first_use(folder: Path):
    package = import_module(".".join(folder.relative_to(ROOT).parts))
    assert dir(package)
    for name in dir(package):
        assert getattr(package, name) is not None
        assert folder == PACKAGE or not (folder / f"{name}.py").exists(), "a name is not a module's"
    with pytest.raises(AttributeError, match="nothing"):
        _ = package.nothing


def test_what_users_need_first():
    assert len(sitemap_reader.__all__) <= 51, "the rest is in subpackages"
    assert sitemap_reader.Measure is sitemap_reader.analysis.Measure


# Steps of a program in order -> modules that are not imported after the step.
STEPS = {
    "import sitemap_reader as sr; sr.parse(b'<urlset/>')": "aiohttp feedparser asyncio click",
    "[sr.schema(each) for each in ('json', 'duckdb', 'polars', 'arrow')]": "duckdb polars pyarrow aiohttp asyncio",
    "import sitemap_reader.cli.main": "aiohttp feedparser pandas pyarrow asyncio",
    "import sitemap_reader.pipeline.feedparser_process, sitemap_reader.fetch.replay": "aiohttp feedparser yarl",
    "from sitemap_reader import SitemapReader, urls": "sqlite3 aiohttp feedparser warcio brotli tempfile",
    "from sitemap_reader import audit; import sitemap_reader.cli.audit": "aiohttp feedparser altair",
    "from sitemap_reader import *": "pandas pyarrow polars duckdb altair",
}


@pytest.mark.slow
def test_imports_are_lazy():
    steps = (f"{step}\nprint(*{{*{absent.split()}}} & {{*sys.modules}})\n" for step, absent in STEPS.items())
    program = "import sys\n" + "".join(steps)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert dict(zip(STEPS, result.stdout.splitlines(), strict=True)) == dict.fromkeys(STEPS, "")


# Modules whose messages only the command line and tests show.
OF_THE_COMMAND_LINE = {"cli", "schema", "writers", "options"}
# A message of the library that names an option names the keyword beside it: `--allow-private (allow_private=True)`,
# `auth (--auth)`.
OPTION = re.compile(r"(?<![\w-])(?<!\w \()--[a-z][a-z-]*+(?! \(\w+=)")


def messages_of(path: Path) -> Iterator[str]:
    """Strings that may be messages; f-strings with their fields as {}. Without docstrings."""
    tree = tree_of(path)
    quiet = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            quiet |= {id(part) for part in node.values}
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in quiet:
            yield node.value


@pytest.mark.slow
def test_messages_of_the_library_name_keywords():
    def alone(path: Path) -> set[str]:
        return {text for text in messages_of(path) if OPTION.search(text)} - {each.flags for each in OPTIONS.values()}

    assert failing(alone, [path for path in MODULES if OF_THE_COMMAND_LINE.isdisjoint(parts_of(path))]) == {}


def test_messages_have_the_install_hint_of_errors():
    def by_hand(path: Path) -> list[str]:
        return re.findall(r"install ['\"]?(?:\.|sitemap-reader)\[.*", path.read_text("utf-8"))

    assert failing(by_hand, [path for path in MODULES if path.name != "errors.py"]) == {}, "use errors.install_hint()"
