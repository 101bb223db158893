"""The page of a watch in a browser: sites, live changes, hostile text, token, keyboard, small and dark screens."""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
from fake_watcher import FakeWatcher, fake_watcher
from page_layout import layout_faults

from sitemap_reader.watching import Fault, Health, PingReceiver, SinkStatus, SiteStatus, Totals, serve

pytestmark = pytest.mark.slow

TOKEN = "a-secret-of-16-c"  # noqa: S105
BAD = "<script>document.title = 'bad'</script>\"><img src=/x onerror=\"document.title = 'bad'\"> \u202elive\u2028"
ROWS = "#sites tbody tr"


@attrs.define
class Page:
    """A tab with the page; `failures` are the messages of its console, and `requests` the requested URLs."""

    tab: Any
    watcher: FakeWatcher
    run: Callable[[Any], Any]
    failures: list[str]
    requests: list[str]

    def names(self) -> list[str]:
        return self.tab.locator(f"{ROWS} th").all_inner_texts()

    def changed(self, *locs: str, site: str = "example.com", first_reading: bool = False) -> None:
        self.run(self.watcher.change(*locs, site=site, at=datetime.now(UTC), first_reading=first_reading))

    def says(self, text: str) -> None:
        """Waits until the first line says this."""
        self.tab.locator("#state", has_text=text).wait_for()


@contextmanager
def running_server(token: str | None = None) -> Iterator[tuple[str, FakeWatcher, Callable[[Any], Any]]]:
    """A server in a thread with an event loop of its own; and a function that runs a coroutine there."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(20)

    stack = AsyncExitStack()

    async def opened() -> tuple[str, FakeWatcher]:
        watcher = await stack.enter_async_context(fake_watcher())
        serving = serve(watcher, PingReceiver(watcher.knows, watcher.ping), "127.0.0.1:0", token=token)
        return (await stack.enter_async_context(serving)).url, watcher

    url, watcher = run(opened())
    try:
        yield url, watcher, run
    finally:
        run(stack.aclose())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def statuses(count: int = 120) -> list[SiteStatus]:
    now = datetime.now(UTC)
    fault = Fault("F04", "the host does not answer: example.com:443")
    return [
        SiteStatus(
            f"site-{number:03}.example.com",
            documents=3 + number,
            urls=1000 * number,
            next_visit=now + timedelta(minutes=7 * number - 20),
            last_visit=now - timedelta(minutes=number + 1),
            last_change=now - timedelta(hours=number) if number % 3 else None,
            new=number % 4,
            updated=number % 7,
            requests=24 // (number + 1),
            faults=(fault,) * (number // 10 + 1 if number % 10 == 5 else 0),
            failing_since=now - timedelta(days=2) if number % 20 == 5 else None,
            backoff_until=now + timedelta(hours=3) if number % 20 == 5 else None,
        )
        for number in range(count)
    ]


@pytest.fixture
def show(chromium: Any) -> Iterator[Callable[..., Page]]:
    """`show(setup, token=None, **context)`: a tab with the page of a server; its console has to stay empty.

    With `clock=True` the test moves the time of the page.
    """
    opened, running = [], ExitStack()

    def open_page(
        setup: Callable[[FakeWatcher], None], token: str | None = None, clock: bool = False, **options: Any
    ) -> Page:
        url, watcher, run = running.enter_context(running_server(token))
        setup(watcher)
        context = chromium.new_context(**options)
        running.callback(context.close)
        page = Page(context.new_page(), watcher, run, [], [])
        page.tab.set_default_timeout(10_000)
        page.tab.on("console", lambda message: page.failures.append(message.text))
        page.tab.on("pageerror", lambda error: page.failures.append(str(error)))
        page.tab.on("request", lambda request: page.requests.append(request.url))
        if clock:
            page.tab.clock.install()
        page.tab.goto(url)
        opened.append((page, url))
        return page

    with running:
        yield open_page
    for page, url in opened:
        # The browser logs these by itself: a page without a token, and a /healthz with a fault.
        expected = re.compile(r"status of (401 \(Unauthorized\)|503 \(Service Unavailable\))")
        assert [text for text in page.failures if not expected.search(text)] == []
        assert {each for each in page.requests if not each.startswith((url, "data:,"))} == set()


def many(watcher: FakeWatcher) -> None:
    watcher.statuses = statuses()
    watcher.numbers = Totals(
        sites=120, documents=7500, urls=1_234_567, failing=6, budget_per_hour=1000, requests_last_hour=312,
        new=40, updated=200, removed=3, first_reading=21,
        sinks=(
            SinkStatus("https://hooks.example.net/…", 1250, 75.2, "HTTP 503; next try in 40 s"), SinkStatus("stdout")
        ),
    )  # fmt: skip
    watcher.report = Health(last_visit=datetime.now(UTC) - timedelta(seconds=4))


def test_totals_sinks_and_sites_are_shown(show):
    page = show(many)
    page.says("6 of 120 sites fail. 1 of 2 sinks fails. The watch works.")
    totals = page.tab.locator("#totals").inner_text()
    assert "1,234,567" in totals
    assert "312 of 1,000" in totals
    assert "Changes in 24 hours\n243\nURLs in first readings, 24 hours\n21\n" in totals
    assert "HTTP 503" in page.tab.locator("#sinks").inner_text()
    # Those that fail come first, then those with the most faults, then by name.
    assert page.names()[:7] == [f"site-{number:03}.example.com" for number in (105, 85, 65, 45, 25, 5, 115)]
    assert page.names()[12:14] == ["site-000.example.com", "site-001.example.com"]
    assert "due" in page.tab.locator(ROWS).nth(13).inner_text()
    assert re.search(r"in 1[34] min\.", page.tab.locator(ROWS, has_text="site-005").inner_text())


@pytest.mark.parametrize(("numbers", "faults", "text"), [
    (Totals(sites=40), (), "All 40 sites could be read. The watch works."),
    (Totals(sites=1), (), "The site could be read. The watch works."),
    (Totals(sites=1, failing=1), (), "The site fails. The watch works."),
    (Totals(sites=3, failing=3), (), "All 3 sites fail. The watch works."),
    (Totals(sites=40, failing=1, not_visited=9), (), "1 of 40 sites fails. 31 of 40 sites visited so far. The watch"),
    (Totals(sites=2), ("the state cannot be written",), "The watch does not work: the state cannot be written."),
])
def test_the_first_line_says_what_fails(show, numbers, faults, text):
    def some(watcher: FakeWatcher) -> None:
        watcher.numbers, watcher.report = numbers, Health(faults)

    page = show(some)
    page.says(text)
    is_bad = bool(numbers.failing or faults)
    assert page.tab.locator("#state .bad").count() == is_bad


def test_pings_that_are_held_back_and_a_visit_under_way_are_shown(show):
    def one(watcher: FakeWatcher) -> None:
        now = datetime.now(UTC)
        held = {"pings_held_until": now + timedelta(hours=2, seconds=30), "pings_held_because": "nothing had changed"}
        watcher.statuses = [SiteStatus("example.com", next_visit=now, visiting_since=now, **held)]
        watcher.report = Health(last_visit=now)

    row = show(one).tab.locator(ROWS).first.inner_text()
    assert "under way" in row
    assert "next visit by a ping: in 2 hr.; nothing had changed" in row


def test_times_go_on_without_a_request(show):
    began = datetime.now(UTC) + timedelta(hours=1)

    def one(watcher: FakeWatcher) -> None:
        visits = {"next_visit": began + timedelta(seconds=12.5), "last_visit": began - timedelta(seconds=53.5)}
        watcher.statuses = [SiteStatus("example.com", **visits)]

    page = show(one, clock=True)
    page.tab.locator(ROWS).wait_for()
    page.says("The watch works.")  # which the first /healthz says, the last request of the first refresh
    with page.tab.expect_response("**/healthz"):  # of the refresh that is due by then, the last of this test
        page.tab.clock.pause_at(began)
    row = page.tab.locator(ROWS)
    row.get_by_text("in 12 sec.").wait_for()
    requests = len(page.requests)
    later = [(5, "in 7 sec.", "58 sec. ago"), (4, "in 3 sec.", "1 min. ago"), (4, "due", "1 min. ago")]
    for seconds, planned, past in later:
        page.tab.clock.run_for(seconds * 1_000)
        row.get_by_text(planned, exact=True).wait_for()
        row.get_by_text(past, exact=True).wait_for()
    assert page.requests[requests:] == []


def test_pages_order_and_filters(show):
    page = show(many)
    page.tab.get_by_text("1 to 50 of 120").wait_for()
    assert page.tab.locator("#earlier").is_disabled()
    assert page.tab.locator("th[aria-sort]").inner_text().startswith("Faults")
    page.tab.locator("#later").click()
    page.tab.get_by_text("51 to 100 of 120").wait_for()
    page.tab.locator("#later").click()
    page.tab.get_by_text("101 to 120 of 120").wait_for()
    assert page.tab.locator("#later").is_disabled()
    page.tab.locator("#earlier").click()
    page.tab.get_by_text("51 to 100 of 120").wait_for()
    page.tab.get_by_role("button", name="Site").click()
    page.tab.locator(f"{ROWS}:first-child", has_text="site-000").wait_for()
    assert page.tab.locator("th[aria-sort]").inner_text().startswith("Site")
    page.tab.get_by_role("button", name="Site").click()
    page.tab.locator("th[aria-sort=descending]").wait_for()
    page.tab.get_by_label("with faults only").check()
    page.tab.get_by_text("1 to 12 of 12").wait_for()
    page.tab.get_by_label("Name has").fill("SITE-00")
    page.tab.get_by_text("1 to 1 of 1").wait_for()
    assert page.names() == ["site-005.example.com"]
    page.tab.get_by_label("Name has").fill("nothing")
    page.tab.get_by_text("no sites").wait_for()


def test_the_page_works_by_keyboard(show):
    page = show(many)
    page.tab.get_by_text("1 to 50 of 120").wait_for()
    page.tab.locator("#name-filter").focus()
    page.tab.keyboard.type("-11")
    page.tab.get_by_text("1 to 10 of 10").wait_for()
    page.tab.keyboard.press("Enter")
    page.tab.keyboard.press("Tab")
    page.tab.keyboard.press("Space")
    page.tab.get_by_text("1 to 1 of 1").wait_for()
    for _ in range(4):  # the table, which scrolls; three headings
        page.tab.keyboard.press("Tab")
    page.tab.keyboard.press("Enter")
    page.tab.locator("th[aria-sort=ascending]", has_text="Next visit").wait_for()


def test_changes_appear_as_they_happen_newest_first(show):
    page = show(many)
    page.tab.get_by_text("No change yet.").wait_for()
    page.changed("https://example.com/1", "https://example.com/2")
    page.tab.locator("#changes li").nth(1).wait_for()
    page.changed("https://example.com/3")
    page.tab.locator("#changes li").nth(2).wait_for()
    assert page.tab.locator("#changes a").all_inner_texts() == [f"https://example.com/{n}" for n in (3, 2, 1)]
    page.tab.get_by_role("button", name="Pause").click()
    page.changed("https://example.com/4")
    page.tab.get_by_role("button", name="Pause").click()
    page.tab.locator("#changes li").nth(3).wait_for()


def test_the_latest_changes_of_a_long_log_are_shown_and_no_more(show):
    page = show(many)
    page.changed(*(f"https://example.com/{number}" for number in range(300)))
    page.tab.get_by_text("https://example.com/299").wait_for()
    assert page.tab.locator("#changes li").count() == 50
    page.tab.reload()
    page.tab.get_by_text("https://example.com/299").wait_for()
    assert page.tab.locator("#changes li").count() == 50


def test_a_first_reading_is_one_item_among_the_changes(show):
    page = show(many)
    page.changed("https://example.com/1")
    page.changed(*(f"https://new.example/{number}" for number in range(21)), site="new.example", first_reading=True)
    page.changed("https://example.com/2")
    items = page.tab.locator("#changes li")
    for _ in range(2):
        items.nth(2).wait_for()
        assert [text.split("\n")[0] for text in items.all_inner_texts()] == ["new", "first reading", "new"]
        assert re.search(r"new\.example\s.* · 21 URLs$", items.nth(1).inner_text())
        page.tab.reload()
    page.changed("https://new.example/more", site="new.example", first_reading=True)
    page.tab.get_by_text("· 22 URLs").wait_for()
    assert items.count() == 3


def test_of_a_long_first_reading_the_number_is_a_least_one(show):
    page = show(lambda watcher: None)
    page.changed(*(f"https://new.example/{number}" for number in range(900)), site="new.example", first_reading=True)
    page.tab.get_by_text("· 900 URLs").wait_for()
    page.tab.reload()
    page.tab.get_by_text("· at least 500 URLs").wait_for()


def hostile(watcher: FakeWatcher) -> None:
    watcher.statuses = [
        SiteStatus(BAD, faults=(Fault(BAD, BAD),)),
        SiteStatus("javascript:document.title='bad'"),
        SiteStatus("https://example.com/\"onmouseover=\"document.title='bad'"),
    ]
    watcher.numbers = Totals(sinks=(SinkStatus(BAD, fault=BAD),))
    watcher.report = Health(faults=(BAD,))


def test_hostile_text_stays_text(show):
    page = show(hostile)
    page.tab.locator(ROWS).nth(2).wait_for()
    page.changed(BAD, "javascript:document.title='bad'", site=BAD)
    page.tab.locator("#changes li").nth(1).wait_for()
    for element in page.tab.locator(f"{ROWS} th").all():
        element.hover()
    assert page.tab.title() == "Watched sites"
    assert page.tab.locator("img, iframe, object, [onerror], [onmouseover], [style], body script").count() == 0
    schemes = page.tab.evaluate("[...document.links].map((link) => link.protocol)")
    assert set(schemes) <= {"http:", "https:"}
    text = page.tab.locator("body").inner_text()
    assert "<script>document.title" in text
    assert "\\u{202e}live" in page.tab.locator("#changes").inner_text()
    assert "\u202e" not in text
    assert "\u2028" not in text


def test_a_token_is_requested_and_kept_in_the_tab_only(show):
    page = show(many, TOKEN)
    page.tab.get_by_label("Token of the watch").wait_for()
    assert page.tab.locator("#data").is_hidden()
    page.tab.keyboard.type("wrong")  # the field has the focus
    page.tab.keyboard.press("Enter")
    page.tab.get_by_text("This token is wrong.").wait_for()
    page.tab.keyboard.type(TOKEN)
    page.tab.keyboard.press("Enter")
    page.tab.get_by_text("1 to 50 of 120").wait_for()
    assert page.tab.locator("#login").is_hidden()
    page.changed("https://example.com/1")
    page.tab.get_by_text("https://example.com/1").wait_for()
    assert page.tab.evaluate("[localStorage.length, document.cookie, location.search]") == [0, "", ""]
    assert not [url for url in page.requests if TOKEN in url]
    page.tab.reload()
    page.tab.get_by_text("1 to 50 of 120").wait_for()
    other = page.tab.context.new_page()
    other.goto(page.tab.url)
    other.get_by_label("Token of the watch").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1024, 1440])
@pytest.mark.parametrize("setup", [many, hostile])
def test_all_fits_into_the_window_and_can_be_read(show, setup, width, scheme):
    page = show(setup)
    page.tab.locator(ROWS).first.wait_for()
    page.changed("https://example.com/" + "long-" * 100)
    page.changed("https://example.com/1", first_reading=True)
    page.tab.locator("#changes li").nth(1).wait_for()
    assert layout_faults(page.tab, scheme=scheme, width=width) == []


def test_on_a_phone_a_row_is_a_card_with_its_faults_below_its_name(show):
    page = show(many, viewport={"width": 390, "height": 900})
    card = page.tab.locator(ROWS).first
    card.wait_for()
    assert card.inner_text().split()[:3] == ["site-105.example.com", "failing", "since"]
    label = "(cell) => getComputedStyle(cell, '::before').content"
    labels = card.locator("td:not(.faults)").evaluate_all(f"(cells) => cells.map({label})")
    assert labels == [
        f'"{name}"' for name in ("Next visit", "Last visit", "Last change", "Changes, 24 h", "URLs", "Requests, 24 h")
    ]
    page.tab.get_by_role("button", name="Next visit").click()
    page.tab.locator(f"{ROWS}:first-child", has_text="site-000").wait_for()
