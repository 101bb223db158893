"""Truncated or changed WARC files give a clean error or their complete records; never a traceback or an invented URL.
"""

import asyncio

import pytest
from fakenet import fetch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kit import Site, index, robots, urlset
from tiers import examples
from warcs import fetched, response, write

import sitemap_reader as sr
from sitemap_reader.fetch import WarcRecorder

SITE = "https://shop.example"
LOCS = {f"{SITE}/{name}/{n}" for name in "ab" for n in range(40)}
PAGES = {
    f"{SITE}/robots.txt": robots(f"{SITE}/index.xml"),
    f"{SITE}/index.xml": index(f"{SITE}/a.xml", f"{SITE}/b.xml"),
    **{f"{SITE}/{name}.xml": urlset(*sorted(loc for loc in LOCS if f"/{name}/" in loc)) for name in "ab"},
}


@pytest.fixture(scope="module", params=["a.warc", "a.warc.gz"])
def whole(request, tmp_path_factory):
    """A recording of a small site."""
    path = tmp_path_factory.mktemp("whole") / request.param

    async def run():
        recorder = WarcRecorder(Site(PAGES), path, [f"{SITE}/"])
        for url in PAGES:
            await fetch(recorder, url)

    asyncio.run(run())
    return path


def dump(path):
    """The URLs, and whether the result is complete; None if nothing can be read."""
    try:
        with sr.urls(path) as urls:
            found = {url.loc for url in urls}
            return found, urls.complete
    except (sr.UsageError, sr.NothingReadable, sr.NothingFound):
        return None


def test_the_whole_file_is_complete(whole):
    assert dump(whole) == (LOCS, True)


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cut_file_gives_its_complete_records(whole, tmp_path_factory, capfd, data):
    bytes_ = whole.read_bytes()
    path = tmp_path_factory.mktemp("cut") / whole.name
    path.write_bytes(bytes_[: data.draw(st.integers(0, len(bytes_) - 1))])
    result = dump(path)
    assert result is None or (result[0] <= LOCS and not (result[1] and result[0] < LOCS))
    assert capfd.readouterr().err == ""


@pytest.mark.slow
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_byte_creates_no_url(whole, tmp_path_factory, capfd, place, bit):
    changed = bytearray(whole.read_bytes())
    changed[int(place * len(changed))] ^= 1 << bit
    path = tmp_path_factory.mktemp("changed") / whole.name
    path.write_bytes(changed)
    result = dump(path)
    assert result is None or result[0] <= LOCS
    assert capfd.readouterr().err == ""


def cut_behind(whole, url):
    """The records before that of a URL, and half of that record."""
    fetcher = sr.fetch.WarcFetcher(whole)
    offset = fetcher._index.responses.get(url)
    return whole.read_bytes()[: offset + 60], offset


def test_damage_is_reported_once_and_nothing_is_complete(whole, tmp_path):
    data, offset = cut_behind(whole, f"{SITE}/b.xml")
    path = tmp_path / whole.name
    path.write_bytes(data)
    reported = []
    with sr.urls(path, on_item=reported.append) as urls:
        assert {url.loc for url in urls} == {loc for loc in LOCS if "/a/" in loc}
    problems = [item for item in reported if isinstance(item, sr.Problem)]
    assert [(p.code, p.sitemap) for p in problems] == [("F04", str(path)), ("F04", f"{SITE}/b.xml")]
    assert f"{path} is damaged at byte {offset:,} (" in problems[0].message
    assert problems[1].message.startswith(f"not found; {path} is damaged at byte {offset:,}")
    assert not urls.complete


@pytest.mark.parametrize("left", [4, 5])
def test_a_record_without_its_line_ends_is_damage(tmp_path, left):
    records = response(urlset(), url=f"{SITE}/sitemap.xml") + response(b"x", url=f"{SITE}/x")
    path = write(tmp_path / "a.warc", records[:-left])
    assert sr.fetch.WarcFetcher(path).damage.endswith("(its record is cut off): what follows is lost")


def test_a_record_that_is_longer_than_it_says_is_damage(tmp_path):
    first = response(urlset(), url=f"{SITE}/sitemap.xml")
    path = write(tmp_path / "a.warc", first, response(b"xyz", url=f"{SITE}/x", Content_Length="20"), first)
    assert "(its record does not end where it says)" in sr.fetch.WarcFetcher(path).damage


def test_damage_after_the_last_requested_record_is_reported(whole, tmp_path):
    path = tmp_path / whole.name
    path.write_bytes(whole.read_bytes() + b"x")
    assert dump(path) == (LOCS, False)
    assert fetched(sr.fetch.WarcFetcher(path), f"{SITE}/x")[3].code == "F04"
    assert fetched(sr.fetch.WarcFetcher(path), "https://other.example/robots.txt")[0] == 404


def test_damage_removes_nothing(whole, tmp_path):
    state = tmp_path / "state.db"
    with sr.changes(whole, state=state) as changes:
        assert len([*changes]) == len(LOCS)
    path = tmp_path / whole.name
    path.write_bytes(whole.read_bytes() + b"x")
    with sr.changes(path, state=state, full=True) as changes:
        assert [*changes] == []
    assert not changes.complete
    with sr.state.State(state) as opened:
        assert {document.url for document in opened.documents()} == PAGES.keys() - {f"{SITE}/robots.txt"}


def test_changed_body_is_detected_by_its_digest(tmp_path):
    good = response(urlset(f"{SITE}/a"), url=f"{SITE}/sitemap.xml", WARC_Block_Digest="sha1:" + "A" * 32)
    error = fetched(sr.fetch.WarcFetcher(write(tmp_path / "a.warc", good)), f"{SITE}/sitemap.xml")[3]
    assert "does not match its digest" in str(error)


@pytest.mark.parametrize("digest", ["sha1:x", "sha1\0:00", "crc32:00", "shake_128:", "sha1", "sha256:" + "z" * 63])
def test_an_unknown_digest_is_ignored(tmp_path, digest):
    good = response(urlset(), url=f"{SITE}/sitemap.xml", WARC_Block_Digest=digest)
    assert fetched(sr.fetch.WarcFetcher(write(tmp_path / "a.warc", good)), f"{SITE}/sitemap.xml")[3] is None
