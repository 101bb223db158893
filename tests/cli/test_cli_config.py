"""The config file of the commands: where it is found, what it may set, what replaces it; `config`."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from cli_runs import BROKEN, SHOP, process, replay
from click.testing import Result
from kit import run, urlset

from sitemap_reader.checks import config_file
from sitemap_reader.cli import keys_of, kind_of
from sitemap_reader.cli.main import main

Config = Callable[[str], Path]

NAME = "sitemap-reader.toml"
DUMP = ("dump", SHOP)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, which is a repository."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def config(folder: Path) -> Callable[[str], Path]:
    """Writes the config file of the working folder."""

    def write(text: str) -> Path:
        (folder / NAME).write_text(text, encoding="utf-8")
        return folder / NAME

    return write


def urls(result: Result) -> int:
    """The number of URLs of a dump; the command succeeded."""
    assert result.exit_code == 0, result.stderr
    return len(result.stdout.splitlines())


def error(result: Result) -> str:
    """The only line of a run that was refused."""
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    return line


# --- precedence ---


def test_the_command_line_replaces_the_table_which_replaces_the_top(config: Config) -> None:
    config("concurrency = 3\nunique = true\n[dump]\nlimit = 2\n")
    assert urls(run(*DUMP)) == 2
    assert urls(run(*DUMP, "--limit", 3)) == 3
    config("limit = 4\n[dump]\nlimit = 2\n")
    assert urls(run(*DUMP)) == 2
    config("limit = 4\n")
    assert urls(run(*DUMP)) == 4


def test_a_repeatable_option_is_replaced_as_a_whole(config: Config) -> None:
    every = urls(run(*DUMP))
    config('[dump]\nexclude = ["/magazine/", "/news/"]\n')
    some, without_news = urls(run(*DUMP)), urls(run(*DUMP, "--exclude", "/news/"))
    assert some < without_news < every
    config('exclude = "/news/"\n')
    assert urls(run(*DUMP)) == without_news


@pytest.mark.slow
def test_targets_are_those_of_the_file_if_none_is_given(config: Config) -> None:
    config(f'targets = ["{SHOP}"]\n')
    every = urls(run("dump", "--config", NAME))
    assert every == urls(run(*DUMP, "--no-config"))
    config(f'targets = "{SHOP}"\n[dump]\ntargets = ["nosuch.invalid"]\n')
    assert urls(run("dump", SHOP, "--config", NAME)) == every
    assert run("stats", "--config", NAME).exit_code == run("tree", "--config", NAME).exit_code == 0


def test_a_command_of_one_target_does_not_take_several(config: Config) -> None:
    config('targets = ["a.example", "b.example"]\n')
    assert "Missing argument 'TARGET|FILE'" in error(run("stats"))
    assert run("stats", SHOP).exit_code == 0
    config('[stats]\ntargets = ["a.example", "b.example"]\n')
    assert "sitemap-reader.toml:2: targets is a text, not [" in error(run("stats"))


def test_a_missing_target_is_an_error_as_before(config: Config) -> None:
    config("")
    assert error(run("dump")) == "error: Missing argument 'TARGET...'; see sitemap-reader dump --help"
    config("targets = []\n")
    assert error(run("dump")) == f"error: {NAME}:1: targets: it is empty"


def test_a_required_option_may_be_in_the_file(config: Config, folder: Path) -> None:
    config('[sync]\nstate = "sites.db"\n')
    assert run("sync", SHOP).exit_code == 0
    assert (folder / "sites.db").exists()


# --- the search ---


def test_the_nearest_file_in_the_repository_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    (folder / NAME).write_text("[dump]\nlimit = 2\n")
    assert urls(run(*DUMP)) == 2
    (folder / "a" / NAME).write_text("unique = true\n")
    assert urls(run(*DUMP)) > 2  # files are not combined
    (folder / "a" / ".git").write_text("gitdir: elsewhere\n")
    (folder / "a" / NAME).unlink()
    assert urls(run(*DUMP)) > 2  # the root of a worktree or submodule has a file of this name


def test_outside_of_a_repository_only_the_working_folder_counts(
    folder: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".git").rmdir()
    config("[dump]\nlimit = 2\n")
    assert urls(run(*DUMP)) == 2
    (folder / "a").mkdir()
    monkeypatch.chdir(folder / "a")
    assert urls(run(*DUMP)) > 2


def test_a_pyproject_counts_if_it_has_the_table(folder: Path, config: Config) -> None:
    project = folder / "pyproject.toml"
    project.write_text('[project]\ndependencies = ["sitemap-reader"]\n[tool.other]\nlimit = 1\n')
    assert urls(run(*DUMP)) > 3
    project.write_text("[tool.sitemap-reader.dump]\nlimit = 3\nunknwon = 1\n")
    assert error(run(*DUMP)).startswith("error: pyproject.toml:3: 'unknwon' is no key of [dump]")
    project.write_text("[tool.sitemap-reader.dump]\nlimit = 3\n")
    assert urls(run(*DUMP)) == 3
    assert urls(run(*DUMP, "--config", "pyproject.toml")) == 3
    config("[dump]\nlimit = 2\n")
    assert urls(run(*DUMP)) == 2


def test_a_damaged_pyproject_of_other_programs_does_not_matter(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.other\nsitemap-reader")
    assert run(*DUMP).exit_code == 0
    (folder / "pyproject.toml").write_text("[tool.sitemap-reader]\nx =")
    assert error(run(*DUMP)).startswith("error: pyproject.toml:2: no TOML: ")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users here")
@pytest.mark.parametrize(("mode", "is_used"), [(0o777, False), (0o1777, False), (0o775, True)])
def test_a_file_of_another_user_in_a_folder_of_all_users_is_not_used(
    folder: Path, config: Config, monkeypatch: pytest.MonkeyPatch, mode: int, is_used: bool
) -> None:
    config("[dump]\nlimit = 2\n")
    folder.chmod(mode)
    assert urls(run(*DUMP)) == 2  # one's own
    monkeypatch.setattr(config_file.os, "getuid", lambda: os.stat(NAME).st_uid + 1)
    monkeypatch.setattr(config_file, "_ROOT", -1)  # the tests may run as root
    result = run(*DUMP)
    assert (urls(result) == 2) is is_used
    assert (f"{NAME} is not used: it is another user's" in result.stderr) is not is_used
    assert urls(run(*DUMP, "--config", NAME)) == 2


def test_a_removed_working_folder_has_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run(*DUMP).exit_code == 0


def test_a_named_file_replaces_the_nearest(config: Config, folder: Path) -> None:
    config("[dump]\nlimit = 2\n")
    (folder / "other.toml").write_text("[dump]\nlimit = 3\n")
    assert urls(run(*DUMP, "--config", "other.toml")) == 3
    for arguments in (["--no-config"], ["--config", "other.toml", "--no-config"], ["--no-config", "--config", "x"]):
        assert urls(run(*DUMP, *arguments)) > 3
    assert error(run(*DUMP, "--config", "nosuch.toml")) == "error: cannot read nosuch.toml: No such file or directory"


@pytest.mark.slow
def test_help_and_completion_read_no_file(config: Config) -> None:
    config("damaged")
    assert run("dump", "--help").exit_code == 0
    assert run("--help").exit_code == 0
    assert run("schema", "json").exit_code == 0
    typed = {"_SITEMAP_READER_COMPLETE": "bash_complete", "COMP_WORDS": "x dump --li", "COMP_CWORD": "2"}
    completed = process(env={**os.environ, **typed})
    assert (completed.stdout.split(","), completed.stderr) == (["plain", "--limit\n"], "")
    assert error(run(*DUMP)).startswith(f"error: {NAME}:1: no TOML: ")


@pytest.mark.slow
def test_what_is_taken_from_a_file_that_was_found_is_noted(config: Config) -> None:
    config("concurrency = 3\nunique = true\n[audit]\nsamples = 1\n")
    noted = f"note options from {NAME}: concurrency, unique; --no-config ignores them"
    assert run(*DUMP).stderr.splitlines()[0] == noted
    assert run(*DUMP, "--unique").stderr.splitlines()[0] == noted.replace(", unique", "")
    for arguments in (["-q"], ["--no-config"], ["--config", NAME], ["--unique", "--concurrency", "1"]):
        assert "note options" not in run(*DUMP, *arguments).stderr


# --- faults ---


@pytest.mark.parametrize(("text", "message"), [
    ("[dump]\nlimits = 2\n", "2: 'limits' is no key of [dump]; did you mean limit?"),
    ("user_agent = 'x'\n", "1: 'user_agent' is no key of the file; did you mean user-agent?"),
    ("[audti]\n", "1: 'audti' is no key of the file; did you mean audit?"),
    ("[audit]\nthreshold = 1\n", "2: 'threshold' is no key of [audit]; did you mean thresholds?"),
    ("[schema]\noutput = 'x'\n", "1: 'schema' is no key of the file; "),
    ("[dump]\nconfig = 'x'\n", "2: 'config' is no key of [dump]; "),
    ("[dump]\njobs = 3\n", "2: 'jobs' is no key of [dump]; "),
    ("audit = 1\n", "1: audit is a command: write its options into a table [audit]"),
    ("format = 'csv'\n", "1: format differs between commands: write it into their tables, such as [dump]"),
    ("[dump]\nlimit = 0\n", "2: limit: 0 is not in the range x>=1"),
    ("[dump]\nlimit = '3'\n", "2: limit is a whole number, not '3'"),
    ("[dump]\nlimit = true\n", "2: limit is a whole number, not True"),
    ("[dump]\ntimeout = '3'\n", "2: timeout is a number, not '3'"),
    ("[dump]\ntimeout = -1\n", "2: timeout: -1 is not a duration"),
    ("[dump]\nunique = 1\n", "2: unique is true or false, not 1"),
    ("[dump]\nscope = 'site'\n", "2: scope: 'site' is not one of 'protocol', 'host', 'domain', 'any'"),
    ("[dump]\nuser-agent = 1\n", "2: user-agent is a text, not 1"),
    ("[dump]\nmax-decoded-bytes = 'much'\n", "2: max-decoded-bytes: 'much' is not a size"),
    ("[dump]\nsince = 'soon'\n", "2: since: 'soon' is neither a date"),
    ("[dump]\nsince = 1\n", "2: since is a date, or an age such as 7d, not 1"),
    ("[dump]\nexclude = ['a', 1]\n", "2: exclude is a text, not 1"),
    ("[dump]\nexclude = ['a', '*.pdf']\n", "2: exclude: '*.pdf' is no regular expression"),
    ("[audit.severity]\nD99 = 'off'\n", "2: 'D99' is neither a code nor the beginning of one"),
    ("targets = [1]\n", "1: targets is a text, not 1"),
    ('output = "a\\u0000b"\n[dump]\noutput = "a\\u0000b"\n', "3: output is no name of a file, as it holds a NUL"),
])
def test_a_fault_stops_the_command_with_its_line(config: Config, text: str, message: str) -> None:
    config(text)
    faults = run("config", "--check").stderr
    assert f"error: {NAME}:{message}" in faults
    if not message.startswith("3: output"):  # the first line is wrong too
        assert error(run(*DUMP)).startswith(f"error: {NAME}:{message}")


def test_values_of_other_commands_stop_only_the_check(config: Config) -> None:
    config("[audit]\nsamples = -1\n")
    assert run(*DUMP).exit_code == 0
    assert error(run("audit", SHOP)) == f"error: {NAME}:2: samples: -1 is not in the range x>=0"


def test_a_fault_of_a_common_option_is_reported_once(config: Config) -> None:
    config("per-host = 0\nuser-agent = 1\n")
    assert run("config", "--check").stderr.splitlines() == [
        f"error: {NAME}:1: per-host: 0 is not in the range x>=1",
        f"error: {NAME}:2: user-agent is a text, not 1",
    ]


def test_dates_and_sizes_have_their_types(config: Config) -> None:
    config("[dump]\nsince = 2026-01-01\nuntil = 2026-05-31T12:00:00Z\nmax-decoded-bytes = 1000000\nlimit = 3\n")
    assert run("config", "--check").exit_code == 0
    assert run(*DUMP).exit_code == 0


COMMANDS = {name: command for name, command in main.commands.items() if getattr(command, "has_settings", False)}
NOT_FOR_FILES = {"auth", "header"}
OPTIONS = [(name, key) for name, command in COMMANDS.items() for key in keys_of(command) if key not in NOT_FOR_FILES]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "key"), OPTIONS)
def test_every_option_may_be_in_its_table(config: Config, command: str, key: str) -> None:
    param = keys_of(COMMANDS[command])[key]
    special = {"WHEN": '"7d"', "SIZE": '"5M"', "N|all": '"10"', "N|N%": "10", "A=B": '["https://a.example=https://b.example"]'}
    special |= {"URL": '"https://a.example"'}
    if getattr(param, "is_flag", False):
        value = "true"
    elif isinstance(param.type, click.Choice):
        value = json.dumps(param.type.choices[0])
    else:
        kinds = {"integer range": "1", "integer": "1", "float": "1.5"}
        value = kinds.get(param.type.name, special.get(str(param.metavar), '"text"'))
    config(f"[{command}]\n{key} = {value}\n")
    result = run("config", "--check", "--config", NAME)
    assert (result.exit_code, result.stderr) == (0, "")


def test_commands_without_a_table_are_known() -> None:
    assert {*main.commands} - {*COMMANDS} == {"schema", "config"}


def test_the_example_of_the_docs_is_valid(folder: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "config.md").read_text("utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (folder / NAME).write_text(example)
    result = run("config")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count(" = ") == example.count(" = ")


# --- safety ---

SECRET = "hunter2"  # noqa: S105 -- planted


@pytest.mark.parametrize(("text", "advice"), [
    (f'[dump]\nauth = "me:{SECRET}"\n', "auth may hold a secret, which does not belong into a file: give --auth"),
    (f'header = ["Cookie: {SECRET}"]\n', "header may hold a secret"),
    (f'targets = ["example.com", "https://me:{SECRET}@example.com"]\n', "targets has a password"),
    (f'[dump]\ntargets = "me:{SECRET}@example.com"\n', "targets has a password"),
    (f'[dump]\nproxy = "http://me:{SECRET}@proxy"\n', "proxy has a password"),
])
def test_secrets_are_refused_and_not_shown(config: Config, text: str, advice: str) -> None:
    config(text)
    for named in ([], ["--config", NAME]):
        for arguments in (DUMP, ("config",), ("config", "--check")):
            result = run(*arguments, *named)
            assert result.exit_code == 2
            assert advice in result.stderr
            assert SECRET not in result.output


EVERY_COMMAND = {"": main, **main.commands}


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_every_option_and_argument_has_a_kind(name: str) -> None:
    """Else a file that was only found could not be kept from an option that reads, writes, sends or listens."""
    assert [param.name for param in EVERY_COMMAND[name].params if kind_of(param) is None] == []


@pytest.mark.parametrize("type", [None, click.STRING, click.BOOL, click.Path(), click.File()])
def test_a_type_that_states_no_kind_is_none(type: click.ParamType | None) -> None:
    assert kind_of(click.Option(["--new"], type=type)) is None
    assert kind_of(click.Option(["--new"], is_flag=True)) is None


NAMED_ONLY = [(name, key) for name, key in OPTIONS if kind_of(keys_of(COMMANDS[name])[key]).needs_trust]  # type: ignore[union-attr]


def test_what_sends_listens_or_is_trusted_needs_a_named_file() -> None:
    assert {key for _, key in NAMED_ONLY} == {
        "accept", "allow-private", "behind-proxy", "cacert", "insecure", "listen", "map", "netrc", "netrc-file",
        "output", "proxy", "record", "scheduler", "server-name", "to", "webhook",
    }  # fmt: skip


@pytest.mark.parametrize(("command", "key"), NAMED_ONLY)
def test_a_file_that_was_found_may_not_set_it(config: Config, command: str, key: str) -> None:
    param = keys_of(COMMANDS[command])[key]
    value = "true" if getattr(param, "is_flag", False) else '"inside"'
    config(f"[{command}]\n{key} = {value}\n")
    refused = error(
        run(command, "a.example", "--state", "s.db") if command in ("sync", "watch") else run(command, SHOP)
    )
    assert refused.startswith(f"error: {NAME}:2: {key} is not taken from a file that was only found, which may not ")
    assert refused.endswith(f": give it on the command line, or trust the file with --config {NAME}")


def test_a_file_that_was_found_starts_no_delivery(config: Config, folder: Path) -> None:
    """A file beside the config, too: `to` also takes URLs, and its kind decides."""
    config(f'[watch]\nto = ["{folder}/changes.jsonl"]\n')
    assert "which may not decide where anything is sent" in error(run("watch", "a.example", "--state", "s.db"))
    assert not (folder / "changes.jsonl").exists()


@pytest.mark.parametrize("credentials", [["--auth", "me:pw"], ["-H", "Cookie: a=b"]])
def test_credentials_do_not_go_to_targets_of_a_file_that_was_found(
    config: Config, folder: Path, credentials: list[str]
) -> None:
    shutil.copytree(SHOP, folder / "shop")
    config('targets = ["shop"]\n')
    assert "credentials do not go to targets of a file that was only found" in error(run("dump", *credentials))
    assert run("dump", *credentials, SHOP).exit_code == 0
    assert run("dump", *credentials, "--config", NAME).exit_code == 0


OUTSIDE = ["../x.jsonl", "/tmp/x.jsonl", ".git/x", ".GIT/x", "link/x.jsonl", "a/../../x.jsonl"]  # noqa: S108


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize(("command", "key"), [
    ("dump", "output"), ("dump", "report"), ("audit", "also"), ("audit", "findings"), ("audit", "save-checks"),
    ("audit", "known"), ("audit", "crawl"), ("audit", "baseline"), ("audit", "baseline-crawl"), ("audit", "state"),
    ("sync", "state"), ("watch", "state"), ("stats", "targets"), ("audit", "targets"), ("compare", "targets"),
])
def test_files_outside_of_the_folder_are_refused(
    config: Config, folder: Path, command: str, key: str, path: str
) -> None:
    (folder / "link").symlink_to(folder.parent)
    config(f'[{command}]\n{key} = "{path}"\n')
    for each in ((command, SHOP), ("config", "--check")):
        assert f"{NAME}:2: {key} is not taken from a file that was only found, which may not " in error(run(*each))
    assert run("config", "--check", "--config", NAME).exit_code == 0


@pytest.mark.parametrize(
    "target", ["-", "../*.jsonl", "link/*", "*/x.jsonl", "sub.example", "https://a.example/../../../x"]
)
def test_targets_that_lead_out_of_the_folder_are_refused(
    config: Config, folder: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    """Commands look for a target in the working folder; patterns of files take what they match."""
    (folder / "link").symlink_to(folder.parent)
    (folder.parent / "x.jsonl").write_text("")
    (folder / "sub").mkdir()
    (folder / "sub" / "sub.example").symlink_to(folder.parent)
    config(f'targets = ["a.example", "{target}"]\n')
    monkeypatch.chdir(folder / ("sub" if target == "sub.example" else ""))
    assert "targets is not taken from a file that was only found, which may not read what" in error(run("compare"))


@pytest.mark.parametrize(
    "target", ["a.example", "https://a.example/sitemap.xml?a=*", "dump.jsonl", "*.jsonl", "nosuch/"]
)
def test_hosts_urls_and_files_below_the_folder_are_targets(config: Config, folder: Path, target: str) -> None:
    (folder / "dump.jsonl").write_text("")
    config(f'targets = ["{target}"]\n')
    assert run("config", "--check").exit_code == 0


@pytest.mark.slow
def test_a_link_beside_an_output_does_not_lead_out_of_the_folder(config: Config, folder: Path) -> None:
    """An HTML report has more findings in a file beside it; a state has dead letters."""
    config('[audit]\noutput = "report.html"\n')
    (folder / "report.findings.jsonl").symlink_to(folder.parent / "mine")
    assert f"{NAME}:2: output is not taken" in error(run("audit", SHOP))
    (folder / "report.findings.jsonl").unlink()
    (folder / "report.findings.jsonl").symlink_to(folder / "mine")
    assert run("audit", SHOP, "--fail-on", "never").exit_code == 0


# --- regular expressions ---

EXPENSIVE = ["(a+)+$", "a*a*a*b", "(a|aa)+$", ".*.*.*[bc]$", r"(?:a?){30}b", r"[ab]*a[ab]{99}z"]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", EXPENSIVE)
def test_patterns_of_a_file_that_was_found_are_linear(config: Config, folder: Path, pattern: str) -> None:
    """With re, each of these takes hours or more for this URL."""
    loc = f"https://a.example/{'a' * 900_000}!"
    replay(folder / "site", {"robots.txt": "", "sitemap.xml": urlset(loc)})
    config(
        f"[dump]\nexclude = ['{pattern}']\n[[audit.ignore]]\nreason = 'x'\nurl = '{pattern}'\nsitemap = '{pattern}'\n"
    )
    for arguments in (("dump", "site"), ("audit", "site", "--fail-on", "never")):
        assert process(*arguments).returncode == 0


@pytest.mark.parametrize(("pattern", "reason"), [
    ("(?!x)a+", "RE2 has invalid perl operator: (?!"),
    (r"(a+)\1", r"RE2 has invalid escape sequence: \1"),
    (r"\bsale\b", r"RE2 has no \b for all of Unicode"),
    (r"[\W]", r"RE2 has no \W in [ ] for all of Unicode"),
    ("(a{900}){900}", "RE2 has invalid repetition size: {900}"),
    ("a" * 1001, "has over 1,000 characters"),
])
def test_what_has_no_linear_search_needs_a_named_file(config: Config, pattern: str, reason: str) -> None:
    ignore = f"[[audit.ignore]]\nreason = 'x'\nurl = '{pattern}'\n"
    config(f"exclude = ['/tag/', '{pattern}']\n{ignore}")
    first, second = run("config", "--check").stderr.splitlines()[-2:]
    assert first.startswith(f"error: {NAME}:1: exclude: ")
    assert second.startswith(f"error: {NAME}:4: url: ")
    assert reason in first
    assert reason in second
    assert "a file that was only found has this limit, one that is named has not" in error(run(*DUMP))
    assert run("config", "--check", "--config", NAME).exit_code == 0


@pytest.mark.parametrize(("count", "fits"), [(500, True), (501, False)])
def test_a_file_that_was_found_has_so_many_patterns(config: Config, count: int, fits: bool) -> None:
    config(f"[dump]\nexclude = {['x'] * count}\n")
    assert (run("config", "--check").exit_code == 0) is fits
    config("[[audit.ignore]]\nreason = 'x'\nurl = 'x'\n" * count)
    assert (run("config", "--check").exit_code == 0) is fits
    assert run("config", "--check", "--config", NAME).exit_code == 0


def test_without_re2_a_literal_text_is_searched_for(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    config(r"exclude = ['^https://www\.shop\.example/', '\.pdf$', '/tag/']" + "\n")
    assert run("config", "--check").exit_code == 0
    config("exclude = '/news/.*'\n")
    assert "needs RE2: pip install 'sitemap-reader[re2]'" in error(run(*DUMP))
    assert run(*DUMP, "--config", NAME).exit_code == 0


@pytest.mark.parametrize("pattern", ["(" * 990, "a{99999999999999}"])
def test_a_pattern_too_large_for_re_is_an_error(config: Config, pattern: str) -> None:
    closed = pattern + ")" * pattern.count("(")
    assert "is too deep or too large" in error(run(*DUMP, "--exclude", closed))
    config(f"exclude = '{closed}'\n")
    assert f"{NAME}:1: exclude: " in error(run(*DUMP))


def test_paths_are_relative_to_the_file(config: Config, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay(folder / "site", {"robots.txt": "", "sitemap.xml": urlset("https://a.example/1")})
    config('targets = ["site"]\n[dump]\noutput = "sub/urls.jsonl"\n')
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    assert run("dump").exit_code == 0
    assert json.loads((folder / "sub" / "urls.jsonl").read_text())["loc"] == "https://a.example/1"
    config('targets = ["site"]\n[dump]\noutput = "-"\n')
    assert run("dump").stdout.startswith("{")
    assert run("dump", "--config", "../" + NAME).stdout.startswith("{")


# --- the audit ---

POLICY = """\
[audit]
fail-on = "warning"
[audit.severity]
U04 = "notice"
[[audit.ignore]]
sitemap = "/maps/mended"
reason = "old shop"
[[audit.ignore]]
code = "D"
reason = "gone"
expires = 2020-01-01
[audit.thresholds]
F = 2
S01 = "{share}%"
"""


def test_the_audit_uses_the_policy(config: Config) -> None:
    config(POLICY.format(share=1))
    result = run("audit", BROKEN)
    text = " ".join(result.stdout.split())
    assert f"note: settings of {NAME}: U04 is a notice" in text
    assert "note: ignored 9 occurrences of all codes in sitemaps matching /maps/mended: old shop" in text
    assert "note: no longer ignored, as it expired on 2020-01-01: D: gone" in text
    assert result.exit_code == 3  # three documents could not be read; the findings are allowed


def test_one_problem_above_a_threshold_fails(config: Config) -> None:
    config(POLICY.format(share=1).replace("F = 2", "F = 1"))
    assert run("audit", BROKEN).exit_code == 1
    assert run("audit", BROKEN, "--fail-on", "never").exit_code == 3
    assert run("audit", BROKEN, "--no-config", "--select", "F10", "--fail-on", "warning").exit_code == 3


def test_a_dump_is_audited_with_the_policy(config: Config, folder: Path) -> None:
    run("dump", BROKEN, "-o", "urls.jsonl", "--report", "-")
    config(POLICY.format(share=1))
    report = json.loads(run("audit", "urls.jsonl", "--format", "json").stdout)
    assert report["policy"]["file"] == NAME
    assert report["policy"]["ignored"][0]["count"] == 8


def test_without_a_file_the_report_has_no_policy(folder: Path) -> None:
    assert json.loads(run("audit", SHOP, "--format", "json").stdout)["policy"] is None


# --- config ---

STATED = """\
targets = ["example.com", "é.example"]
per-host = 2

[sync]
dry-run = true

[audit]
as-of = 2026-11-01

[audit.severity]
F10 = "off"

[[audit.ignore]]
code = ["D01", "U"]
reason = "say \\"why\\""
expires = 2999-12-31
"""


def shown(text: str) -> str:
    """The text as `config` shows it: each setting with its place."""
    lines = [
        f"{line:44}  # {NAME}:{number}" if "=" in line else line for number, line in enumerate(text.splitlines(), 1)
    ]
    return "\n".join([f"# {NAME}", *lines, ""])


def test_config_shows_what_is_set_and_where(config: Config) -> None:
    config(STATED)
    result = run("config")
    assert (result.exit_code, result.stderr, result.stdout) == (0, "", shown(STATED))


def test_the_output_of_config_is_a_config_file(config: Config) -> None:
    config(shown(STATED))
    result = run("config")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.partition("#")[0] for line in result.stdout.splitlines()[1:]] == [
        line.partition("#")[0] for line in shown(STATED).splitlines()[1:]
    ]


def test_config_of_a_command_shows_its_defaults(config: Config) -> None:
    config("per-host = 2\n[dump]\nlimit = 3\n[audit]\nsamples = 1\n")
    lines = run("config", "dump").stdout.splitlines()
    stated = [line for line in lines if not line.startswith("#")]
    assert [line.split() for line in stated] == [
        ["[dump]"], ["limit", "=", "3", "#", f"{NAME}:3"], ["per-host", "=", "2", "#", f"{NAME}:1"],
    ]  # fmt: skip
    assert ["#", "timeout:", "30", "#", "default"] in [line.split() for line in lines]
    assert not [line for line in lines if line.startswith(("# auth", "# header", "# help", "# config"))]


def test_config_without_a_file(folder: Path) -> None:
    nothing = "# no config file: neither sitemap-reader.toml nor [tool.sitemap-reader] in pyproject.toml\n"
    assert run("config").stdout == run("config", "--check").stdout == nothing
    assert "# timeout: 30" in run("config", "dump").stdout
    assert "'schema' has no options in a config file; give dump, " in error(run("config", "schema"))


def test_check_lists_all_faults(config: Config) -> None:
    old = "[[audit.ignore]]\nreason = 'x'\nexpires = 2020-01-01\ncode='D'\n"
    config(f"limits = 1\n[dump]\nlimit = 0\nscope = 3\n{old}")
    result = run("config", "--check")
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.removeprefix(f"error: {NAME}:").split(":")[0] for line in result.stderr.splitlines()] == [
        "1", "3", "4", "7",
    ]  # fmt: skip
    assert "7: this ignore expired on 2020-01-01: remove it, or give a later date" in result.stderr
    config(STATED)
    good = run("config", "--check")
    assert (good.exit_code, good.stdout, good.stderr) == (0, f"# {NAME}: nothing is wrong\n", "")


def test_an_expired_ignore_is_a_fault_of_the_check_only(config: Config) -> None:
    config("[[audit.ignore]]\nreason = 'x'\nexpires = 2020-01-01\ncode='D'\n")
    assert run("config").exit_code == run(*DUMP).exit_code == 0
    assert run("config", "--check").exit_code == 2
