"""Inputs found by fuzzing pass, and a short run of each target from its seeds finds nothing. Needs no atheris."""

import tomllib
from pathlib import Path
from random import Random

import pytest
from broken import Broken
from child import fault_of, minimised, signature
from kit import Site, index, objects, robots, urlset
from kit import run as run_command
from mutate import mutate
from random_damage import TARGETS as MADE
from random_damage import Made, document
from run import NAMES
from targets import FOUND, HERE, TARGETS, Target
from tiers import examples, is_full

KNOWN: dict[str, dict[str, str]] = tomllib.loads((HERE / "known_wrong.toml").read_text("utf-8"))
FILES = sorted(path for path in FOUND.glob("*/*") if path.is_file())
EXECUTIONS = examples(80)  # of each target
SHORT = ("decode", "rules", "dates", "urls")  # whose inputs take no time: four times as many
DOCUMENTS = 200  # of each kind that is made; .ci/run has more
CHECKS = {**TARGETS, **{name: Made(check) for name, (_, check) in MADE.items()}}


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_found_inputs_pass(path: Path, request: pytest.FixtureRequest) -> None:
    name = path.parent.name
    fault = fault_of(CHECKS[name], path.read_bytes(), thorough=is_full())
    if fault in KNOWN:
        pytest.xfail(KNOWN[fault]["why"])
    assert fault is None


@pytest.mark.smoke(*SHORT)
@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_short_run_finds_nothing_new(name: str) -> None:
    target = TARGETS[name]
    seeds = list(target.seeds)
    assert seeds
    for number in range(4 * EXECUTIONS if name in SHORT else EXECUTIONS):
        rng = Random(number)  # noqa: S311
        body = mutate(rng.choice(seeds), target.tokens, rng, target.max_bytes)
        fault = fault_of(target, body, thorough=False)
        assert fault is None or fault in KNOWN, body


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_short_run_of_random_damage_finds_nothing(name: str) -> None:
    for number in range(DOCUMENTS):
        body = document(name, 1, number)
        assert fault_of(CHECKS[name], body, thorough=False) is None, body


@pytest.mark.slow
def test_damaged_site_takes_nothing_from_another_in_the_same_dump(tmp_path: Path) -> None:
    damaged, whole = "https://damaged.example", "https://whole.example"
    made = {f"{number}.xml": document([*MADE][number % len(MADE)], 1, number) for number in range(examples(500, 40))}
    listed = index(*(f"{damaged}/{name}" for name in made))
    Site({"robots.txt": robots(f"{damaged}/index.xml"), "index.xml": listed, **made}, damaged).write(tmp_path / "1")
    pages = {f"{whole}/{number}" for number in range(5_000)}
    Site({"robots.txt": robots(f"{whole}/s.xml"), "s.xml": urlset(*pages)}, whole).write(tmp_path / "2")
    for sites in ("12", "21"):
        result = run_command("dump", *(tmp_path / name for name in sites))
        assert result.exit_code in (0, 3), result.stderr
        assert pages <= {line["loc"] for line in objects(result.stdout)}


@pytest.mark.slow
@pytest.mark.parametrize("fault", KNOWN)
def test_known_faults_still_fail(fault: str) -> None:
    """Otherwise remove their lines from known_wrong.toml."""
    path = FOUND / KNOWN[fault]["file"]
    assert fault_of(TARGETS[path.parent.name], path.read_bytes(), thorough=True) == fault


def test_run_knows_all_targets() -> None:
    assert tuple(TARGETS) == NAMES


def test_faults_are_distinguished_by_rule_or_origin() -> None:
    assert signature(Broken("a rule", 1)) == "a rule"
    assert signature(KeyError("x")) == "KeyError in outside"


def test_finding_is_made_as_small_as_it_can_be() -> None:
    def check(body: bytes, *, thorough: bool = False) -> None:
        if b"<" in body and b">" in body:
            raise Broken("both")

    assert minimised(Target(check), b"some <b>text</b> with tags", "both") in (b"<>", b"><")


def test_mutations_are_the_same_for_the_same_seed_and_stay_short() -> None:
    for number in range(200):
        one, other = (mutate(b"<a>b</a>", TARGETS["markup"].tokens, Random(number), 50) for _ in "12")  # noqa: S311
        assert one == other
        assert len(one) <= 50
