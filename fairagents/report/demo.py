"""What the demo shows of one decision, as data; terminal, JSON and CSV are views of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairagents.agents.scripted import Utility
from fairagents.ballot import Abstention, Vote
from fairagents.case import Case
from fairagents.conflicts import conflict
from fairagents.council import Council
from fairagents.decision import Verdict
from fairagents.engine import run
from fairagents.evaluators.collective import gini
from fairagents.explain import Outside, Reason, reasons, why
from fairagents.record import Record
from fairagents.seeds import derive
from fairagents.setting import Setting
from fairagents.spec import Floats
from fairagents.usecase import UseCase

RANDOM_SLATES = 200
"""How many random feasible slates the baseline averages."""

SIDE_BY_SIDE = ("borda", "copeland", "utilitarian", "nash", "leximin")
"""The rules that a demo puts the same ballots through."""

SMALL = 40
"""Up to so many candidates the best slate for the worst-off is found exactly."""


class Line(Record):
    """One alternative of the slate.

    Attributes:
        facts: quantities by key, in their own units; None where unknown.
        total: the rule's total, None where it has none.
    """

    position: int
    id: str
    facts: dict[str, float | None]
    total: float | None
    reason: Reason


class Standing(Record):
    """How one stakeholder comes off with the slate that was decided.

    Attributes:
        voice: its weight in the decision, 0 for one without a say.
        worth: what the slate is worth to it; `ceiling` and `lowest` are the most and the least
            that any feasible slate is worth to it.
        attained: 1 - range-normalised regret, in [0, 1]; None where nothing is at stake.
        random: what a random feasible slate attains on average.
        vote: the status of its vote, with reason codes.
    """

    id: str
    name: str
    voice: float
    worth: float
    ceiling: float
    lowest: float
    attained: float | None
    random: float | None
    vote: str


class SlateLine(Record):
    """What one slate gives everybody: a rule's, or a baseline's.

    Attributes:
        label: the rule, or the baseline in words.
        attained: by stakeholder, also those without a say.
        shared: how many places it shares with the slate that was decided; None for no one slate.
        enters: its places that were not decided.
    """

    label: str
    attained: dict[str, float | None]
    worst_off: float | None
    who: str
    gini: float | None
    shared: int | None = None
    enters: tuple[str, ...] = ()


class Variant(Record):
    """The same request under other circumstances, decided by the scripted twins."""

    label: str
    worst_off: float | None
    who: str
    facts: dict[str, float | None]
    chosen: bool


class Weighting(Record):
    """What changed weights make of the same ballots."""

    weights: dict[str, float]
    enters: tuple[str, ...]
    leaves: tuple[str, ...]
    change: dict[str, float]


class Shown(Record):
    """Everything the demo shows of one decision.

    Attributes:
        floor: the most that the search found any slate to attain for its worst-off stakeholder.
        bound: what no slate can exceed (proved by a linear relaxation).
        agreement: whether the case holds a conflict, as `Conflict.status`.
        baselines: the slate found best for the worst-off, and the mean of 200 random slates.
    """

    usecase: str
    case: Case
    rule: str
    seed: int
    model: str
    lines: tuple[Line, ...]
    standings: tuple[Standing, ...]
    worst_off: float | None
    worst_off_who: str
    floor: float
    bound: float
    agreement: str
    rules: tuple[SlateLine, ...]
    baselines: tuple[SlateLine, ...]
    variants: tuple[Variant, ...]
    weighting: Weighting | None
    why: Reason | Outside | None
    ties: tuple[tuple[str, ...], ...]
    agenda: int
    candidates: int
    warnings: tuple[str, ...]
    units: dict[str, str]
    labels: dict[str, str]
    digits: dict[str, int]


def show(
    usecase: UseCase,
    council: Council,
    verdict: Verdict,
    *,
    base: Council | None = None,
    why_id: str = "",
    model: str = "",
) -> Shown:
    """Put together what the demo shows.

    Args:
        usecase: with everybody who has a stake, also those without a say.
        council: the council that decided.
        verdict: its verdict.
        base: the council with the declared weights, where `council` has others.
        why_id: an alternative to explain besides those in the slate.
        model: the model that voted; "" for scripted agents.
    """
    setting = usecase.setting(verdict.case)
    yard = _Yard(setting, verdict)
    candidates = int(setting.feasible.allowed.sum())
    found = conflict(setting, mode="milp" if candidates <= SMALL else "local")
    random = yard.random()
    mine = yard.line("", verdict.decision.outcome.ids)
    rules = council.compare(verdict, SIDE_BY_SIDE)
    return Shown(
        usecase=usecase.name,
        case=verdict.case,
        rule=verdict.decision.rule,
        seed=verdict.seed,
        model=model,
        lines=_lines(usecase, council, setting, verdict),
        standings=_standings(usecase, council, setting, verdict, random.attained),
        worst_off=mine.worst_off,
        worst_off_who=mine.who,
        floor=found.floor,
        bound=found.bound,
        agreement=found.status,
        rules=tuple(yard.line(v.decision.rule, v.decision.outcome.ids) for v in rules),
        baselines=(yard.line("best for worst-off", found.slate), random),
        variants=_variants(usecase, council, verdict),
        weighting=_weighting(base, council, yard, verdict) if base else None,
        why=why(council.setup, verdict, why_id) if why_id else None,
        ties=verdict.decision.ties,
        agenda=len(verdict.agenda.ids),
        candidates=candidates,
        warnings=verdict.warnings,
        units={f.key: f.indicator.unit_in(setting.pool) for f in usecase.facts},
        labels={f.key: f.label for f in usecase.facts},
        digits={f.key: f.digits for f in usecase.facts},
    )


class _Yard:
    """Measures slates of one case for everybody who has a stake, also those without a say."""

    def __init__(self, setting: Setting, verdict: Verdict) -> None:
        self.setting = setting
        self.ids = [s.id for s in setting.stakeholders]
        self._decided = verdict.decision.outcome.ids
        self._seed = derive(verdict.seed, verdict.case.id, "random slates")

    def scores(self, slates: Sequence[Sequence[str]]) -> Floats:
        """Return attainments, shape (slates, stakeholders); NaN where nothing is at stake."""
        index = self.setting.pool.index
        chosen = np.array([[index[one] for one in slate] for slate in slates])
        worths = np.array([w.linear.of(chosen) for w in self.setting.worths])
        return np.array([1 - self.setting.regret(column) for column in worths.T])

    def attained(self, slate: Sequence[str]) -> dict[str, float | None]:
        """Return what each stakeholder attains with a slate."""
        return dict(zip(self.ids, map(_plain, self.scores([slate])[0].tolist()), strict=True))

    def line(self, label: str, slate: Sequence[str]) -> SlateLine:
        """Return one slate's line."""
        attained = self.attained(slate)
        known = {who: value for who, value in attained.items() if value is not None}
        worst = min(known.values(), default=None)
        return SlateLine(
            label=label,
            attained=attained,
            worst_off=worst,
            who=", ".join(who for who, value in known.items() if value == worst),
            gini=gini(list(known.values())).value,
            shared=len(set(slate) & set(self._decided)),
            enters=tuple(one for one in slate if one not in self._decided),
        )

    def random(self) -> SlateLine:
        """Return the means over random feasible slates."""
        rng = np.random.default_rng(self._seed)
        drawn = [self.setting.feasible.random(rng).ids for _ in range(RANDOM_SLATES)]
        scores = self.scores(drawn)
        means = map(_plain, scores.mean(axis=0).tolist())
        staked = scores[:, ~np.isnan(scores).any(axis=0)]
        ginis = [gini(row).value for row in staked] if staked.size else []
        known = [g for g in ginis if g is not None]
        return SlateLine(
            label="random, mean",
            attained=dict(zip(self.ids, means, strict=True)),
            worst_off=_plain(float(staked.min(axis=1).mean())) if staked.size else None,
            who="",
            gini=_plain(float(np.mean(known))) if known else None,
        )


def _facts(
    usecase: UseCase, setting: Setting, rows: Sequence[int]
) -> list[dict[str, float | None]]:
    columns = {f.key: setting.pool.values(f.indicator)[list(rows)].tolist() for f in usecase.facts}
    return [
        {key: None if np.isnan(c[i]) else round(c[i], 3) for key, c in columns.items()}
        for i in range(len(rows))
    ]


def _lines(
    usecase: UseCase, council: Council, setting: Setting, verdict: Verdict
) -> tuple[Line, ...]:
    ids = verdict.decision.outcome.ids
    totals = dict(verdict.decision.totals)
    facts = _facts(usecase, setting, [setting.pool.index[one] for one in ids])
    return tuple(
        Line(position=i, id=one, facts=fact, total=totals.get(one), reason=reason)
        for i, (one, fact, reason) in enumerate(
            zip(ids, facts, reasons(council.setup, verdict), strict=True), 1
        )
    )


def _standings(
    usecase: UseCase,
    council: Council,
    setting: Setting,
    verdict: Verdict,
    random: Mapping[str, float | None],
) -> tuple[Standing, ...]:
    voices = {a.id: a.stakeholder.voice for a in council.setup.agents}
    votes = {v.stakeholder: v for v in verdict.last_votes()}
    worths = setting.of(verdict.decision.outcome)
    attained = 1 - setting.regret(worths)
    rows = zip(usecase.stakeholders, worths, setting.extremes, attained, strict=True)
    return tuple(
        Standing(
            id=stakeholder.id,
            name=stakeholder.name,
            voice=voices.get(stakeholder.id, 0.0),
            worth=round(float(worth), 6),
            ceiling=round(high, 6),
            lowest=round(low, 6),
            attained=_plain(share),
            random=random[stakeholder.id],
            vote=_said(votes.get(stakeholder.id)),
        )
        for stakeholder, worth, (low, high, _), share in rows
    )


def _said(vote: Vote | None) -> str:
    """Return the status of a vote with its reason codes, in words."""
    if vote is None:
        return "no say"
    if isinstance(vote.said, Abstention):
        return f"abstained: {vote.said.code}"
    return " ".join((vote.status, *vote.codes))


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6)


def _variants(usecase: UseCase, council: Council, verdict: Verdict) -> tuple[Variant, ...]:
    """Decide the case's siblings by the scripted twins: no model is asked twelve times."""
    if usecase.variants is None:
        return ()
    twins = [a.model_copy(update={"policy": Utility()}) for a in council.setup.agents]
    setup = replace(council.setup, agents=tuple(twins))
    found = []
    for label, case in usecase.variants(verdict.case).items():
        decided = run(setup, case)
        setting = usecase.setting(case)
        rows = [setting.pool.index[one] for one in decided.decision.outcome.ids]
        facts = _facts(usecase, setting, rows)
        means = {f.key: _mean([fact[f.key] for fact in facts]) for f in usecase.facts}
        line = _Yard(setting, decided).line(label, decided.decision.outcome.ids)
        found.append(
            Variant(
                label=label,
                worst_off=line.worst_off,
                who=line.who,
                facts=means,
                chosen=case == verdict.case,
            )
        )
    return tuple(found)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return round(sum(known) / len(known), 3) if known else None


def _weighting(base: Council, council: Council, yard: _Yard, verdict: Verdict) -> Weighting:
    (before,) = base.compare(verdict, [base.setup.rule])
    mine, theirs = verdict.decision.outcome.ids, before.decision.outcome.ids
    now, then = yard.attained(mine), yard.attained(theirs)
    declared = {a.id: a.stakeholder.voice for a in base.setup.agents}
    return Weighting(
        weights={
            a.id: a.stakeholder.voice
            for a in council.setup.agents
            if a.stakeholder.voice != declared[a.id]
        },
        enters=tuple(one for one in mine if one not in theirs),
        leaves=tuple(one for one in theirs if one not in mine),
        change={
            who: round(value - (then[who] or 0.0), 6)
            for who, value in now.items()
            if value is not None
        },
    )


def table(shown: Shown) -> str:
    """Return the slate as CSV: position, id, facts, total, reason."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    keys = list(shown.labels)
    writer.writerow(["position", "id", *keys, "total", "reason"])
    for line in shown.lines:
        cells: list[Any] = [line.facts[key] for key in keys]
        writer.writerow([line.position, line.id, *cells, line.total, line.reason.sentence()])
    return out.getvalue()


def document(shown: Shown) -> Mapping[str, Any]:
    """Return everything shown as plain JSON data, the reasons in words included."""
    data = shown.model_dump(mode="json")
    for line, own in zip(data["lines"], shown.lines, strict=True):
        line["reason"]["sentence"] = own.reason.sentence()
    if isinstance(shown.why, Reason):
        data["why"]["sentence"] = shown.why.sentence()
    return data
