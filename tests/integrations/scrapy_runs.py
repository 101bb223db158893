"""Runs Scrapy in separate processes: a spider's source in; its items, stats and log out.

A reactor can start only once in a process, so each crawl is a fork of a program that has imported Scrapy and has no
reactor yet.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

SECONDS = 120
# Forks for each line of stdin, a JSON array of the arguments of a crawl; prints the status of the fork. The spider is
# the class Tried of the named module.
PROGRAM = """
import json, os, re, signal, sys, warnings
from importlib import import_module
from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.settings import default_settings
import sitemap_reader.integrations.scrapy

for name in re.findall(r"'(scrapy[.][a-z0-9_.]+)[.][A-Za-z]+'", repr(vars(default_settings))):
    import_module(name)  # what a crawl would load
assert "twisted.internet.reactor" not in sys.modules

def crawl(settings, arguments):
    from tried import Tried

    warnings.simplefilter("error", ScrapyDeprecationWarning)
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Tried)
    items = []
    crawler.signals.connect(lambda item: items.append(item), signals.item_scraped, weak=False)
    process.crawl(crawler, **arguments)
    process.start()
    with open("out.json", "w") as file:
        json.dump({"items": items, "stats": crawler.stats.get_stats()}, file, default=str)

for line in sys.stdin:
    folder, environment, seconds, settings, arguments = json.loads(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    signal.alarm(seconds)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path.insert(0, folder)
    log = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.exit(crawl(settings, arguments))
"""
SETTINGS = {"LOG_LEVEL": "INFO", "TELNETCONSOLE_ENABLED": False, "HTTPERROR_ALLOW_ALL": True}
HEAD = """
from scrapy import Request
from scrapy.spiders import SitemapSpider
from sitemap_reader.integrations.scrapy import SitemapReaderSpider
"""


@attrs.frozen
class Crawl:
    """The result of a crawl."""

    items: list[Any]
    stats: dict[str, Any]
    log: str


_programs: list[subprocess.Popen[str]] = []


@contextmanager
def scrapy_program() -> Iterator[None]:
    """Within the block crawl() can be called."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], **pipes) as program:
        _programs.append(program)
        yield
        _programs.remove(program)
        program.stdin.close()


def crawl(folder: Path, spider: str, settings: dict[str, Any] | None = None, **arguments: Any) -> Crawl:
    """Runs `spider`, the source of a class Tried."""
    (folder / "tried.py").write_text(HEAD + spider)
    (program,) = _programs
    wanted = [str(folder), dict(os.environ), SECONDS, {**SETTINGS, **(settings or {})}, arguments]
    program.stdin.write(json.dumps(wanted) + "\n")
    code, log = int(program.stdout.readline()), (folder / "log.txt").read_text()
    assert code == 0, log
    assert log.count("Traceback") == log.count("sitemap_filter failed"), log
    return Crawl(**json.loads((folder / "out.json").read_text()), log=log)
