"""Whether the time of a regular expression grows faster than its text: strings derived from the pattern, measured.

In: a compiled pattern and the methods by which it is used. Out: a string that takes too long, or None. No library does
this for Python's syntax: recheck knows JavaScript's alone, regexploit (of 2021) no possessive repeats, and it finds one
of the examples in test_patterns.py.
"""

import math
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, islice, product
from typing import Any

import attrs

# Of a linear pattern SHORT characters take some 0.05 ms; of a quadratic one, at 1 ns a pair of positions, 1 ms or more.
SHORT = 1_500
FLOOR_SECONDS = 0.0005
# Four times the characters take 4 times as long, or if it is quadratic 16 times.
MOST_GROWTH = 8
MEASURED = 3  # of thousands of texts some have a high ratio by chance, and none has it each time
CLEARLY_LINEAR, MOST_ROUNDS = 6, 5  # a ratio below ends a measurement, else so many rounds decide together
MOST_SECONDS = 0.05  # for SHORT: 30 s a MB, or exponential
MANY = 20  # a repeat with a higher maximum is pumped

# The limits of what is tried for one pattern: most have three heads and ten pumps.
MOST_WORDS, MOST_HEADS, MOST_PUMPS = 4, 12, 30

_parser: Any = re._parser  # type: ignore[attr-defined]
_compiler: Any = re._compiler  # type: ignore[attr-defined]
_REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}
_CHARACTERS = {"LITERAL", "NOT_LITERAL", "IN", "ANY"}
_UNIVERSE = "a0A ~\n!" + "".join(map(chr, range(256))) + "\u07ff\u2028\ufeff\udc80漢"


@attrs.frozen
class Attempt:
    """A text: its head, a part that is repeated, its tail."""

    head: str
    pump: str
    tail: str

    def text(self, size: int) -> str:
        """`size` characters; more of a long pump, which has fewer places to begin."""
        return self.head + self.pump * int(size / len(self.pump) ** 0.5) + self.tail


@attrs.frozen
class Growth:
    """A text and a method with which a pattern takes too long; `ratio` of the times of four texts and one."""

    method: str
    attempt: Attempt
    seconds: float
    ratio: float


def growth(pattern: re.Pattern[Any], methods: Iterable[str], size: int = SHORT) -> Growth | None:
    """The first text found whose time grows faster than its length; None where there is none."""
    for attempt, method in product(Attempts(pattern).all(), tuple(methods)):
        call = partial(seconds, pattern, method)
        short = call(attempt.text(size), MOST_SECONDS)
        if short >= MOST_SECONDS:
            return Growth(method, attempt, MOST_SECONDS, math.inf)
        if short < FLOOR_SECONDS:
            continue
        few = size // 2 if short > 10 * FLOOR_SECONDS else size
        ratio = min(_ratio(call, attempt, few) for _ in range(MEASURED))
        if ratio >= MOST_GROWTH:
            return Growth(method, attempt, short, ratio)
    return None


def _ratio(call: Callable[..., float], attempt: Attempt, size: int) -> float:
    """The time of a text of four sizes to that of one; 0 where a text is too fast to be measured.

    Processes beside this one take caches and cores from it for a while: from four short texts and a long one alike.
    """
    texts, long_text = [attempt.text(size) for _ in range(4)], attempt.text(4 * size)
    short = long = 0.0
    for rounds in range(1, MOST_ROUNDS + 1):
        short += sum(map(call, texts)) / 4
        if short / rounds < FLOOR_SECONDS / 2:
            return 0.0
        long += call(long_text, 3 * MOST_GROWTH * short / rounds)
        if long < CLEARLY_LINEAR * short:
            break
    return long / short


def seconds(pattern: re.Pattern[Any], method: str, text: str, limit: float = MOST_SECONDS) -> float:
    """The processor time of one call, which ends at the limit: infinite.

    The clock of the process counts in ticks of 4 ms while a timer of the process runs; that of the thread does not.
    """
    subject = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
    started = time.thread_time()
    with suppress(TimeoutError), _time_limit(limit):
        if method in {"match", "fullmatch", "search"}:
            getattr(pattern, method)(subject)
        else:  # each of the others finds all matches
            pattern.findall(subject)
        return time.thread_time() - started
    return math.inf


@contextmanager
def _time_limit(limit: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)  # `re` checks for signals every 4,096 steps
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Attempts:
    """The texts to try with a pattern.

    Heads lead to a repeat, as `<a ` to that of `<a [^>]*>`. A pump is one character of each kind that the pattern
    distinguishes, what a repeat repeats, or a head.
    """

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._is_bytes = isinstance(pattern.pattern, bytes)
        self._tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
        self._flags = pattern.flags
        self._groups: dict[int, Any] = {}
        self._sets: dict[str, Any] = {}
        sets = [*dict.fromkeys(self._set_of(node) for node in _characters(self._tree))]
        literals = "".join(chr(arg) for op, arg in _leaves(self._tree) if str(op) == "LITERAL")
        kinds: dict[tuple[bool, ...], str] = {}
        for char in dict.fromkeys(_UNIVERSE + literals):
            if not self._is_bytes or char < "\u0100":
                kinds.setdefault(tuple(each(char) is not None for each in sets), char)
        self._kinds = list(kinds.values())
        self._other = kinds.get((False,) * len(sets), "\0")

    def all(self) -> Iterator[Attempt]:
        heads: dict[str, None] = {"": None}
        pumps: dict[str, None] = {}
        for before, body in self._repeats(self._tree, [""]):
            heads.update(dict.fromkeys(before))
            pumps.update(dict.fromkeys(body))
        pairs = map("".join, product(self._kinds, repeat=2)) if len(self._kinds) <= 5 else ()
        pumps = dict.fromkeys([*pumps, *heads, *self._kinds, *pairs])
        for head in islice(heads, MOST_HEADS):
            for pump in islice(filter(None, pumps), MOST_PUMPS):
                for tail in dict.fromkeys(("", self._other)):
                    yield Attempt(head, pump, tail)

    def _set_of(self, node: Any) -> Any:
        """Whether a character matches this node, as a function; the same one for equal nodes."""
        key = repr(node)
        if key not in self._sets:
            compiled = _compiler.compile(_parser.SubPattern(self._tree.state, [node]), self._flags)
            self._sets[key] = lambda char: compiled.match(char.encode("latin-1") if self._is_bytes else char)
        return self._sets[key]

    def _repeats(self, items: Any, heads: list[str]) -> Iterator[tuple[list[str], list[str]]]:
        """For each repeat: the texts that lead to it, and those that it repeats."""
        for op, arg in items:
            if str(op) in _REPEATS and (arg[1] is _parser.MAXREPEAT or arg[1] > MANY):
                yield heads, self._words(arg[2])
            for part in _parts(op, arg):
                yield from self._repeats(part, heads)
            heads = _joined(heads, self._words([(op, arg)]))

    def _words(self, items: Any) -> list[str]:
        """Some texts that match, without lookarounds: each repeat at its minimum and once, each branch."""
        words = [""]
        for op, arg in items:
            name = str(op)
            if name in _CHARACTERS:
                fits = self._set_of((op, arg))
                own = list(islice(filter(fits, self._kinds), 3))
            elif name in _REPEATS:
                own = [word * count for count in sorted({arg[0], max(arg[0], 1)}) for word in self._words(arg[2])]
            elif name == "BRANCH":
                own = [word for branch in arg[1] for word in self._words(branch)[:2]]
            elif name == "SUBPATTERN":
                own = self._groups[arg[0]] = self._words(arg[-1])
            elif name == "ATOMIC_GROUP":
                own = self._words(arg)
            elif name == "GROUPREF":
                own = self._groups.get(arg, [""])[:1]
            else:
                own = [""]
            words = _joined(words, own)
        return words


def _joined(heads: list[str], tails: list[str]) -> list[str]:
    """Each head with each tail, up to the limit; first pairs in which all of both occur."""
    tails = tails or [""]
    pairs = (heads[n % len(heads)] + tails[n % len(tails)] for n in range(max(len(heads), len(tails))))
    return list(dict.fromkeys(islice(chain(pairs, map("".join, product(heads, tails))), MOST_WORDS)))


def _parts(op: Any, arg: Any) -> list[Any]:
    """The patterns within a node."""
    match str(op):
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return [arg[2]]
        case "SUBPATTERN":
            return [arg[-1]]
        case "BRANCH":
            return list(arg[1])
        case "ASSERT" | "ASSERT_NOT":
            return [arg[1]]
        case "ATOMIC_GROUP":
            return [arg]
        case "GROUPREF_EXISTS":
            return [part for part in arg[1:] if part is not None]
    return []


def _leaves(items: Any) -> Iterator[tuple[Any, Any]]:
    for op, arg in items:
        yield op, arg
        if str(op) == "IN":
            yield from arg
        for part in _parts(op, arg):
            yield from _leaves(part)


def _characters(items: Any) -> Iterator[tuple[Any, Any]]:
    return (leaf for leaf in _leaves(items) if str(leaf[0]) in _CHARACTERS)
