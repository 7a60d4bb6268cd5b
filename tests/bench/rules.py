"""Speed of the rules against other libraries in the same run: `python -m tests.bench.rules`.

Set OMP_NUM_THREADS=1 and NUMBA_NUM_THREADS=1: it is about one core. CPU seconds of one election,
the least of a few runs, building the profile excluded. The peers are in the dependency group
`peers`; one that is not installed, fails or takes too long shows as "-". Ratios within a row say
more than times: machines differ.
"""

from __future__ import annotations

import importlib
import itertools
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fairagents.profile import Profile
from fairagents.rules.base import RULES
from fairagents.task import Slate

PATIENCE = 60
"""Seconds after which a peer is given up."""

Job = Callable[[], object]


class TooSlowError(Exception):
    """A peer took longer than `PATIENCE`."""


@contextmanager
def patience(seconds: int) -> Iterator[None]:
    """Raise in the block after so many seconds."""

    def strike(signum: int, frame: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, strike)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def spent(job: Job, runs: int = 5) -> float | None:
    """CPU seconds: the least of some runs after one to warm up; None if it fails or is too slow."""
    try:
        with patience(PATIENCE):
            start = time.process_time()
            job()
            first = time.process_time() - start
            found = []
            for _ in range(1 if first > 5 else runs):
                start = time.process_time()
                job()
                found.append(time.process_time() - start)
    except (TooSlowError, Exception) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n"[:200])
        return None
    return min(found)


def orders(n: int, m: int, seed: int = 0) -> Any:
    """Strict complete rankings, shape (n, m): the alternatives best first."""
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(m) for _ in range(n)])


def ours(name: str, n: int, m: int, k: int | None = None, **fields: Any) -> Job:
    """Our rule on random ballots; by default it puts everything in order."""
    ids = [f"a{i}" for i in range(m)]
    rule = RULES.build({name: fields})
    if rule.needs == "approvals":
        rng = np.random.default_rng(0)
        sets = [{ids[i] for i in rng.permutation(m)[: m // 10]} for _ in range(n)]
        profile = Profile.from_approvals(sets, ids)
    else:
        profile = Profile.from_rankings([[ids[i] for i in row] for row in orders(n, m)], ids)
    task = None if k is None else Slate(size=k)
    return lambda: rule(profile, task)


def peer(library: str, name: str, n: int, m: int, k: int | None) -> Job | None:
    """A peer's rule on the same ballots, None where it has none."""
    try:
        build = {"pref-voting": _pref, "VoteKit": _votekit, "abcvoting": _abc, "SCK": _sck}[library]
        return build(name, n, m, k)
    except (ImportError, KeyError, AttributeError) as error:
        sys.stderr.write(f"{library}: {type(error).__name__}: {error}\n")
        return None


def _pref(name: str, n: int, m: int, k: int | None) -> Job:
    profiles = importlib.import_module("pref_voting.profiles")
    where = {
        "borda": ("scoring_methods", "borda"),
        "copeland": ("c1_methods", "copeland"),
        "minimax": ("margin_based_methods", "minimax"),
        "schulze": ("margin_based_methods", "beat_path"),
        "ranked_pairs": ("margin_based_methods", "ranked_pairs_tb"),
        "split_cycle": ("margin_based_methods", "split_cycle"),
        "irv": ("iterative_methods", "instant_runoff"),
        "maximal_lottery": ("probabilistic_methods", "maximal_lottery"),
    }
    module, method = where[name]
    found = getattr(importlib.import_module(f"pref_voting.{module}"), method)
    rows = [tuple(int(i) for i in row) for row in orders(n, m)]
    # A profile keeps margins once computed: each run gets one of its own.
    stock = [profiles.Profile(rows) for _ in range(8)]
    return lambda: found(stock.pop() if stock else profiles.Profile(rows))


def _votekit(name: str, n: int, m: int, k: int | None) -> Job:
    votekit = importlib.import_module("votekit")
    elections = importlib.import_module("votekit.elections")
    cls = {"borda": "Borda", "schulze": "Schulze", "ranked_pairs": "RankedPairs", "stv": "FastSTV"}
    ballots = [
        votekit.RankBallot(ranking=[frozenset({f"a{i}"}) for i in row]) for row in orders(n, m)
    ]
    profile = votekit.RankProfile(ballots=ballots)
    election = getattr(elections, cls[name])
    count = {"m": k or 1} if name in ("borda", "stv") else {}
    return lambda: election(profile, **count)


def _sck(name: str, n: int, m: int, k: int | None) -> Job:
    profiles = importlib.import_module("socialchoicekit.profile_utils")
    ranks = np.argsort(orders(n, m), axis=1) + 1
    profile = profiles.StrictCompleteProfile.of(ranks)
    if name == "borda":
        rule = importlib.import_module("socialchoicekit.deterministic_scoring").Borda()
        return lambda: rule.swf(profile)
    if name == "copeland":
        rule = importlib.import_module("socialchoicekit.deterministic_tournament").Copeland()
        return lambda: rule.swf(profile)
    if name == "stv":
        module = importlib.import_module("socialchoicekit.deterministic_multiround")
        rule = module.SingleTransferableVote(k or 1, tie_breaker="random")
        return lambda: rule.scf(profile)
    raise KeyError(name)


def _abc(name: str, n: int, m: int, k: int | None) -> Job:
    preferences = importlib.import_module("abcvoting.preferences")
    rules = importlib.import_module("abcvoting.abcrules")
    where = {
        "pav": "pav", "seq_pav": "seqpav", "seq_phragmen": "seqphragmen", "mes": "equal-shares",
        "chamberlin_courant": "cc",
    }  # fmt: skip
    rng = np.random.default_rng(0)
    profile = preferences.Profile(m)
    profile.add_voters([rng.permutation(m)[: m // 10].tolist() for _ in range(n)])
    algorithm = {"algorithm": "mip-cbc"} if name in ("pav", "chamberlin_courant") else {}
    return lambda: rules.compute(where[name], profile, committeesize=k, resolute=True, **algorithm)


PEERS = ("pref-voting", "VoteKit", "SCK", "abcvoting")
JOBS: list[tuple[str, int, int, int | None]] = [
    *((name, 10, 200, None) for name in
      ("borda", "copeland", "minimax", "schulze", "ranked_pairs", "split_cycle", "irv",
       "maximal_lottery")),
    *((name, 10, 1000, None) for name in ("borda", "copeland", "minimax", "schulze")),
    ("stv", 10, 200, 10),
    *((name, 10, 200, 10) for name in ("seq_pav", "seq_phragmen", "mes", "pav",
                                       "chamberlin_courant")),
]  # fmt: skip


def table(jobs: list[tuple[str, int, int, int | None]]) -> Iterator[str]:
    """Yield a Markdown row per job, with our speed as a multiple of the fastest peer's."""
    yield f"| rule, voters x alternatives | ours | {' | '.join(PEERS)} | times faster |"
    yield f"|---|---|{'---|' * len(PEERS)}---|"
    for name, n, m, k in jobs:
        mine = spent(ours(name, n, m, k))
        others = [spent(job) if (job := peer(p, name, n, m, k)) else None for p in PEERS]
        known = [one for one in others if one is not None]
        ratio = f"{min(known) / mine:.3g}" if known and mine else "-"
        cells = " | ".join(_seconds(one) for one in others)
        what = f"`{name}` {n} x {m}" + (f", {k} seats" if k else "")
        yield f"| {what} | {_seconds(mine)} | {cells} | {ratio} |"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value * 1e3:.3g} ms"


# -- goals without a peer -------------------------------------------------------------------------


def batch(name: str, b: int = 2000, n: int = 5, m: int = 20) -> float:
    """Microseconds per election of a batch on arrays."""
    rng = np.random.default_rng(0)
    said, weights = rng.random((b, n, m)), rng.integers(1, 4, n)
    rule = RULES.build(name)
    found = spent(lambda: rule.batch(said, weights))
    return (found or float("nan")) / b * 1e6


def long_lists() -> Job:
    """Twenty top-50 lists of 20,000 items."""
    rng = np.random.default_rng(0)
    ids = [f"a{i}" for i in range(20_000)]
    head = rng.permutation(20_000)[:400]
    ballots = [[ids[i] for i in rng.permutation(head)[:50]] for _ in range(20)]
    profile = Profile.from_rankings(ballots, ids)
    rule = RULES.build("schulze")
    return lambda: rule(profile, Slate(size=10))


def goals() -> Iterator[str]:
    """Yield a Markdown row per goal."""
    yield "| what | found | goal |"
    yield "|---|---|---|"
    for name, most in (("borda", 5), ("copeland", 5), ("minimax", 5), ("schulze", 40)):
        yield f"| `{name}`, batch, 5 x 20 | {batch(name):.3g} us | {most} us |"
    for name, n, m, goal in (
        ("kemeny", 10, 40, 0.5),
        ("squared_kemeny", 10, 20, 1.0),
        ("maximal_lottery", 10, 2000, 0.3),
    ):
        found = spent(ours(name, n, m), runs=2)
        yield f"| `{name}` {n} x {m} | {_seconds(found)} | {goal:g} s |"
    yield f"| `schulze`, 20 top-50 lists of 20,000 | {_seconds(spent(long_lists()))} | 1 s |"


def main() -> None:
    """Print both tables."""
    for line in itertools.chain(table(JOBS), [""], goals()):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
