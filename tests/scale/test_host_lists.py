"""Lists of hosts: accepted lines, registrable domains, and shards."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sitemap_reader as sr
from sitemap_reader.scale import (
    HarvestFolder,
    HostList,
    by_domain,
    domain_of,
    make_config,
    read_hosts,
    shard_of,
    sharded,
)


@pytest.fixture
def listed(tmp_path):
    """`listed(data)` -> the HostList of a file with this content."""
    file = tmp_path / "hosts.txt"

    def read(data):
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        return read_hosts(file)

    return read


# --- lists ---


def test_a_list_has_a_host_a_line_and_comments_and_blank_lines_beside(listed):
    found = listed("# of May\n\na.example\n  b.example  \r\n\t\n  # c.example\nhttps://d.example/map.xml#x\n")
    assert (found.repeated, found.refused) == (0, ())
    assert found.targets == ("a.example", "b.example", "https://d.example/map.xml#x")
    assert found.domains == ("a.example", "b.example", "d.example")


def test_byte_order_mark_is_skipped(listed):
    assert listed(b"\xef\xbb\xbfa.example\nb.example").targets == ("a.example", "b.example")


def test_a_file_is_named_by_a_path_or_by_text_and_its_bytes_are_read_alike(tmp_path):
    file = tmp_path / "hosts.txt"
    file.write_text("# one\na.example\n")
    assert read_hosts(str(file)) == read_hosts(file) == read_hosts(file.read_bytes()) == read_hosts(["a.example"])


def test_a_host_in_other_spellings_is_one_and_stays_as_it_was_spelled_first(listed):
    same = ["Shop.Example", "shop.example", "shop.example/", "https://shop.example", "HTTPS://shop.example:443/"]
    found = listed("\n".join([*same, "http://shop.example", "shop.example/map.xml"]))
    assert found.targets == ("Shop.Example", "http://shop.example", "shop.example/map.xml")
    assert (found.repeated, found.refused) == (len(same) - 1, ())


def test_a_host_in_two_alphabets_is_one(listed):
    found = listed("m\N{LATIN SMALL LETTER U WITH DIAERESIS}nchen.example\nxn--mnchen-3ya.example\n")
    assert (len(found.targets), found.repeated) == (1, 1)


def test_lines_that_are_no_hosts_are_named_by_their_number_and_others_are_read(listed):
    found = listed("# list\na.example\nftp://b.example\n\nnot a host\nhttps://\nc.example\n")
    assert found.targets == ("a.example", "c.example")
    assert [number for number, _ in found.refused] == [3, 5, 6]
    assert "ftp://b.example" in found.refused[0][1]
    assert found.refused[1][1] == "'not a host' is no host such as example.com; write http://not a host if it is one"


def test_a_table_given_for_a_list_has_no_host(listed):
    with pytest.raises(sr.UsageError, match=r"there is no host in .*hosts\.txt; line 1: 'host,rank' is no host"):
        listed("host,rank\na.example,1\nb.example,2\n")


def test_bytes_that_are_no_text_are_no_hosts(listed):
    found = listed(b"a.example\n\xff\xfe\x00\x01\nPAR1\x15\x04\x15\nb.example\n")
    assert found.targets == ("a.example", "b.example")
    assert [number for number, _ in found.refused] == [2, 3]


@pytest.mark.parametrize("data", ["", "\n \n# nothing\n"])
def test_list_without_a_host_is_reported(listed, data):
    with pytest.raises(sr.UsageError, match=r"there is no host in .*hosts\.txt; give one a line"):
        listed(data)


def test_empty_python_list_is_reported():
    with pytest.raises(sr.UsageError, match="there is no host in the list"):
        read_hosts([])


@pytest.mark.parametrize(("name", "words"), [("none.txt", "No such file"), (".", "Is a directory"), ("a\0b", "null")])
def test_unreadable_file_is_named(tmp_path, name, words):
    with pytest.raises(sr.UsageError, match=f"cannot read .*{words}"):
        read_hosts(tmp_path / name)


def test_item_that_is_no_text_is_refused_with_its_index():
    found = read_hosts(["a.example", 7, None, b"b.example", "\ud800.example", ""])  # type: ignore[list-item]
    assert found.targets == ("a.example",)
    assert [number for number, _ in found.refused] == [2, 3, 4, 5, 6]
    assert found.refused[0][1] == "a host is text such as example.com, not 7"


def test_lines_of_an_open_file_are_hosts_without_their_line_feeds():
    found = read_hosts(["a.example\n", " b.example\r\n", "a.example"])
    assert (found.targets, found.repeated, found.refused) == (("a.example", "b.example"), 1, ())


@pytest.mark.parametrize("feed", ["\n", "\r", "\x0b", "\x1c", "\x85", "\u2028"])
def test_host_with_a_line_end_is_refused(tmp_path, feed):
    found = read_hosts(["a.example", f"https://b.example/x{feed}y"])
    assert (found.targets, [number for number, _ in found.refused]) == (("a.example",), [2])


def test_the_same_hosts_have_the_same_sum_however_they_are_given(listed):
    sums = [read_hosts(each).sha256 for each in (["a.example", "b.example"], ["b.example", "a.example"], ["a.example"])]
    assert len({*sums}) == 3
    assert listed("# new\na.example\n\nb.example\na.example\n").sha256 == sums[0]


# --- domains ---


@pytest.mark.parametrize(("target", "domain"), [
    ("example.com", "example.com"),
    ("WWW.Example.com.", "example.com"),
    ("https://news.example.co.uk:8443/sitemap.xml", "example.co.uk"),
    ("a.github.io", "a.github.io"),
    ("b.a.github.io", "a.github.io"),
    ("co.uk", "co.uk"),
    ("localhost:8080", "localhost"),
    ("127.0.0.1", "127.0.0.1"),
    ("http://127.0.0.1:8080", "127.0.0.1"),
    ("10.0.0.1:81", "10.0.0.1"),
    ("http://[2001:DB8::1]:8080/", "[2001:db8::1]"),
    ("http://[::1]/a.xml", "[::1]"),
    ("shop.m\N{LATIN SMALL LETTER U WITH DIAERESIS}nchen.de", "xn--mnchen-3ya.de"),
])
def test_domain_is_the_registrable_domain(target, domain):
    assert domain_of(target) == domain


def test_hosts_of_a_domain_stand_together_in_their_order():
    found = by_domain(["b.shop.example", "a.com", "a.shop.example", "http://shop.example:81"])
    assert found == {"shop.example": ["b.shop.example", "a.shop.example", "http://shop.example:81"], "a.com": ["a.com"]}


# --- shards ---


def test_a_domain_is_of_the_same_shard_on_every_machine():
    """Otherwise a state would be searched in the wrong file."""
    assert [shard_of(domain, 100) for domain in ("example.com", "127.0.0.1", "localhost")] == [10, 96, 22]


labels = st.text("abc0-", min_size=1, max_size=4).map(lambda text: f"x{text}x".replace("--", "-"))
hosts = st.builds(
    lambda names, suffix, port: f"http://{'.'.join(names)}.{suffix}{port}",
    st.lists(labels, min_size=1, max_size=3),
    st.sampled_from(["com", "co.uk", "github.io", "example"]),
    st.sampled_from(["", ":81", "/map.xml"]),
) | st.integers(0, 2**24 - 1).map(lambda number: f"127.{number >> 16}.{number >> 8 & 255}.{number & 255}:8080")
lists = st.lists(hosts, max_size=30, unique=True)


def hosts_of(targets):
    return HostList(tuple(targets), tuple(map(domain_of, targets)), 0, ())


@given(lists, st.integers(1, 12))
def test_each_host_is_in_one_shard_and_that_of_its_domain(targets, shards):
    found = sharded(hosts_of(targets), shards)
    assert len(found) == shards
    assert sorted(target for shard in found for target in shard) == sorted(targets)
    homes = {}
    for number, own in enumerate(found):
        for target in own:
            assert homes.setdefault(domain_of(target), number) == number


@given(lists, lists, st.integers(1, 12), st.randoms())
def test_a_longer_list_leaves_old_hosts_where_they_are(before, more, shards, dice):
    longer = [*dict.fromkeys([*before, *more])]
    dice.shuffle(longer)
    old, new = sharded(hosts_of(before), shards), sharded(hosts_of(longer), shards)
    for shard in range(shards):
        assert {*old[shard]} <= {*new[shard]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder for a plan."""
    folder = HarvestFolder(tmp_path_factory.mktemp("folder"))
    (folder.path / "plan").mkdir()
    return folder


@given(st.lists(hosts | st.text(max_size=12), min_size=1, max_size=10))
def test_plan_gives_back_its_hosts(folder, given_hosts):
    """Any accepted host is one line, and is read as the same host again."""
    found = read_hosts(["a.example", *given_hosts])
    folder.plan_of(0).write_text("".join(f"{target}\n" for target in found.targets), "utf-8")
    assert folder.targets(0) == list(found.targets)
    assert tuple(map(domain_of, folder.targets(0))) == found.domains


# --- options ---


class Polite:
    def allows(self, url, rules):
        return rules.allows(url)

    def crawl_delay(self, url, rules):
        return rules.delay_seconds


def config(**keywords):
    limits = {"hosts_at_once": 5, "host_seconds": 60.0, "host_urls": 100}
    return make_config({**limits, **keywords})


@pytest.mark.parametrize(("keywords", "words"), [
    ({"hosts_at_once": 0}, "hosts_at_once"),
    ({"host_urls": 0}, "host_urls"),
    ({"host_seconds": 0}, "host_seconds is a number of seconds, more than 0, not 0"),
    ({"host_seconds": float("nan")}, "host_seconds is a number of seconds, more than 0, not nan"),
    ({"record": "x"}, "record belongs to one process"),
    ({"fetcher": object()}, "fetcher belongs to one process"),
    ({"no_follow": lambda ref: True}, "no_follow is code, which cannot be compared .*: give patterns"),
    ({"obey_robots": Polite()}, "obey_robots is code, which .*: give True or False"),
    ({"since": "7d", "state": True}, "give one of them"),
    ({"since": "whenever"}, "whenever"),
    ({"include": "re:("}, "include"),
    ({"scope": "all"}, "scope"),
    ({"per_host": 0}, "per_host"),
])
def test_invalid_options_are_reported_once_before_reading(keywords, words):
    with pytest.raises(sr.UsageError, match=words):
        config(**keywords)


def test_unknown_keyword_is_named():
    with pytest.raises(TypeError, match=r"harvest\(\) has no keyword hots; did you mean hosts\?"):
        sr.scale.harvest(["a.example"], "never-made", hots=1)


def test_trust_lastmod_changes_the_rows():
    assert config(trust_lastmod="never").settings()["trust_lastmod"] == "never"
    assert "trust_lastmod" not in config().settings()
    with pytest.raises(sr.UsageError, match="trust_lastmod is one of"):
        config(trust_lastmod="now")


def test_ages_count_from_the_start_of_the_harvest():
    begun = datetime(2026, 3, 8, 12, tzinfo=UTC)
    requested = config(since="7d")
    assert requested.settings()["since"] == "7d"
    dates = requested.dates(begun)
    assert dates == {"since": "2026-03-01T12:00:00Z", "until": None}
    assert requested.with_dates(dates).filters["since"] == datetime(2026, 3, 1, 12, tzinfo=UTC)
