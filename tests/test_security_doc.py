"""SECURITY.md names every limit with its default, and existing tests."""

import re
from pathlib import Path

import attrs

from sitemap_reader import Limits
from sitemap_reader.model import GIB, KIB, MIB

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
_UNITS = {"": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
_STATED = re.compile(r"`(\w+)` \(([\d,]+) ?([KMG]iB)?\)")


def test_tests_named_in_security_md_exist() -> None:
    paths = set(re.findall(r"`((?:tests|corpus)/[\w./-]+)`", PAGE))
    assert paths
    assert {path for path in paths if not (ROOT / path).exists()} == set()


def test_limits_in_security_md_are_the_defaults() -> None:
    stated = {name: int(number.replace(",", "")) * _UNITS[unit] for name, number, unit in _STATED.findall(PAGE)}
    limits = attrs.asdict(Limits())
    missing = limits.keys() - stated.keys()
    assert missing == {"max_shared_characters", "site_seconds"}, "a limit of messages, and one without a default"
    assert {name: limits.get(name) for name in stated if name not in ("per_host", "concurrency")} == {
        name: number for name, number in stated.items() if name not in ("per_host", "concurrency")
    }
