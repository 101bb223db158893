"""Whether a stream takes colours, how wide it is, and which characters it has."""

import io
import re

import pytest

from sitemap_reader.client import STYLES, Screen, columns_of, is_redrawn, screen_of

VARIABLES = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS")


class Stream(io.StringIO):
    def __init__(self, *, shows: bool, encoding: str = "utf-8") -> None:
        super().__init__()
        self.shows, self.named = shows, encoding

    def isatty(self) -> bool:
        return self.shows

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.named


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("environment", "on_terminal", "in_a_pipe"), [
    ("", True, False),
    ("TERM=xterm", True, False),
    ("TERM=dumb", False, False),
    ("NO_COLOR=1", False, False),
    ("NO_COLOR=", True, False),
    ("FORCE_COLOR=1", True, True),
    ("FORCE_COLOR=0", True, False),
    ("FORCE_COLOR=", True, False),
    ("CLICOLOR_FORCE=1", True, True),
    ("CLICOLOR_FORCE=0", True, False),
    ("FORCE_COLOR=1 TERM=dumb", True, True),
    ("FORCE_COLOR=1 NO_COLOR=1", False, False),
])
def test_environment_decides_on_colours(
    monkeypatch: pytest.MonkeyPatch, environment: str, on_terminal: bool, in_a_pipe: bool
) -> None:
    for variable in environment.split():
        monkeypatch.setenv(*variable.split("="))
    assert screen_of(Stream(shows=True)).has_color is on_terminal
    assert screen_of(Stream(shows=False)).has_color is in_a_pipe


def test_a_closed_or_missing_stream_is_a_file() -> None:
    stream = io.StringIO()
    stream.close()
    for each in (None, stream):
        assert screen_of(each) == Screen()
        assert not is_redrawn(each)


@pytest.mark.parametrize(
    ("named", "columns"), [("", 80), ("120", 120), ("0", 80), ("5", 20), ("-3", 80), ("wide", 80), ("1000", 1000)]
)
def test_columns_are_those_of_the_environment_else_80(
    monkeypatch: pytest.MonkeyPatch, named: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", named)
    assert columns_of(Stream(shows=True)) == columns


def test_a_line_of_a_dumb_terminal_cannot_be_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_redrawn(Stream(shows=True))
    monkeypatch.setenv("TERM", "dumb")
    assert not is_redrawn(Stream(shows=True))


@pytest.mark.parametrize(("encoding", "shown"), [
    ("utf-8", "└── a…商"), ("cp1252", "`-- a…?"), ("cp437", "└── a...?"), ("ascii", "`-- a...?"),
])
def test_characters_that_an_encoding_lacks_are_substituted(encoding: str, shown: str) -> None:
    assert screen_of(Stream(shows=True, encoding=encoding)).shown("└── a…商") == shown


def test_a_file_is_utf8_whatever_the_stream_says() -> None:
    assert screen_of(Stream(shows=False, encoding="cp1252")).encoding == "utf-8"


def _luminance(number: int) -> float:
    """The relative luminance of WCAG 2.1 of one of the 216 colours of the cube from 16."""
    levels = [0, *range(95, 256, 40)]
    parts = [levels[(number - 16) // power % 6] / 255 for power in (36, 6, 1)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("code", sorted({code for code in STYLES.values() if code.startswith("38;5;")}))
def test_every_colour_can_be_read_on_black_and_on_white(code: str) -> None:
    luminance = _luminance(int(code.rpartition(";")[2]))
    assert 1.05 / (luminance + 0.05) >= 3.8
    assert (luminance + 0.05) / 0.05 >= 3.8


def test_text_without_colours_has_no_codes() -> None:
    assert Screen().styled("error", "error") == "error"
    assert re.fullmatch(r"\x1b\[[\d;]+merror\x1b\[0m", Screen(has_color=True).styled("error", "error"))
