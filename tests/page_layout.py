"""Faults in the layout of a page, found in a real browser: `layout_faults(tab)` is a list of lines, best empty.

wide: the page is wider than its window. clipped: text beyond a box that hides it, or in a box that scrolls without
saying so. overlapping: texts that lie on each other. contrast: less than WCAG 2 AA. small: text that is hard to read.
Nothing depends on the markup, but for `.hint`: the visible element near a box that scrolls sideways.
"""

from pathlib import Path
from typing import Any

_FAULTS = (Path(__file__).parent / "page_layout.js").read_text("utf-8")
SMALLEST = {"screen": 8.0, "print": 7.0}  # CSS pixels: 6 and 5.25 points
_OPEN = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"


# Media queries see the paper, the page has the width within its margins of 15 mm.
A4 = {"width": 794, "height": 1123}
_A4_WIDTH = "680px"


def layout_faults(tab: Any, *, scheme: str = "light", media: str = "screen", width: int | None = None) -> list[str]:
    """The faults of the page in a tab, with all its details open; print is on A4."""
    tab.emulate_media(media=media, color_scheme=scheme)
    if media == "print":
        tab.set_viewport_size(A4)
    elif width is not None:
        tab.set_viewport_size({"width": width, "height": 900})
    tab.evaluate(f"document.documentElement.style.width = '{_A4_WIDTH if media == 'print' else ''}'")
    tab.evaluate(_OPEN)
    return tab.evaluate(_FAULTS, {"smallest": SMALLEST[media]})
