"""RequestHeaders: which of the caller's headers are sent where, by a table of targets and URLs."""

import pytest

from sitemap_reader import UsageError
from sitemap_reader.fetch import CallerHeaders, Logins, RequestHeaders, make_headers
from sitemap_reader.frontier import basic, parse_target

KEY = {"X-Key": "k"}
NETRC = Logins({"cdn.example.net": "Basic net", "127.0.0.1": "Basic ip"})


def headers(*targets: str, caller: CallerHeaders | None = None) -> RequestHeaders:
    return RequestHeaders(caller or make_headers(KEY, None), [parse_target(target) for target in targets])


# target, URL, whether a header given for the target is sent with a request for the URL
DOMAINS = [
    ("https://example.com", "https://example.com/sitemap.xml", True),
    ("https://example.com", "https://www.example.com/sitemap.xml", True),
    ("https://www.example.com/map.xml", "https://cdn.example.com:8443/a", True),
    ("https://example.com", "https://example.com./a", True),
    ("https://example.com", "http://example.com/a", False),  # never down to http
    ("http://example.com", "http://www.example.com/a", True),
    ("http://example.com", "https://example.com/a", True),
    ("example.com", "https://example.com/a", True),
    ("example.com", "http://example.com/robots.txt", False),
    ("https://example.com", "https://example.net/a", False),
    ("https://example.com", "https://notexample.com/a", False),
    ("https://example.com", "https://example.com.evil.test/a", False),
    ("https://shop.example.co.uk", "https://other.co.uk/a", False),
    ("https://a.github.io", "https://b.github.io/a", False),
    ("https://github.io", "https://b.github.io/a", False),
    ("https://github.io", "https://github.io:444/a", False),
    ("http://127.0.0.1:8000", "http://127.0.0.1:8000/a", True),
    ("http://127.0.0.1:8000", "http://127.0.0.1:8001/a", False),
    ("http://127.0.0.1:8000", "http://127.0.0.2:8000/a", False),
    ("http://localhost:8000", "http://localhost:8000/a", True),
    ("http://localhost:8000", "http://localhost:8001/a", False),
    ("http://localhost:8000", "http://127.0.0.1:8000/a", False),
    ("https://[::1]:8000", "https://[::1]:8000/a", True),
    ("https://[::1]:8000", "https://[::1]:8001/a", False),
    ("https://example.com", "https://user:pw@example.com/a", True),
    ("https://example.com", "https://example.com@evil.test/a", False),
]


@pytest.mark.parametrize(("target", "url", "is_sent"), DOMAINS)
def test_a_header_goes_to_the_domain_of_its_target_alone(target: str, url: str, is_sent: bool) -> None:
    """So does auth=."""
    assert headers(target).headers_for(url, {}) == (KEY if is_sent else {})
    sent = headers(target, caller=make_headers({}, ("me", "secret"))).headers_for(url, {})
    assert sent == ({"Authorization": basic("me", "secret")} if is_sent else {})


@pytest.mark.parametrize(("target", "url", "is_sent"), [
    ("https://me:secret@example.com", "https://example.com/a", True),
    ("me:secret@example.com", "https://example.com/a", True),
    ("me:secret@example.com", "http://example.com/a", False),
    ("http://me:secret@example.com", "https://example.com/a", True),
    ("http://me:secret@example.com", "http://example.com/a", True),
    ("https://me:secret@example.com", "https://www.example.com/a", False),  # the same host
    ("https://me:secret@example.com", "https://example.com:8443/a", False),
    ("https://me:secret@example.com/map.xml", "https://example.com/robots.txt", True),
    ("https://me:secret@example.com", "https://example.net/a", False),
])
def test_userinfo_of_a_target_goes_to_its_host_alone(target: str, url: str, is_sent: bool) -> None:
    sent = headers(target, caller=CallerHeaders()).headers_for(url, {})
    assert sent == ({"Authorization": basic("me", "secret")} if is_sent else {})


@pytest.mark.parametrize(("target", "url", "is_sent"), [
    # not even to its own host, to which the site redirected
    ("https://example.com", "https://cdn.example.net/a", False),
    ("https://example.net", "https://cdn.example.net/a", True),
    ("https://www.example.net", "https://cdn.example.net/a", True),
    ("https://example.com", "https://www.cdn.example.net/a", False),
    ("https://example.com", "http://cdn.example.net/a", False),
    ("http://example.com", "http://cdn.example.net/a", False),
    ("http://cdn.example.net", "http://cdn.example.net/a", True),
    ("cdn.example.net", "http://cdn.example.net/a", False),
    ("http://127.0.0.1:8000", "http://127.0.0.1:8000/a", True),
    ("http://127.0.0.1:8000", "http://127.0.0.1:8001/a", False),
])
def test_a_netrc_login_goes_to_its_host_in_the_domain_of_the_target(target: str, url: str, is_sent: bool) -> None:
    sent = headers(target, caller=make_headers({}, None, NETRC)).headers_for(url, {})
    assert bool(sent) is is_sent


def test_userinfo_counts_before_auth_and_auth_before_netrc() -> None:
    start, other = "https://me:secret@cdn.example.net", "https://www.example.net/a"
    all_three = make_headers({}, "all:x", NETRC)
    assert headers(start, caller=all_three).headers_for("https://cdn.example.net/a", {}) == {
        "Authorization": basic("me", "secret")
    }
    assert headers(start, caller=all_three).headers_for(other, {}) == {"Authorization": basic("all", "x")}
    without = headers("https://cdn.example.net", caller=make_headers({"authorization": "Bearer t"}, None, NETRC))
    assert without.headers_for("https://cdn.example.net/a", {}) == {"authorization": "Bearer t"}
    over = headers(start, caller=make_headers({"authorization": "Bearer t"}, None))
    assert over.headers_for("https://cdn.example.net/a", {}) == {"authorization": basic("me", "secret")}


def test_each_of_several_targets_has_its_own_login() -> None:
    both = headers("https://a:1@a.example", "https://b:2@b.example", "http://a.example", caller=CallerHeaders())
    assert both.headers_for("https://a.example/x", {}) == {"Authorization": basic("a", "1")}
    assert both.headers_for("https://b.example/x", {}) == {"Authorization": basic("b", "2")}
    assert both.headers_for("http://a.example/x", {}) == {}  # that target has none
    assert both.headers_for("https://c.example/x", {}) == {}


def test_a_user_agent_goes_everywhere_and_the_headers_of_a_request_count_first() -> None:
    caller = make_headers({"user-agent": "bot/1", "If-None-Match": '"theirs"'}, None)
    sent = headers("https://example.com", caller=caller)
    assert sent.headers_for("http://else.test/", {}) == {"User-Agent": "bot/1"}
    assert sent.headers_for("https://example.com/", {"if-none-match": '"ours"'}) == {
        "User-Agent": "bot/1",
        "if-none-match": '"ours"',
    }


def test_withheld_reports_headers_not_sent_because_of_http() -> None:
    sent = headers("https://me:secret@example.com")
    assert sent.withholds("http://www.example.com/a")
    assert not sent.withholds("https://www.example.com/a")
    assert not sent.withholds("http://else.test/a")
    assert not headers("http://example.com").withholds("http://example.com/a")
    assert not headers("example.com", caller=CallerHeaders()).withholds("http://example.com/a")
    assert headers("me:pw@example.com", caller=CallerHeaders()).withholds("http://example.com/a")
    assert headers("cdn.example.net", caller=make_headers({}, None, NETRC)).withholds("http://cdn.example.net/a")


def test_lines_of_one_name_are_one_list() -> None:
    caller = make_headers([("X-A", "1"), ("x-a", "2"), ("Cookie", "a=1"), ("cookie", "b=2")], None)
    assert caller.headers == {"X-A": "1, 2", "Cookie": "a=1; b=2"}


@pytest.mark.parametrize("auth",
                         ["nocolon", "", ("a", "b", "c"), ("a:b", "c"), ("a", 1), 7, "a:b\nc", ("a\ud800", "b")])
def test_invalid_auth_is_refused_and_not_shown(auth: object) -> None:
    with pytest.raises(UsageError, match="write it as USER:PASSWORD") as caught:
        make_headers((), auth)  # type: ignore[arg-type]
    assert "nocolon" not in str(caught.value)


@pytest.mark.parametrize(
    "given", [{"X-Key": "s3cret\r\nb"}, {"Authorization: s3cret": "x"}, {"s3cret token": ""}, {"X": "s3cret\x00"}]
)
def test_a_header_that_cannot_be_sent_is_not_shown(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="cannot be sent") as caught:
        make_headers(given, None)
    assert "s3cret" not in str(caught.value)


def test_auth_beside_an_authorization_header_is_refused() -> None:
    with pytest.raises(UsageError, match="auth= and an Authorization header"):
        make_headers({"AUTHORIZATION": "Bearer t"}, "a:b")


def test_a_login_may_hold_a_colon_escapes_and_any_bytes() -> None:
    assert make_headers((), "me:a:b").headers == {"Authorization": basic("me", "a:b")}
    assert make_headers((), "me:\udcff").headers == {"Authorization": "Basic bWU6/w=="}
    assert parse_target("https://me:p%40%3A%2Fw%25@example.com").login == basic("me", "p@:/w%")
    assert parse_target("https://me:a@b@example.com").login == basic("me", "a@b")
    assert parse_target("https://me@example.com").login == basic("me", "")
    assert parse_target("https://@example.com").login is None


@pytest.mark.parametrize(("target", "name", "document"), [
    ("https://me:secret@example.com", "https://example.com", None),
    ("https://me:secret@example.com/", "https://example.com/", None),
    ("me:secret@example.com", "example.com", None),
    (" http://me:secret@example.com:8000 ", " http://example.com:8000 ", None),
    ("https://me:secret@example.com/robots.txt", "https://example.com/robots.txt", None),
    ("https://me:a@b@example.com/c@d.xml", "https://example.com/c@d.xml", "https://example.com/c@d.xml"),
    ("https://example.com/@me/a.xml", "https://example.com/@me/a.xml", "https://example.com/@me/a.xml"),
])
def test_a_target_with_userinfo_is_the_target_without(target: str, name: str, document: str | None) -> None:
    seed = parse_target(target)
    assert (seed.target, seed.document) == (name, document)
    assert "secret" not in repr(seed)
    plain = parse_target(name)
    assert (seed.origins, seed.document, seed.robots_only) == (plain.origins, plain.document, plain.robots_only)


@pytest.mark.parametrize("target", [
    "https://me:s3cret/x@example.com", "https://me:s3cret#@h", "ftp://me:s3cret@h/", "https://me:s3cret@/",
    "https://me:a s3cret@h!/", "https:///me:s3cret@h/",
])
def test_invalid_target_is_reported_without_its_userinfo(target: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_target(target)
    assert "s3cret" not in str(caught.value)
