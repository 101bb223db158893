"""U14 for private sites: the target's own host is not reported if private addresses are permitted."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kit import robots, run, urlset, xml
from servers import SiteServer

import sitemap_reader as sr
from sitemap_reader import Report


@pytest.fixture(scope="module")
def staging() -> Iterator[SiteServer]:
    with SiteServer({}) as server:
        yield server


def listing(server: SiteServer, host: str, *others: str) -> str:
    """The target; its sitemap lists two of its own pages, and others."""
    start = server.url.replace("127.0.0.1", host)
    listed = xml(urlset(f"{start}/", f"{start}/a", *others))
    server.pages = {"/robots.txt": (200, {}, robots(f"{start}/map.xml")), "/map.xml": listed}
    return start


def reported(report: Report) -> list[str]:
    return [problem.message for finding in report.findings if finding.code == "U14" for problem in finding.samples]


@pytest.mark.slow
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_private_target_is_not_reported(staging: SiteServer, host: str) -> None:
    start = listing(staging, host)
    assert reported(sr.audit(start, allow_private=True)) == []
    assert reported(sr.audit(start.removeprefix("http://"), allow_private=True)) == []
    assert run("audit", start, "--allow-private").exit_code == 0


def test_other_private_hosts_and_userinfo_are_reported(staging: SiteServer) -> None:
    others = ("http://10.0.0.7/b", staging.url.replace("127.0.0.1", "localhost") + "/c")
    start = listing(staging, "127.0.0.1", *others, staging.url.replace("://", "://me:pw@") + "/d")
    found = reported(sr.audit(start, allow_private=True, scope="any"))
    private = ["http://10.0.0.7/b: 10.0.0.7 is a private address", f"{others[1]}: localhost is a private address"]
    assert sorted(found) == sorted([*private, "credentials in the URL"])


def test_private_host_is_reported_without_allow_private(staging: SiteServer, tmp_path: Path) -> None:
    """As in a recording, which needs no permission for addresses."""
    start = listing(staging, "localhost")
    with sr.urls(start, allow_private=True, record=tmp_path / "site") as stream:
        assert len([*stream]) == 2
    assert len(reported(sr.audit(tmp_path / "site"))) == 2
    assert reported(sr.audit(tmp_path / "site", allow_private=True)) == []
