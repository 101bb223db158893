"""Rules for the decoder: gzip as the standard library decodes it, and UTF-8 as output."""

import gzip
import hashlib
import zlib
from typing import Any

import attrs
from broken import Broken, cuttings, dice, hold
from webencodings.labels import LABELS

from sitemap_reader import Limits
from sitemap_reader.model import DocumentChanged
from sitemap_reader.parser import Decoder, ReadPrefix, detect

LIMITS = Limits(max_decoded_bytes=300_000)
LOW = Limits(max_decoded_bytes=500, max_gzip_members=3, max_gzip_layers=1)
MAGIC = b"\x1f\x8b"
CHARSETS = (None, *sorted(LABELS), "nonsense")
# Charsets in which WHATWG has characters for more bytes than Python.
ALIKE = frozenset({"utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "gb18030", "koi8-r", "cp866", "cp1251"})


@attrs.frozen
class Decoded:
    """The output of a decoder, with its faults and counts."""

    text: bytes
    faults: tuple[Any, ...]
    complete: bool
    counts: tuple[int, int, int, str]
    stopped_early: bool

    @property
    def gave(self) -> tuple[object, ...]:
        """The values that must not depend on the chunks."""
        return self.text, self.faults, self.complete, None if self.stopped_early else self.counts


def check_decoder(body: bytes, *, thorough: bool = False) -> None:
    rng = dice(body)
    for charset in ((None, "windows-1251", "utf-16", "shift_jis") if thorough else (None, rng.choice(CHARSETS))):
        for limits in (LIMITS, LOW):
            whole = decode([body], limits, charset)
            check_decoded(body, whole)
            for pieces in cuttings(body, thorough=thorough):
                check_same(whole, decode(pieces, limits, charset))
        check_against_gzip(body, decode([body], LIMITS, charset))
        check_against_codec(body, decode([body], LIMITS, charset), charset)
    check_prefix(body, rng.randrange(len(body) + 1))


def decode(pieces: list[bytes], limits: Limits, charset: str | None, prefix: ReadPrefix | None = None) -> Decoded:
    decoder = Decoder(limits, charset, prefix)
    chunks: list[bytes] = []
    wire = sum(map(len, pieces))
    for piece in pieces:
        if decoder.stopped:
            break
        chunks += decoder.feed(piece)
    chunks += decoder.close()
    hold(not any(len(chunk) > 4 * 64 * 1024 for chunk in chunks), "a chunk is bounded", list(map(len, chunks)))
    counts = decoder.bytes_wire, decoder.bytes_decoded, decoder.sha256
    return Decoded(b"".join(chunks), tuple(decoder.faults), decoder.complete, counts, decoder.bytes_wire < wire)


def check_same(whole: Decoded, pieces: Decoded) -> None:
    if pieces.stopped_early:
        whole = attrs.evolve(whole, stopped_early=True)
    for name, one, other in zip(("bytes", "faults", "completeness", "counts"), whole.gave, pieces.gave, strict=True):
        hold(one == other, f"the same {name} however the input is cut", one, other)


def check_decoded(body: bytes, found: Decoded) -> None:
    try:
        found.text.decode()
    except UnicodeDecodeError as exc:
        raise Broken("what comes out is UTF-8", found.text, exc) from exc
    hold(found.complete == (not any(fault.lossy for fault in found.faults)), "a loss is a fault", found.faults)
    if found.complete and not body.startswith(MAGIC):
        plain = len(body), len(body), hashlib.sha256(body).hexdigest()
        hold(found.counts == plain, "plain bytes are counted as they are", found.counts, plain)


def check_against_gzip(body: bytes, found: Decoded) -> None:
    """If the standard library decompresses the data completely, the decoder gives the same."""
    if not body.startswith(MAGIC):
        return
    inside = _unpacked(body)
    if inside is not None and inside.startswith(MAGIC):
        inside = _unpacked(inside)
    if inside is None or inside.startswith(MAGIC):
        return
    hold(found.complete, "what gzip unpacks is complete", found.faults)
    gave = found.counts[1:]
    hold(gave == (len(inside), hashlib.sha256(inside).hexdigest()), "gzip unpacks the same", found.counts, inside[:99])


def _unpacked(body: bytes) -> bytes | None:
    """What is packed in it; None if that is broken, or over the limit, which holds for each layer."""
    try:
        inside = gzip.decompress(body)
    except (OSError, EOFError, zlib.error):
        return None
    return inside if len(inside) <= LIMITS.max_decoded_bytes else None


def check_against_codec(body: bytes, found: Decoded, charset: str | None) -> None:
    """Bytes that are valid in their charset are decoded like Python's codec."""
    if body.startswith(MAGIC) or not found.complete:
        return
    charset_found = detect(body[:1024], charset)
    codec = charset_found.codec
    try:
        text = body[charset_found.skip :].decode(codec)
    except UnicodeDecodeError:
        return
    # Valid UTF-8 is read as UTF-8, whatever was declared; U+FFFD always counts as invalid.
    if codec in ALIKE and "\ufffd" not in text and not any("holds UTF-8" in fault.message for fault in found.faults):
        hold(found.text.decode() == text, f"valid {codec} is read as the codec does", found.text[:200], text[:200])
        hold(not any("invalid" in fault.message for fault in found.faults), f"valid {codec} is valid", found.faults)


def check_prefix(body: bytes, size: int) -> None:
    """A retry that begins with the same bytes gives the same; another beginning is refused."""
    before = Decoder(LIMITS)
    for _ in before.feed(body[:size]):
        pass
    prefix = before.prefix
    hold(decode([body], LIMITS, None, prefix) == decode([body], LIMITS, None), "the same beginning is known", prefix)
    if prefix.decoded_bytes:
        wrong = ReadPrefix(prefix.decoded_bytes, hashlib.sha256(b"another").hexdigest())
        try:
            decode([body], LIMITS, None, wrong)
        except DocumentChanged:
            return
        raise Broken("another beginning is refused", wrong)
