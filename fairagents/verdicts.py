"""Many verdicts as columns, and the vectorised engine that fills them batch by batch."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from fairagents.agents.scripted import Utility
from fairagents.case import Case
from fairagents.decision import Verdict
from fairagents.engine import run
from fairagents.errors import DecisionError, did_you_mean
from fairagents.evaluators.base import Batch
from fairagents.profile import exact
from fairagents.protocols.base import OneShot
from fairagents.seeds import derive, id_words, tie_keys
from fairagents.setting import Setting, regret_of, slate_ends
from fairagents.setup import Setup
from fairagents.spec import Floats, Ints
from fairagents.worth import worth, worth_of_many

BATCH = 512
"""The most decisions in memory at once in the vectorised engine."""


@dataclass(frozen=True)
class _Block:
    """The columns of some decisions in a row."""

    cases: tuple[str, ...]
    outcomes: Ints  # positions in the catalogue, shape (b, k), -1 where a slate is shorter
    values: dict[tuple[str, str], Floats]
    abstained: Ints
    undecided: dict[int, DecisionError] = field(default_factory=dict)  # by position in the block


class Verdicts(Sequence[Verdict]):
    """Many verdicts as columns: outcomes and results are arrays, one row per case.

    A case on which no decision came about has no outcome (-1) and no values (NaN); `undecided`
    holds why, and `verdicts[i]` raises it.

    Whole verdicts are not kept by the vectorised engine: `verdicts[i]` decides case i again, which
    gives the same bytes. That takes the cases, so it works for those given as a sequence.
    """

    def __init__(
        self,
        setup: Setup,
        blocks: Sequence[_Block],
        cases: Sequence[Case] | None,
        whole: Sequence[Verdict | DecisionError] | None = None,
    ) -> None:
        self.setup, self._cases, self._whole = setup, cases, whole
        self.cases: tuple[str, ...] = tuple(c for block in blocks for c in block.cases)
        keys = list(dict.fromkeys(key for block in blocks for key in block.values))
        self._values = {
            key: np.concatenate([b.values.get(key, np.full(len(b.cases), np.nan)) for b in blocks])
            for key in keys
        }
        width = max((b.outcomes.shape[1] for b in blocks), default=0)
        self.outcomes: Ints = np.full((len(self.cases), width), -1, dtype=np.int32)
        self.undecided: dict[int, str] = {}
        start = 0
        for b in blocks:
            self.undecided |= {start + i: str(error) for i, error in b.undecided.items()}
            self.outcomes[start : start + len(b.cases), : b.outcomes.shape[1]] = b.outcomes
            start += len(b.cases)
        self.abstained = np.array([a for b in blocks for a in b.abstained], dtype=np.int64)

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.cases)

    def __getitem__(self, i: int | slice) -> Verdict:  # type: ignore[override]
        """Return one whole verdict; TypeError when the cases were not given as a sequence."""
        if isinstance(i, slice):
            raise TypeError("whole verdicts are read one at a time; the columns take slices")
        if self._whole is not None:
            found = self._whole[i]
            if isinstance(found, DecisionError):
                raise found
            return found
        if self._cases is None:
            raise TypeError("the cases came from an iterator; give a list to get whole verdicts")
        return run(self.setup, self._cases[i])

    @property
    def measures(self) -> tuple[tuple[str, str], ...]:
        """The (measure, subject) pairs there are columns for."""
        return tuple(self._values)

    def values(self, measure: str, subject: str = "collective") -> Floats:
        """Return one result over all decisions, shape (len,); NaN where it is undefined.

        Raises:
            KeyError: nothing of that name was measured.
        """
        try:
            return self._values[measure, subject]
        except KeyError:
            known = [f"{m} of {s}" for m, s in self._values]
            wanted = f"{measure} of {subject}"
            raise KeyError(f"no column {wanted!r}; {did_you_mean(wanted, known)}") from None

    def outcome(self, i: int) -> tuple[str, ...]:
        """Return the slate of one decision."""
        return tuple(self.setup.catalogue.ids[j] for j in self.outcomes[i] if j >= 0)


def gather(
    setup: Setup, cases: Iterable[Case], decide: Callable[[Case], Verdict], workers: int
) -> Verdicts:
    """Decide each case by `decide`, at most `workers` at once, in the order of the cases."""
    listed = list(cases)
    with ThreadPoolExecutor(max(1, workers)) as pool:
        whole = list(pool.map(functools.partial(_decided, decide), listed))
    return Verdicts(setup, [_packed(setup, listed, whole)] if whole else [], listed, whole)


def _decided(decide: Callable[[Case], Verdict], case: Case) -> Verdict | DecisionError:
    """Return a verdict, or why there is none: one case without a decision loses no other."""
    try:
        return decide(case)
    except DecisionError as error:
        return error


def decide_scripted(setup: Setup, cases: Iterable[Case]) -> Verdicts:
    """Decide many cases with scripted agents, vectorised where the set-up allows.

    What a decision takes in memory on its way is held for `BATCH` of them at once; what stays is
    one row of numbers each.
    """
    kept = cases if isinstance(cases, Sequence) else None
    return Verdicts(setup, list(blocks(setup, cases)), kept)


def blocks(setup: Setup, cases: Iterable[Case]) -> Iterator[_Block]:
    """Yield the columns of up to `BATCH` decisions at a time."""
    fast = _vectorises(setup)
    iterator = iter(cases)
    while chunk := list(itertools.islice(iterator, BATCH)):
        block = _vectorised(setup, chunk) if fast else None
        decide = functools.partial(run, setup)
        yield block or _packed(setup, chunk, [_decided(decide, case) for case in chunk])


def _packed(
    setup: Setup, cases: Sequence[Case], found: Sequence[Verdict | DecisionError]
) -> _Block:
    index = setup.catalogue.index
    verdicts = {i: v for i, v in enumerate(found) if isinstance(v, Verdict)}
    width = max((len(v.decision.outcome.ids) for v in verdicts.values()), default=0)
    outcomes = np.full((len(found), width), -1, dtype=np.int64)
    abstained = np.zeros(len(found), dtype=np.int64)
    values: dict[tuple[str, str], Floats] = {}
    for i, verdict in verdicts.items():
        abstained[i] = sum(v.status == "abstained" for v in verdict.votes)
        ids = verdict.decision.outcome.ids
        outcomes[i, : len(ids)] = [index[one] for one in ids]
        for r in verdict.results:
            column = values.setdefault((r.measure, r.subject), np.full(len(found), np.nan))
            column[i] = np.nan if r.value is None else r.value
    undecided = {i: v for i, v in enumerate(found) if isinstance(v, DecisionError)}
    return _Block(tuple(case.id for case in cases), outcomes, values, abstained, undecided)


def _vectorises(setup: Setup) -> bool:
    """Tell whether every agent says its worth once and the rule works on arrays."""
    policies = [agent.policy for agent in setup.agents]
    return (
        type(setup.protocol) is OneShot
        and all(type(p) is Utility and p.form == "ratings" for p in policies)
        and setup.rule.tie_break == "seeded"
        and (weights := _weights(setup)) is not None
        and setup.rule.batch(np.zeros((1, len(policies), 1)), weights) is not None
    )


def _weights(setup: Setup) -> Ints | None:
    """Return the voices as whole numbers, shape (n,); None where sums over them may overflow."""
    voices = [exact(agent.stakeholder.voice) for agent in setup.agents]
    scale = math.lcm(*(v.denominator for v in voices))
    whole = [int(v * scale) for v in voices]
    small = sum(whole) * 4 * setup.cut.whole < 2**62
    return np.array(whole, dtype=np.int64) if small else None


def _vectorised(setup: Setup, cases: Sequence[Case]) -> _Block | None:
    """Return the columns of a batch, or None where its cases do not fit into one array."""
    stakeholders = [agent.stakeholder for agent in setup.agents]
    settings = [Setting(case, setup.catalogue, stakeholders) for case in cases]
    size, m = settings[0].size, len(settings[0].pool)
    if (
        size > m
        or m > setup.cut.whole
        or any(
            case.task.limits or s.size != size or len(s.pool) != m
            for case, s in zip(cases, settings, strict=True)
        )
    ):
        return None
    found = _worths(settings)
    if found is None:
        return None
    items, linear = found
    said: Floats = np.empty_like(items)
    for i, agent in enumerate(setup.agents):
        assert isinstance(agent.policy, Utility)  # _vectorises asked before
        np.round(items[:, i], agent.policy.digits, out=said[:, i])
    chosen = _chosen(setup, cases, said, settings, size)
    worths = np.take_along_axis(linear, chosen[:, None, :], axis=2).sum(axis=2)
    regret = regret_of(worths, *slate_ends(linear, size))
    batch = Batch(setup.stakeholders, worths, regret, items, said, size)
    values: dict[tuple[str, str], Floats] = {}
    for evaluator in setup.evaluators:
        columns = evaluator.batch(batch)
        if columns is None:
            return None
        values.update({key: np.round(column, 12) + 0.0 for key, column in columns.items()})
    rows = np.array([s.pool.rows if s.pool.rows is not None else np.arange(m) for s in settings])
    outcomes = np.take_along_axis(rows, chosen, axis=1)
    ids = tuple(case.id for case in cases)
    return _Block(ids, outcomes, values, np.zeros(len(cases), dtype=np.int64))


def _worths(settings: Sequence[Setting]) -> tuple[Floats, Floats] | None:
    """Return each one's `items` and `mean`, shape (b, n, m); None if not additive."""
    pools, size = [s.pool for s in settings], settings[0].size
    stakeholders = settings[0].stakeholders
    items = np.empty((len(pools), len(stakeholders), len(pools[0])))
    linear = np.empty_like(items)
    read: dict[int, Floats] = {}
    for i, one in enumerate(stakeholders):
        arrays = worth_of_many(one, pools, size, read)
        if arrays is None:
            worths = [worth(one, pool, size) for pool in pools]
            if not all(w.additive for w in worths):
                return None
            arrays = np.array([w.items for w in worths]), np.array([w.mean for w in worths])
        items[:, i], linear[:, i] = arrays
    return items, linear


def _chosen(
    setup: Setup, cases: Sequence[Case], said: Floats, settings: Sequence[Setting], size: int
) -> Ints:
    """Return the slates as positions in the pools, shape (b, size)."""
    weights = _weights(setup)
    assert weights is not None  # _vectorises asked before
    totals = setup.rule.batch(said, weights)
    assert totals is not None
    words = setup.catalogue.once("words", lambda: id_words(setup.catalogue.ids))
    rows = [s.pool.rows for s in settings]
    own = np.array([words if r is None else words[r] for r in rows])
    seeds = np.array([derive(setup.seed, case.id, "ties", 1) for case in cases], dtype=np.uint64)
    keys = tie_keys(seeds[:, None], own)
    # No alternative below the k-th total can be chosen; the keys order the rest among equals.
    cut = np.partition(totals, -size, axis=1)[:, -size, None]
    slates = np.empty((len(cases), size), dtype=np.int64)
    for i, (row, own_keys) in enumerate(zip(totals, keys, strict=True)):
        near = np.flatnonzero(row >= cut[i])
        slates[i] = near[np.lexsort((own_keys[near], -row[near]))[:size]]
    return slates
