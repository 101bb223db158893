"""stats, audit, snapshot and sync give one verdict on the lastmods of a sitemap: on generated sites the right one."""

import json
import random
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Literal

import attrs
import pytest
from corpus_cases import CORPUS
from generated.entries import DATE_FORMS, Date, Entry, index_xml, open_document, write_urlset
from kit import run

import sitemap_reader as sr
from sitemap_reader.serialize import in_batches
from sitemap_reader.statistics import Fact, Statistics

pytest.importorskip("pandas")

READ_AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
NAIVE = READ_AT.replace(tzinfo=None)
BASE = "https://a.example"
SITES = 50
RECORDINGS = sorted(path.parent for path in CORPUS.glob("sites/*/site.toml"))

Dates = list["Date | None"]


def accurate(rng: random.Random, number: int, forms: str = "second") -> Dates:
    """Dates of different days, up to three years old."""
    days = rng.sample(range(2, 1_000), number)
    written = [DATE_FORMS[rng.choice(forms.split())] for _ in days]
    return [write(NAIVE - timedelta(days=day, seconds=1)) for write, day in zip(written, days, strict=True)]


def spread(rng: random.Random, number: int, *, start: datetime, seconds: int, form: str = "second") -> Dates:
    """Dates of a time that begins at `start`; all of them differ."""
    return [DATE_FORMS[form](start + timedelta(seconds=each)) for each in rng.sample(range(seconds), number)]


def equal(rng: random.Random, number: int, form: str) -> Dates:
    return [DATE_FORMS[form](NAIVE - timedelta(days=rng.randint(2, 900)))] * number


@attrs.frozen
class Kind:
    """How the dates of a sitemap are made, and what is true of them: the reasons of its verdict, and its findings."""

    dates: Callable[[random.Random, int], Dates]
    score: float | None = 1.0
    reasons: tuple[str, ...] = ()
    codes: frozenset[str] = frozenset()
    confirmed_by: Literal["url", "news"] | None = None


# Reasons as regular expressions, without their shares.
SAME, NEAR = r"have the same lastmod, \S+: a build or an import", r"within \d+ min on \S+: a build or an import"
NOW, LATER = "have the time of the request as their lastmod", "have a lastmod in the future"
BATCH_START = NAIVE - timedelta(days=40)
KINDS = {
    "accurate": Kind(accurate),
    "days": Kind(lambda rng, n: accurate(rng, n, "day")),
    "mixed": Kind(lambda rng, n: accurate(rng, n, "second day minute offset subsecond")),
    "identical": Kind(lambda rng, n: equal(rng, n, "second"), 0.0, (f"100% {SAME}",), frozenset({"D03"})),
    "one day": Kind(lambda rng, n: equal(rng, n, "day"), 0.0, (f"100% {SAME}",), frozenset({"D03"})),
    "six in ten": Kind(
        lambda rng, n: equal(rng, n * 6 // 10, "second") + accurate(rng, n * 4 // 10), 0.4, (f"60% {SAME}",)
    ),
    "few": Kind(lambda rng, n: equal(rng, 9, "second")),
    "at fetch": Kind(
        lambda rng, n: spread(rng, n, start=NAIVE - timedelta(seconds=59), seconds=60),
        0.0,
        (f"100% {NEAR}", f"100% {NOW}"),
        frozenset({"D03", "D04"}),
    ),
    "half at fetch": Kind(
        lambda rng, n: [DATE_FORMS["second"](NAIVE)] * (n // 2) + accurate(rng, n // 2),
        0.25,
        (f"50% {SAME}", f"50% {NOW}"),
    ),
    "dense": Kind(
        lambda rng, n: spread(rng, n, start=BATCH_START, seconds=599), 0.0, (f"100% {NEAR}",), frozenset({"D03"})
    ),
    "dense to the millisecond": Kind(
        lambda rng, n: spread(rng, n, start=BATCH_START, seconds=300, form="subsecond"),
        0.0,
        (f"100% {NEAR}",),
        frozenset({"D03"}),
    ),
    "a day's work": Kind(lambda rng, n: [DATE_FORMS["second"](BATCH_START + n * timedelta(hours=1)) for n in range(n)]),
    "future": Kind(
        lambda rng, n: (
            [DATE_FORMS["second"](NAIVE + timedelta(days=9 * each)) for each in range(1, n // 5 + 1)]
            + accurate(rng, n * 4 // 5)
        ),
        0.8,
        (f"20% {LATER}",),
        frozenset({"D02"}),
    ),
    "tomorrow elsewhere": Kind(lambda rng, n: [DATE_FORMS["day"](NAIVE + timedelta(days=1)), *accurate(rng, n, "day")]),
    "published on one day": Kind(lambda rng, n: equal(rng, n, "day"), confirmed_by="url"),
    "published within minutes": Kind(
        lambda rng, n: spread(rng, n, start=BATCH_START, seconds=599), confirmed_by="url"
    ),
    "news of one day": Kind(lambda rng, n: equal(rng, n, "day"), confirmed_by="news"),
    "a third of one day": Kind(lambda rng, n: equal(rng, n // 3, "day") + accurate(rng, n - n // 3, "day")),
    "half undated": Kind(lambda rng, n: [*accurate(rng, n // 2), *[None] * (n // 2)]),
    "mostly undated": Kind(lambda rng, n: [*accurate(rng, n // 5), *[None] * n], codes=frozenset({"D07"})),
    "undated": Kind(lambda rng, n: [None] * n, None, (), frozenset({"D07"})),
}
GROUPS = ("lastmod", "lastmod batch", "lastmod verdict")
LASTMOD_CODES = {"D02", "D03", "D04", "D05", "D07"}
FACTS = {SAME: "in a batch", NEAR: "in a batch", NOW: "at the time of reading", LATER: "in the future"}


@attrs.frozen
class GeneratedSite:
    """A site on disk, the kind of each sitemap, and the sitemaps whose index lastmod is too old."""

    folder: Path
    kinds: dict[str, Kind]
    behind: set[str]


def entry(base: str, page: int, date: Date | None, kind: Kind) -> Entry:
    day = date.stamp[:10] if date else ""
    name = f"{day}-{page}" if kind.confirmed_by == "url" else f"{page}"
    news = {"name": "A", "language": "en", "title": name, "publication_date": day}
    return Entry(f"{base}/{name}", date, news=news if kind.confirmed_by == "news" else None)


def generate(folder: Path, seed: int) -> GeneratedSite:
    """A site of four sitemaps, whose index is accurate, or wrong about some."""
    rng = random.Random(seed)  # noqa: S311 - to be repeatable is its purpose
    root = folder / "https" / "a.example"
    root.mkdir(parents=True)
    kinds, behind, children = {}, set(), list[tuple[str, str | None]]()
    names = [[*KINDS][(4 * seed + number) % len(KINDS)] for number in range(4)]
    for number, name in enumerate(names):
        url = f"{BASE}/{number}.xml"
        dates = KINDS[name].dates(rng, rng.choice([20, 30, 40]))
        with open_document(root / f"{number}.xml") as document:
            entries = (entry(f"{BASE}/{number}", page, date, KINDS[name]) for page, date in enumerate(dates))
            write_urlset(document, None, entries, sitemap=url, extensions=["news"])
        moments = [datetime.fromisoformat(date.stamp) for date in dates if date is not None]
        newest = max((moment for moment in moments if moment <= READ_AT), default=None)
        is_wrong = newest is not None and seed % 2 == 1 and rng.random() < 0.5
        if newest is not None and is_wrong:
            newest -= timedelta(days=5)
            behind.add(url)
        children.append((url, newest and f"{newest:%Y-%m-%dT%H:%M:%SZ}"))
        kinds[url] = KINDS[name]
    (root / "index.xml").write_bytes(index_xml(children))
    (root / "robots.txt").write_text(f"Sitemap: {BASE}/index.xml\n")
    (folder / "site.toml").write_text(f'seeds = ["{BASE}/"]\nrecorded = {READ_AT:%Y-%m-%dT%H:%M:%SZ}\n')
    return GeneratedSite(folder, kinds, behind)


@attrs.frozen
class Verdicts:
    """What each entry point says of the sitemaps of a site: URL -> score and reasons."""

    snapshot: dict[str, sr.frontier.LastmodTrust]
    sync: dict[str, sr.frontier.LastmodTrust]
    report: sr.Report
    site_facts: list[dict[str, object]]  # of the command line
    facts: dict[str, list[Fact]]  # by sitemap

    @property
    def audit(self) -> dict[str, sr.frontier.LastmodTrust]:
        return dict(self.report.lastmod_trust)


def read(folder: Path, state: Path) -> Verdicts:
    snapshot = sr.snapshot(folder, show_progress=False)
    at = snapshot.at
    rows = snapshot.lastmod_trust().to_dict("records")
    by_snapshot = {
        row["sitemap"]: sr.frontier.LastmodTrust(
            None if isnan(row["score"]) else row["score"],
            tuple(filter(None, row["reasons"].split("; "))),
            row["coverage"],
        )
        for row in rows
    }
    with sr.changes(folder, state=state, clock=lambda: at) as changes:
        assert sum(1 for _ in changes) > 0
    with sr.state.State(state) as opened:
        by_sync = {document.url: document.lastmod_trust for document in opened.documents()}
    output = run("stats", folder, "--format", "jsonl", "--quiet").stdout
    lines: dict[str, list[dict[str, object]]] = {}
    for line in snapshot.dicts():
        if "type" not in line:
            lines.setdefault(line["sitemap"], []).append(line)
    facts = {sitemap: facts_of(urls, at) for sitemap, urls in lines.items()}
    report = sr.audit(folder, samples=1_000)
    return Verdicts(by_snapshot, by_sync, report, [json.loads(line) for line in output.splitlines()], facts)


def facts_of(lines: Iterable[dict[str, object]], at: datetime) -> list[Fact]:
    statistics = Statistics(at, lambda: at)
    for item in chain.from_iterable(in_batches(map(sr.from_json, lines))):  # type: ignore[arg-type] # no line is of a change
        statistics.add(item)
    return statistics.facts()


def assert_agreement(verdicts: Verdicts) -> None:
    assert verdicts.audit == verdicts.snapshot
    assert {url: verdicts.sync[url] for url in verdicts.snapshot} == verdicts.snapshot
    assert verdicts.facts.keys() == verdicts.snapshot.keys()
    for url, trust in verdicts.snapshot.items():
        facts = {fact.name for fact in verdicts.facts[url] if fact.group == "lastmod"}
        stated = [fact.name for fact in verdicts.facts[url] if fact.group == "lastmod verdict"]
        names = {name for words, name in FACTS.items() if any(re.search(words, reason) for reason in trust.reasons)}
        assert facts & {*FACTS.values()} == names
        batches = [fact.name for fact in verdicts.facts[url] if fact.group == "lastmod batch"]
        assert all(any(batch in reason for reason in trust.reasons) for batch in batches)
        assert bool(batches) == ("in a batch" in names)
        scores = [] if trust.score is None else [f"({trust.score:.2f})"]
        assert re.findall(r"\([0-9.]+\)", " ".join(stated)) == scores
    of_site = [fact for fact in verdicts.site_facts if fact["group"] in GROUPS]
    assert [fact.to_dict() for fact in verdicts.report.facts if fact.group in GROUPS] == [
        fact for fact in of_site if fact["name"] != "stated"
    ]


def found(report: sr.Report, url: str) -> set[str]:
    """The codes of lastmods that are found in a document."""
    problems = (sample for finding in report.findings for sample in finding.samples)
    return {problem.code for problem in problems if problem.sitemap == url} & LASTMOD_CODES


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(start, start + 10) for start in range(0, SITES, 10)], ids=str)
def test_generated_sites_have_the_right_verdict_everywhere(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        site = generate(tmp_path / str(seed), seed)
        verdicts = read(site.folder, tmp_path / f"{seed}.db")
        assert verdicts.snapshot.keys() == site.kinds.keys()
        for url, kind in site.kinds.items():
            trust = verdicts.snapshot[url]
            assert trust.score == kind.score
            assert len(trust.reasons) == len(kind.reasons)
            assert all(map(re.fullmatch, kind.reasons, trust.reasons))
        assert_agreement(verdicts)
        assert {url: found(verdicts.report, url) for url in site.kinds} == {
            url: set(kind.codes) for url, kind in site.kinds.items()
        }
        index = verdicts.sync[f"{BASE}/index.xml"]
        behind = [sample.message for each in verdicts.report.findings if each.code == "D05" for sample in each.samples]
        assert {message.split()[0] for message in behind} == site.behind
        assert bool(index.reasons) == bool(site.behind)
        is_dated = any(kind.score is not None for kind in site.kinds.values())
        assert index.score == (0.0 if site.behind else 1.0 if is_dated else None)


@pytest.mark.slow
@pytest.mark.parametrize("folder", RECORDINGS, ids=lambda path: path.name)
def test_recorded_sites_have_the_same_verdict_everywhere(folder: Path, tmp_path: Path) -> None:
    assert_agreement(read(folder, tmp_path / "state.db"))
