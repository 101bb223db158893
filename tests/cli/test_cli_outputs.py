"""`-o FILE`: its contents after complete, partial and empty runs; formats and compressions by its suffix."""

import gzip
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_runs import (
    BEGINNINGS,
    BROKEN,
    FORMAT_SUFFIXES,
    OLD,
    PROGRAM,
    SHOP,
    SITES,
    alone,
    old_file,
    process,
    replay,
    unfinished,
    zstd,
)
from kit import dump, index, objects, run, urlset

import sitemap_reader as sr
from sitemap_reader.cli import REPORT_FORMATS, ROWS_FORMATS, SUFFIXES, suffix_formats
from sitemap_reader.serialize import FORMATS, Blocks, Compressed, numbered_objects, output_files
from sitemap_reader.serialize import SUFFIXES as COMPRESSIONS

A = "https://a.example"
SHOP_DUMP = SITES / "shop.jsonl"
PAGES = urlset(f"{A}/1", f"{A}/2")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return old_file(tmp_path / "out")


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., Path]:
    """`site(sitemap)` -> a recording of a host with that sitemap, if any."""

    def make(sitemap: str | bytes | None) -> Path:
        return replay(tmp_path / "site", {"robots.txt": ""} | ({"sitemap.xml": sitemap} if sitemap else {}))

    return make


# --- runs that read something or nothing ---

DUMPERS = ["dump {site}", "tree {site}", "stats {site}", "discover {site}", "sync {site} --state {state}"]


@pytest.mark.parametrize("command", DUMPERS)
@pytest.mark.parametrize("sitemap", [None, "<html>"])
def test_run_that_read_nothing_keeps_the_file(
    tmp_path: Path, old: Path, site: Callable[..., Path], command: str, sitemap: str | None
) -> None:
    if sitemap:
        (replay(tmp_path / "site", {}) / "site.toml").write_text(f'seeds = ["{A}/sitemap.xml"]\n')
    words = command.format(site=site(sitemap), state=tmp_path / "state.db").split()
    result = run(*words, "-o", old)
    assert result.exit_code in (4, 5)
    assert (old.read_bytes(), alone(old)) == (OLD, True)
    assert run(*words, "-o", old.with_name("new")).exit_code in (4, 5)
    assert alone(old)


@pytest.mark.parametrize("command", DUMPERS)
def test_run_that_read_something_replaces_the_file(tmp_path: Path, old: Path, site: Any, command: str) -> None:
    words = command.format(site=site(PAGES), state=tmp_path / "state.db").split()
    plain = run(*words).stdout_bytes
    if "--state" in words:
        (tmp_path / "state.db").unlink()
    assert run(*words, "-o", old).exit_code == 0
    assert (old.read_bytes(), alone(old)) == (plain, True)


@pytest.mark.parametrize(("document", "code"), [(urlset(), 4), (b"<html>", 5), (PAGES, 0)])
def test_parse_writes_what_it_read(tmp_path: Path, old: Path, document: bytes, code: int) -> None:
    file = tmp_path / "sitemap.xml"
    file.write_bytes(document)
    assert run("parse", file, "-o", old).exit_code == code
    assert (old.read_bytes() == OLD, alone(old)) == (code != 0, True)


@pytest.mark.parametrize(("dump", "code"), [
    ("", 4), ('{"type":"outcome"}\n', 4), ("no dump", 2), ('{"loc":"https://a.example/"}\n', 0),
])
@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_convert_writes_what_it_read(old: Path, dump: str, code: int, format: str) -> None:
    assert run("convert", "-", "-o", old, "--format", format, stdin=dump).exit_code == code
    assert (old.read_bytes() == OLD, alone(old)) == (code != 0, True)


def test_one_readable_target_replaces_the_file(old: Path, site: Callable[..., Path]) -> None:
    assert run("dump", site(PAGES), "no host", "-o", old).exit_code == 2
    assert len(old.read_bytes().splitlines()) == 2


@pytest.mark.parametrize(("format", "held"), [("jsonl", b""), ("csv", b"loc\n"), ("txt", b"")])
def test_run_whose_filters_dropped_all_replaces_the_file(old: Path, site: Any, format: str, held: bytes) -> None:
    fields = [] if format == "txt" else ["--fields", "loc"]
    assert run("dump", site(PAGES), "--include", "none", "-o", old, "--format", format, *fields).exit_code == 0
    assert old.read_bytes() == held


def test_failed_dump_keeps_its_file_and_writes_its_report(old: Path) -> None:
    report = old.with_name("report.jsonl")
    report.write_bytes(OLD)
    assert run("dump", "127.0.0.1:9", "-o", old, "--report", report).exit_code == 5
    assert old.read_bytes() == OLD
    assert {line["type"] for line in objects(report.read_bytes())} == {"problem", "outcome"}


def test_audit_writes_its_report_for_an_unreadable_site(old: Path) -> None:
    assert run("audit", "127.0.0.1:9", "-o", old, "--retries", "0").exit_code == 5
    assert b"F13" in old.read_bytes()


def test_a_mistake_leaves_the_file(old: Path) -> None:
    for words in (["dump", SHOP, "--since", "x"], ["tree", "no host"], ["diff", "no.jsonl", "-"], ["audit", "no host"]):
        assert run(*words, "-o", old).exit_code == 2
        assert (old.read_bytes(), alone(old)) == (OLD, True)


def test_partial_run_replaces_the_file(old: Path) -> None:
    assert run("dump", BROKEN, "-o", old).exit_code == 3
    assert len(old.read_bytes().splitlines()) == len(run("dump", BROKEN).stdout.splitlines())
    assert alone(old)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl.gz"])
def test_incomplete_parquet_does_not_replace_the_file(old: Path, suffix: str) -> None:
    """The disk is full before the footer is written."""
    file = old.rename(f"{old}{suffix}")
    small = "import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))\n"
    script = f"{small}from sitemap_reader.__main__ import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", script, "dump", SHOP, "-q", "-o", str(file)], capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (6, f"error: cannot write {file}: File too large\n")
    assert (file.read_bytes(), alone(file)) == (OLD, True)


# --- sync: committed changes are in the file ---


@pytest.mark.slow
def test_sync_writes_in_place(tmp_path: Path, old: Path, site: Callable[..., Path]) -> None:
    """After a kill at any point the changes are in the file."""
    script = (
        "import os, sys\n"
        "from sitemap_reader.cli.main import main\n"
        "from sitemap_reader.cli.sync import _Sync\n"
        "write = _Sync._write\n"
        "def killed(self, lines):\n"
        "    write(self, lines)\n"
        "    self.outputs.flush()\n"
        "    os.kill(os.getpid(), 9)\n"
        "_Sync._write = killed\n"
        "main(sys.argv[1:])\n"
    )
    words = ["sync", str(site(PAGES)), "--state", str(tmp_path / "state.db"), "-q", "-o", str(old)]
    killed = subprocess.run([sys.executable, "-c", script, *words], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert objects(old.read_bytes())[0]["loc"] == f"{A}/1"
    assert alone(old)
    assert run(*words).exit_code == 0
    assert [line["loc"] for line in objects(old.read_bytes())] == [f"{A}/1", f"{A}/2"]


def test_a_sync_without_changes_empties_the_file(tmp_path: Path, old: Path, site: Callable[..., Path]) -> None:
    words = ["sync", site(PAGES), "--state", tmp_path / "state.db", "-o", old, "--format", "tsv"]
    assert run(*words).exit_code == 0
    assert len(old.read_bytes().splitlines()) == 3
    assert run(*words).exit_code == 0
    assert old.read_bytes() == b"change\tloc\tlastmod\tprevious_lastmod\tchanged\n"


# --- files of every kind ---


def test_file_mode_is_kept_and_new_files_have_the_default(tmp_path: Path) -> None:
    kept, new = tmp_path / "kept", tmp_path / "new"
    kept.write_bytes(OLD)
    kept.chmod(0o640)
    before = os.umask(0o027)
    try:
        for file in (kept, new):
            assert run("dump", SHOP, "-o", file).exit_code == 0
    finally:
        os.umask(before)
    assert [stat.S_IMODE(file.stat().st_mode) for file in (kept, new)] == [0o640, 0o640]
    kept.chmod(0o604)
    run("dump", SHOP, "-o", kept)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o604


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_of_the_file_is_kept(old: Path) -> None:
    os.chown(old, 1234, 1234)
    assert run("dump", SHOP, "-o", old).exit_code == 0
    assert (old.stat().st_uid, old.stat().st_gid) == (1234, 1234)


@pytest.mark.slow
def test_a_link_is_followed(tmp_path: Path, old: Path) -> None:
    link, dangling = tmp_path / "link", tmp_path / "dangling"
    link.symlink_to(old)
    dangling.symlink_to(tmp_path / "made")
    for file in (link, dangling):
        assert run("dump", SHOP, "-o", file).exit_code == 0
        assert file.is_symlink()
    assert len(old.read_bytes().splitlines()) == len((tmp_path / "made").read_bytes().splitlines()) == 640
    assert alone(old)


def test_file_in_a_read_only_folder_is_written_in_place(old: Path, monkeypatch: pytest.MonkeyPatch, site: Any) -> None:
    """Root may write to every folder, so the error is simulated."""
    opened = os.open

    def refuse(name: Any, flags: int, *mode: int) -> int:
        if flags & os.O_EXCL:
            raise PermissionError(13, "Permission denied", name)
        return opened(name, flags, *mode)

    monkeypatch.setattr(output_files.os, "open", refuse)
    assert run("dump", site(None), "-o", old).exit_code == 4
    assert old.read_bytes() == OLD
    number = old.stat().st_ino
    assert run("dump", site(PAGES), "-o", old).exit_code == 0
    assert (len(old.read_bytes().splitlines()), old.stat().st_ino) == (2, number)
    assert run("dump", "no host", "-o", old.with_name("new")).exit_code == 2
    assert alone(old)


def test_file_that_cannot_be_replaced_is_written_in_place(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a mount point, or a file of another user in /tmp."""

    def refuse(source: str, target: str) -> None:
        raise OSError(16, "Device or resource busy", target)

    monkeypatch.setattr(output_files.os, "replace", refuse)
    number = old.stat().st_ino
    assert run("dump", SHOP, "-o", old).exit_code == 0
    assert (len(old.read_bytes().splitlines()), old.stat().st_ino, alone(old)) == (640, number, True)
    monkeypatch.setattr(output_files.shutil, "copyfile", refuse)
    result = run("dump", SHOP, "-o", old)
    (part,) = unfinished(old)
    assert result.exit_code == 6
    told = f"error: cannot write {old}: Device or resource busy; what was written is in {part}\n"
    assert result.stderr.endswith(told)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_file_is_kept(old: Path) -> None:
    old.chmod(0o444)
    assert run("dump", SHOP, "-o", old).exit_code == 6
    assert old.read_bytes() == OLD


@pytest.mark.slow
def test_output_dev_stdout_is_stdout(tmp_path: Path) -> None:
    file = tmp_path / "out"
    with file.open("wb") as stdout:
        done = subprocess.run(
            [*PROGRAM, "dump", SHOP, "-q", "-o", "/dev/stdout"], stdout=stdout, stderr=subprocess.PIPE, check=False
        )
        number = os.fstat(stdout.fileno()).st_ino
    assert (done.returncode, done.stderr, len(file.read_bytes().splitlines())) == (0, b"", 640)
    assert (file.stat().st_ino, alone(file)) == (number, True)
    assert len(process("dump", SHOP, "-q", "-o", "/dev/stdout").stdout.splitlines()) == 640


@pytest.mark.slow
def test_a_named_pipe_gets_all(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen([*PROGRAM, "dump", SHOP, "-q", "-o", str(fifo)]) as writing:
        assert len(fifo.read_bytes().splitlines()) == 640
    assert writing.returncode == 0
    assert stat.S_ISFIFO(fifo.stat().st_mode)


# --- compression ---

UNPACK = {".gz": gzip.decompress, ".zst": lambda data: zstd().decompress(data)}


@pytest.mark.parametrize("packed", UNPACK)
@pytest.mark.parametrize(("suffix", "format"), [each for each in FORMAT_SUFFIXES if not FORMATS[each[1]].is_binary])
def test_a_suffix_compresses_every_format(tmp_path: Path, packed: str, suffix: str, format: str) -> None:
    file = tmp_path / f"urls{suffix}{packed}"
    assert run("convert", SHOP_DUMP, "-o", file).exit_code == 0
    assert UNPACK[packed](file.read_bytes()) == run("convert", SHOP_DUMP, "--format", format).stdout_bytes
    assert packed != ".gz" or file.read_bytes()[4:8] == bytes(4), "a timestamp"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", UNPACK)
def test_every_command_compresses(tmp_path: Path, suffix: str) -> None:
    report = tmp_path / f"report.jsonl{suffix}"
    for words in (["dump", SHOP, "--report", report], ["tree", SHOP], ["audit", SHOP], ["schema", "json"]):
        file = tmp_path / f"{words[0]}.{'json' if words[0] in ('audit', 'schema') else 'jsonl'}{suffix}"
        assert run(*words, "-o", file).exit_code in (0, 1)
        json.loads(UNPACK[suffix](file.read_bytes()).splitlines()[0] if words[0] in ("dump", "tree") else "{}")
        assert UNPACK[suffix](file.read_bytes()).endswith(b"\n")
    assert {line["type"] for line in objects(UNPACK[suffix](report.read_bytes()))} >= {"outcome"}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", UNPACK)
def test_compressed_output_is_read_back(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"urls.jsonl{suffix}"
    run("convert", SHOP_DUMP, "-o", file)
    assert len(list(sr.load(file))) == 640
    assert run("stats", file, "-q").stdout == run("stats", SHOP_DUMP, "-q").stdout
    assert run("diff", file, SHOP_DUMP, "--exit-code").exit_code == 0
    assert run("convert", file, "--format", "txt").stdout == run("convert", SHOP_DUMP, "--format", "txt").stdout
    told = [json.loads(run("audit", each, "-q", "--format", "json").stdout) for each in (file, SHOP_DUMP)]
    assert told[0]["findings"] == told[1]["findings"]


@pytest.mark.parametrize("suffix", UNPACK)
def test_lines_of_a_compressed_sync_can_be_read_before_its_end(tmp_path: Path, suffix: str) -> None:
    """As after a kill: flushed lines are readable."""
    file = tmp_path / f"changes.jsonl{suffix}"
    with file.open("wb", buffering=0) as stream:
        blocks = Blocks(Compressed(stream, COMPRESSIONS[suffix]))
        blocks.write(b'{"loc":"https://a.example/1"}\n')
        blocks.flush()
        with file.open("rb") as reading:
            forms = numbered_objects(reading, file.name)
            assert next(forms) == (1, {"loc": "https://a.example/1"})
            with pytest.raises(sr.UsageError, match="file is cut"):
                next(forms)


def test_without_zstd_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, dumped = tmp_path / "urls.jsonl.zst", tmp_path / "dumped.jsonl.zst"
    dumped.write_bytes(zstd().compress(SHOP_DUMP.read_bytes()))
    monkeypatch.setitem(sys.modules, "compression", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    if "backports" in sys.modules:
        monkeypatch.setattr(sys.modules["backports"], "zstd", None, raising=False)
        monkeypatch.delattr("backports.zstd")
    for words, place in ((["dump", SHOP, "-o", file], file), (["stats", dumped], dumped)):
        result = run(*words)
        assert (result.exit_code, file.exists()) == (2, False)
        assert result.stderr == f"error: {place}: zstd needs a module: pip install backports.zstd; or use .gz\n"


# --- formats by suffix ---


def test_every_format_has_a_suffix_and_every_suffix_a_format() -> None:
    formats = {*FORMATS, *ROWS_FORMATS, *REPORT_FORMATS} - {"github"}  # which is for the log of a step
    assert {format for named in SUFFIXES.values() for format in named} == formats


@pytest.mark.parametrize(("path", "formats"), [
    *(("a.b/urls.CSV", ("csv",)), ("urls.x.parquet", ("parquet",)), ("urls.csv.gz", ("csv",))),
    *(("urls.tsv.ZST", ("tsv",)), *((path, ()) for path in ("urls.gz", "csv", ".csv", "a.csv/urls", None))),
])
def test_a_suffix_stands_for_formats(path: str | None, formats: tuple[str, ...]) -> None:
    assert suffix_formats(path) == formats


@pytest.mark.parametrize(("suffix", "format"), FORMAT_SUFFIXES)
@pytest.mark.parametrize("command", [f"dump {SHOP}", f"convert {SHOP_DUMP}"], ids=["dump", "convert"])
def test_suffix_of_the_output_selects_the_format(tmp_path: Path, command: str, suffix: str, format: str) -> None:
    file = tmp_path / f"urls{suffix}"
    result = run(*command.split(), "-o", file)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("640 URLs")
    assert file.read_bytes().startswith(BEGINNINGS[format])


@pytest.mark.parametrize(("suffix", "format"), FORMAT_SUFFIXES)
def test_parse_writes_the_format_of_the_suffix(tmp_path: Path, suffix: str, format: str) -> None:
    file, dumped = tmp_path / f"out{suffix}", tmp_path / "dump.jsonl"
    assert run("parse", "-", "-o", file, stdin=PAGES).exit_code == 0
    dumped.write_text(run("parse", "-", stdin=PAGES).stdout)
    assert file.read_bytes() == run("convert", dumped, "--format", format).stdout_bytes
    assert run("parse", "-", "--format", format, stdin=PAGES).stdout_bytes == file.read_bytes()


def test_parse_takes_fields(tmp_path: Path) -> None:
    assert run("parse", "-", "--fields", "loc", "--format", "csv", stdin=PAGES).stdout == f"loc\n{A}/1\n{A}/2\n"
    assert run("parse", "-", "--fields", "loc", stdin=PAGES).stdout == f'{{"loc":"{A}/1"}}\n{{"loc":"{A}/2"}}\n'


def test_parse_says_that_a_table_has_no_line_for_a_sitemap(tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    result = run("parse", "-", "-o", file, "--fields", "loc", stdin=index(f"{A}/1.xml", f"{A}/2.xml"))
    assert (result.exit_code, file.read_text()) == (0, "loc\n")
    assert (
        "note 2 sitemaps left out: only jsonl without --fields has lines for the children of an index" in result.stderr
    )


@pytest.mark.parametrize("command", ["tree", "discover", "stats"])
def test_rows_are_written_as_csv(tmp_path: Path, command: str) -> None:
    file = tmp_path / "out.csv"
    assert run(command, SHOP, "-o", file).exit_code == 0
    tsv = run(command, SHOP, "--format", "tsv").stdout
    assert len(file.read_text().splitlines()) == len(tsv.splitlines())
    assert file.read_text().splitlines()[0] == tsv.splitlines()[0].replace("\t", ",")


# --- formulas ---

NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
FORMULA = urlset(f"""<url><loc>{A}/1</loc><news:news xmlns:news="{NEWS}"><news:publication>
<news:name>N</news:name><news:language>en</news:language></news:publication>
<news:publication_date>2026-05-01</news:publication_date><news:title>=HYPERLINK("https://evil.example")</news:title>
</news:news></url>""")


@pytest.mark.parametrize("format", ["csv", "tsv"])
@pytest.mark.parametrize(("options", "begins"), [([], "'="), (["--no-formula-guard"], "=")])
def test_formulas_in_titles_are_guarded_by_default(
    tmp_path: Path, format: str, options: list[str], begins: str
) -> None:
    wanted = ["--format", format, "--fields", "news.title", *options]
    dumped = tmp_path / "dump.jsonl"
    dumped.write_text(run("parse", "-", stdin=FORMULA).stdout)
    folder = replay(tmp_path / "site", {"sitemap.xml": FORMULA, "robots.txt": ""})
    for words in (["dump", folder], ["convert", dumped], ["parse", folder / "https/a.example/sitemap.xml"]):
        cell = run(*words, *wanted).stdout.splitlines()[1].lstrip('"')
        assert cell.startswith(f"{begins}HYPERLINK")


def test_formulas_in_changes_are_guarded_by_default(tmp_path: Path) -> None:
    old, new = dump(tmp_path / "old.jsonl"), dump(tmp_path / "new.jsonl", {"loc": "=1+1"})
    for options, cell in (([], "'=1+1"), (["--no-formula-guard"], "=1+1")):
        told = run("diff", old, new, "--format", "csv", *options).stdout.splitlines()
        assert told[1].split(",")[1] == cell
