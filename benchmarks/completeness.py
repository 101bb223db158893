"""One document with every field: how much of it each reader gives.

    python -m benchmarks.completeness [--markdown]

Each extension's section, and each dialect of feeds, is written from values that stand once only. A reader is credited
with a value wherever it gives it, under any name, as text or typed: `yes` may come as True, a date in any form.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from sitemap_reader.parser import TAG_RULES, parse_date
from sitemap_reader.parser.dialects import extensions as values

from .peers import Question, ask, version_of
from .readers import VALUES
from .tables import aligned, markdown, write_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sitemap_reader.parser import TagRule

NAMESPACES = "".join(
    f' xmlns:{prefix}="{namespace}"'
    for prefix, namespace in {
        "image": "http://www.google.com/schemas/sitemap-image/1.1",
        "video": "http://www.google.com/schemas/sitemap-video/1.1",
        "news": "http://www.google.com/schemas/sitemap-news/0.9",
        "xhtml": "http://www.w3.org/1999/xhtml",
    }.items()
)
SEVERAL = 2  # repetitions of each repeatable tag


@attrs.define
class Sample:
    """A document about one thing, and the values in it."""

    what: str
    body: str
    values: list[str]


class Writer:
    """Writes elements with unique values; records them."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._number = 100

    def value(self, kind: Callable[..., object]) -> str:
        self._number += 1
        number = self._number
        forms = {
            values.url: f"https://example.com/{number}",
            values.date: f"2026-05-{number % 28 + 1:02}T{number % 24:02}:{number % 60:02}:00+00:00",
            values.boolean: "yes",
            values.text: f"words {number}",
            values.comma_separated: f"name {number}, other {number}",
        }
        # The rest are numbers: none of their ranges ends below 4, or is narrower than that.
        text = forms.get(kind, f"{number}" if kind.__qualname__.startswith("whole") else f"{number % 4}.{number}5")
        self.values += text.split(", ")
        return text

    def tag(self, name: str, tag: TagRule) -> str:
        attributes = "".join(f' {key}="{self.value(kind)}"' for key, kind in tag.attributes.items())
        times = SEVERAL if tag.is_list else 1
        return "".join(f"<{name}{attributes}>{self.value(tag.parse)}</{name}>" for _ in range(times))

    def element(self, name: str) -> str:
        return f"<{name}>{''.join(self.tag(each, tag) for each, tag in TAG_RULES[name].items())}</{name}>"


def samples() -> Iterator[Sample]:
    """A sample for each extension and each dialect of feeds."""
    yield sitemap("image", lambda writer: writer.element("image:image") + writer.element("image:image"))
    yield sitemap("video", lambda writer: writer.element("video:video") + writer.element("video:video"))
    yield sitemap("video:tvshow", lambda writer: f"<video:video>{writer.element('video:tvshow')}</video:video>")
    yield sitemap("news", news)
    yield sitemap("xhtml:link", lambda writer: alternate(writer) + alternate(writer))
    for what, form in FEEDS.items():
        writer = Writer()
        items = [form["item"].format(link=writer.value(values.url), date=writer.value(values.date)) for _ in range(3)]
        yield Sample(what, form["feed"].format(items="".join(items)), writer.values)


def sitemap(what: str, write: Callable[[Writer], str]) -> Sample:
    writer = Writer()
    inside = f"<url><loc>https://example.com/page</loc>{write(writer)}</url>"
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"{NAMESPACES}>{inside}</urlset>'
    return Sample(what, body, writer.values)


def news(writer: Writer) -> str:
    table = TAG_RULES["news:news"]
    parts = {name: writer.tag(name, tag) for name, tag in table.items()}
    publication = "".join(parts.pop(name) for name in ("news:name", "news:language"))
    return f"<news:news><news:publication>{publication}</news:publication>{''.join(parts.values())}</news:news>"


def alternate(writer: Writer) -> str:
    language, target, media = map(writer.value, (values.text, values.url, values.text))
    return f'<xhtml:link rel="alternate" hreflang="{language}" href="{target}" media="{media}"/>'


_RSS_ITEM = "<item><title>t</title><link>{link}</link><pubDate>{date}</pubDate></item>"
_ATOM_ITEM = '<entry><title>t</title><link href="{link}"/><updated>{date}</updated></entry>'
# Dialect -> an item, and the feed around it.
FEEDS = {
    "RSS 0.91": {
        "item": _RSS_ITEM,
        "feed": '<rss version="0.91"><channel><title>c</title><link>https://example.com/</link>{items}</channel></rss>',
    },
    "RSS 2.0": {
        "item": _RSS_ITEM,
        "feed": '<rss version="2.0"><channel><title>c</title><link>https://example.com/</link>{items}</channel></rss>',
    },
    "RSS 1.0": {
        "item": "<item><title>t</title><link>{link}</link><dc:date>{date}</dc:date></item>",
        "feed": '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>c</title></channel>{items}</rdf:RDF>',
    },
    "Atom 0.3": {
        "item": '<entry><title>t</title><link rel="alternate" href="{link}"/><modified>{date}</modified></entry>',
        "feed": '<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>c</title>{items}</feed>',
    },
    "Atom 1.0": {
        "item": _ATOM_ITEM,
        "feed": '<feed xmlns="http://www.w3.org/2005/Atom"><title>c</title>{items}</feed>',
    },
}


# --- results ---


def is_given(value: str, given: frozenset[str], moments: frozenset[object]) -> bool:
    """Whether a reader gave the value, in any of its forms."""
    typed = {"yes": "True"}.get(value, value)
    moment = parse_date(value)
    return bool({value, typed, value.lstrip("0")} & given or (moment and moment.moment in moments))


def found_by(reader: str, questions: Mapping[str, Question], truths: Mapping[str, list[str]]) -> dict[str, int]:
    """How many values of each sample the reader gives."""
    answers = ask(reader, list(questions.values()), "values")
    found = {}
    for what, question in questions.items():
        texts = answers[question.file].urls
        parts = frozenset(part.strip() for text in texts for part in (text, *text.split(",")))
        moments = frozenset(date.moment for part in parts if (date := parse_date(part, "rss")))
        found[what] = sum(is_given(value, parts, moments) for value in truths[what])
    return found


def table(folder: Path) -> list[list[str]]:
    """Rows of cells: each sample, and how much of it each reader gives."""
    all_samples = list(samples())
    truths = {sample.what: sample.values for sample in all_samples}
    questions = {}
    for number, sample in enumerate(all_samples):
        questions[sample.what] = Question(folder / f"{number}.xml", f"https://example.com/{number}.xml")
        questions[sample.what].file.write_text(sample.body, "utf-8")
    found = {reader: found_by(reader, questions, truths) for reader in VALUES}
    return [
        ["values in", "there", *(f"{reader} {version_of(reader)}" for reader in VALUES)],
        *([what, str(len(truth)), *(str(found[reader][what]) for reader in VALUES)] for what, truth in truths.items()),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.completeness", description=__doc__.partition("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="write the table into docs/comparison.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = table(Path(folder))
    print(aligned(rows))
    if options.markdown:
        write_page({"completeness": f"`python -m benchmarks.completeness --markdown`\n\n{markdown(rows)}"})


if __name__ == "__main__":
    main()
