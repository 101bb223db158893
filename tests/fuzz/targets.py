"""The targets: the check, the documents of corpus/ that are its seeds, and the pieces of its inputs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import attrs
from damage_rules import check_damage, check_growth
from decode_rules import check_decoder
from document_rules import check_document, check_robots_document
from pieces import DATES, FEED, MARKUP, ROBOTS, TEXT
from scanner_rules import MAX_DOCUMENT_BYTES, check_scanner, made_up, pieces_of_documents
from value_rules import check_date_text, check_robots_text, check_url_text

HERE = Path(__file__).parent
CORPUS = HERE.parent.parent / "corpus"
FOUND = HERE / "found"
MAX_SEED_BYTES = 6_000


class Check(Protocol):
    """Raises if a rule does not hold for the bytes."""

    def __call__(self, body: bytes, *, thorough: bool = False) -> None: ...


@attrs.frozen
class Target:
    """One thing to fuzz."""

    check: Check
    groups: tuple[str, ...] = ()  # folders of corpus/
    samples: tuple[bytes, ...] = ()  # seeds that are not documents
    made_up: int = 0  # seeds made by the generators of documents
    tokens: tuple[bytes, ...] = ()
    max_bytes: int = 4_096

    @property
    def seeds(self) -> Iterator[bytes]:
        yield from self.samples
        yield from made_up(self.made_up)
        for group in self.groups:
            for path in sorted(CORPUS.glob(f"{group}/*")):
                if path.suffix not in (".jsonl", ".toml") and path.stat().st_size <= MAX_SEED_BYTES:
                    yield path.read_bytes()


_DOCUMENTS = ("charset", "damage", "dtd", "extensions", "index", "limits", "other", "urls", "urlset", "dates", "hints")

TARGETS: dict[str, Target] = {
    "decode": Target(check_decoder, ("charset", "gzip", "text"), tokens=MARKUP[:20] + TEXT, max_bytes=2_048),
    "markup": Target(check_document, _DOCUMENTS, tokens=MARKUP),
    "feed": Target(check_document, ("feed", "fallback"), tokens=MARKUP + FEED * 2),
    "text": Target(check_document, ("text", "charset"), tokens=TEXT, max_bytes=1_024),
    "robots": Target(check_robots_document, ("robots",), tokens=ROBOTS + TEXT, max_bytes=1_024),
    "rules": Target(check_robots_text, ("robots",), tokens=ROBOTS * 2 + TEXT, max_bytes=600),
    "dates": Target(check_date_text, samples=DATES, tokens=DATES, max_bytes=60),
    "urls": Target(
        check_url_text,
        samples=(
            b"HTTPS://Example.COM:443/a/../caf\xc3\xa9#x", b"/a?b", b"../x\nhttp://a.example/b/c",
            b"https://u:p@[::1]:8/%zz",
            b"http://b\xc3\xbccher.example/", b"//c.example/d", b"https://a_b.example./%2e%2e/.",
        ),
        tokens=TEXT * 2 + MARKUP[-40:],
        max_bytes=200,
    ),
    "damage": Target(
        check_damage,
        samples=tuple(bytes((n, 17 * n % 256, n % 9)) + token for n, token in enumerate(MARKUP * 2) if n < 256),
        tokens=MARKUP + FEED,
        max_bytes=120,
    ),
    "growth": Target(
        check_growth,
        samples=(
            b"<urlset>\0<url><loc>https://example.com/a&b</loc></url>\0</urlset>", b"<urlset><url>\0<x>\0",
            b"<urlset>\0<url><loc>https://example.com/a</loc><url>\0", b"<urlset><url><loc>\0<!--\0", b"\0<\0",
            b"<rss><channel>\0<item><link>https://example.com/a</item>\0", b"<feed>\0<entry><link href=/a></entry>\0",
            b"\0https://example.com/a\n\0", b"<urlset><url>\0<image:image>\0", b"<urlset>\0</loc>\0",
            b"<urlset>\0<![CDATA[ ]]>\0",
        ),
        tokens=(*MARKUP, *FEED, b"\0", b"\0"),
        max_bytes=200,
    ),
    "scanner": Target(
        check_scanner, (*_DOCUMENTS, "feed", "text"), made_up=500, tokens=MARKUP + FEED + pieces_of_documents(),
        max_bytes=MAX_DOCUMENT_BYTES,
    ),
}
