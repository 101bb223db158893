"""Messages in the log of another program."""

import logging

import pytest

import sitemap_reader as sr
from sitemap_reader.client import CrawlLog, SummaryBuilder
from sitemap_reader.model import report

LOGGER = logging.getLogger("tests.log")


def reported(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(each.levelname, each.getMessage()) for each in caplog.records]


def test_five_problems_of_a_code_and_document_are_logged_and_the_rest_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log = CrawlLog(LOGGER)
    for line in range(1_207):
        log.report(report("D01", "no date", sitemap="https://e.com/a.xml", line=line))
    log.report(report("D06", "no zone", sitemap="https://e.com/b.xml", line=1))
    log.report(sr.Outcome(url="https://e.com/a.xml"))
    log.end(SummaryBuilder().summary(), None)
    levels = [level for level, _ in reported(caplog)]
    assert levels == ["ERROR"] * 5 + ["WARNING", "ERROR", "INFO"]
    assert reported(caplog)[0][1] == "D01 https://e.com/a.xml:0: no date"
    assert reported(caplog)[-2][1] == "D01 https://e.com/a.xml: 1,202 more"
    assert reported(caplog)[-1][1].startswith("0 URLs from 0 sitemaps")


def test_missing_documents_are_logged_last(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    ledger = SummaryBuilder()
    ledger.record([sr.Outcome(url="https://e.com/a.xml", complete=False)])
    CrawlLog(LOGGER).end(ledger.summary(), None)
    CrawlLog(LOGGER).end(ledger.summary(), sr.NothingFound("there is none"))
    assert [each for each in reported(caplog) if each[0] != "INFO"] == [
        ("WARNING", "partial: 1 sitemap could not be read"),
        ("ERROR", "there is none"),
    ]


def test_control_characters_are_escaped(caplog: pytest.LogCaptureFixture) -> None:
    CrawlLog(LOGGER).report(report("D01", "lastmod \x9b31m\nERROR all is lost", sitemap="https://e.com/a.xml"))
    ((_, text),) = reported(caplog)
    assert text == "D01 https://e.com/a.xml: lastmod \\x9b31m\\nERROR all is lost"
