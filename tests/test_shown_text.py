"""No repr or str of a public object has a character that a terminal would obey, or that moves the text beside it."""

import traceback
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
import pytest
from tiers import needs

import sitemap_reader as sr
from sitemap_reader import FetchError, Problem, SitemapReaderError
from sitemap_reader.model import errors, records, report

# ESC of a title and of the screen; C1; bidi overrides, embeddings, isolates and marks; line separators; DEL.
EVIL = "\x1b]0;x\x07\x1b[2J\x9b31m\x00\x7f\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029\r"
AT = datetime(2026, 6, 15, 12, tzinfo=UTC)
URL = f"https://e.com/{EVIL}"


def shown(made: Any) -> Iterator[str]:
    """What a shell, print(), a log and a notebook show of an object."""
    yield from (str(made), repr(made), f"{made}")
    for name in ("_repr_html_", "_repr_mimebundle_"):
        if hasattr(made, name):
            of_notebook = getattr(made, name)()
            yield from of_notebook.values() if isinstance(of_notebook, dict) else [of_notebook]


def assert_clean(made: Any) -> None:
    for text in shown(made):
        assert {char for char in text if not char.isprintable()} <= {"\n", "\xa0"}, repr(text)


# --- records ---------------------------------------------------------------------------------------------------------


def evil(cls: type) -> Any:
    """A record whose required fields, and all others of text, are EVIL."""
    values: dict[str, Any] = {}
    for field in attrs.fields(cls):
        if not field.init:
            continue
        if "str" in str(field.type) and "tuple" not in str(field.type) and "dict" not in str(field.type):
            values[field.name] = EVIL
        elif field.default is attrs.NOTHING:
            values[field.name] = None
    return cls(**values)


RECORDS = [cls for cls in (*vars(records).values(), Problem) if isinstance(cls, type) and attrs.has(cls)]


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_records_show_no_control_character(cls: type) -> None:
    assert_clean(evil(cls))


def test_problems_of_a_document_show_none() -> None:
    entry = f"<url><loc>https://e.com/</loc><lastmod>{EVIL[-9:-1]}\u202e\x9b</lastmod></url>"
    document = sr.parse(
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entry}</urlset>'.encode(), url=URL
    )
    assert document.problems
    assert_clean(document)
    for problem in document.problems:
        assert_clean(problem)


# --- exceptions ------------------------------------------------------------------------------------------------------

EXCEPTIONS = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, SitemapReaderError)]


@pytest.mark.parametrize("cls", EXCEPTIONS, ids=lambda cls: cls.__name__)
def test_exceptions_show_no_control_character(cls: type[SitemapReaderError]) -> None:
    error = cls(f"{EVIL} is wrong")
    assert_clean(error)
    assert_clean("".join(traceback.format_exception(error)))


def test_remedy_of_an_error_shows_none() -> None:
    assert_clean(FetchError("broke off", remedy=EVIL))


# --- analysis --------------------------------------------------------------------------------------------------------


def listed(host: str, days: int) -> Iterator[sr.UrlRecord]:
    """Pages with EVIL in each text, in some sections and languages."""
    pages = [f"https://{host}/{EVIL}/{name}-{EVIL}/page-{number}" for name in ("shoes", "hats") for number in range(8)]
    for number, page in enumerate(pages):
        yield sr.UrlRecord(
            page,
            AT - timedelta(days=days + 9 * number),
            "second",
            "daily",
            0.5,
            images=(sr.Image(page, EVIL, EVIL, EVIL, EVIL),),
            news=sr.News(EVIL, EVIL, f"{EVIL} red {EVIL}", AT, "second"),
            alternates=(sr.Alternate("en", page), sr.Alternate(EVIL, pages[0]), sr.Alternate("de", pages[-1])),
            sitemap=f"https://{host}/{EVIL}.xml",
            problems=(report("D01", EVIL, sitemap=EVIL, raw=EVIL),),
        )


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> tuple[sr.Snapshot, sr.Snapshot]:
    """Of one site, and of two."""
    needs("pandas")
    folder = tmp_path_factory.mktemp("shown")
    ours = b"".join(sr.json_line(each, site=f"ours{EVIL}") for each in listed("ours.example", 0))
    theirs = b"".join(sr.json_line(each, site=f"their{EVIL}") for each in listed("theirs.example", 1))
    (folder / "one.jsonl").write_bytes(ours)
    (folder / "two.jsonl").write_bytes(ours + theirs)
    return sr.load(folder / "one.jsonl", at=AT), sr.load(folder / "two.jsonl", at=AT)


MEASURES = [
    name
    for name, method in vars(sr.Snapshot).items()
    if getattr(method, "__annotations__", {}).get("return") == "Measure" and not name.startswith("_")
    and name not in ("turnover", "survival")  # of an archive: of counts and names that other measures have, too
]
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "new": ("7d",), "trends": ("7d",), "gaps": (f"ours{EVIL}",), "shared": (f"ours{EVIL}",),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_measures_and_their_charts_show_no_control_character(
    name: str, snapshots: tuple[sr.Snapshot, sr.Snapshot]
) -> None:
    for site in snapshots[name in ("gaps", "shared", "overlap") :]:
        arguments = (site,) if name == "churn" else ([],) if name == "growth" else ARGUMENTS.get(name, ())
        made = getattr(site, name)(*arguments)
        parts = [made, made.head(1)]
        for each in parts:
            assert_clean(each)
            for text in (each.finding, each.rule, each.verdict or ""):
                assert text.isprintable(), repr(text)
        chart = made.chart()
        assert chart.title.isprintable()
        assert_clean(chart)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ['\\"+toString(1)+\\"', "\\x1b[2J", '"', "\\"])
def test_a_folder_with_a_backslash_is_no_expression_of_a_chart(folder: str, tmp_path: Path) -> None:
    needs("altair")
    lines = [
        sr.json_line(sr.UrlRecord(f"https://{host}/{quote(folder)}/{name}"), site=host)
        for host, names in (("ours", "x"), ("theirs", "abc"))
        for name in names
    ]
    (tmp_path / "two.jsonl").write_bytes(b"".join(lines))
    svg = sr.load(tmp_path / "two.jsonl", at=AT).gaps("ours").chart().to_svg()
    assert svg.startswith("<svg")
    assert "\x1b" not in svg


@pytest.mark.slow
def test_snapshots_and_their_tables_show_none(snapshots: tuple[sr.Snapshot, sr.Snapshot]) -> None:
    for site in snapshots:
        part = site.filter(include=EVIL[:3].replace("]", r"\]"))
        for each in (site, part, site.urls, site.sitemaps, site.problems, site.pages):
            assert_clean(each)
        for text in (site.verdict, *site.notes, *part.notes):
            assert text.isprintable(), repr(text)


def test_reports_of_an_audit_show_none(snapshots: tuple[sr.Snapshot, sr.Snapshot]) -> None:
    for site in snapshots:
        report = sr.audit(site)
        reports = getattr(report, "reports", [report])
        for each in (report, *reports, *(finding for one in reports for finding in one.findings)):
            assert_clean(each)
