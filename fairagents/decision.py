"""What was decided, how, and with what result: decisions, traces, results, verdicts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import core_schema

from fairagents._wording import explanation
from fairagents.ballot import Agenda, Tiers, Vote
from fairagents.case import Case
from fairagents.errors import SpecError, did_you_mean
from fairagents.outcome import Lottery, Outcome
from fairagents.record import Listed, Pair, Record, Row, canonical


class _Scalar:
    """Makes a cell of JSON whatever JSON says, and of Python a plain value, at little cost."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        kinds = core_schema.is_instance_schema((float, str, int, type(None)))
        return core_schema.json_or_python_schema(handler(source), kinds)


Cell = float | str | int | bool | None
"""A value in a table. (A trace has hundreds: in Python only the kind is checked, not more.)"""


class Table(Record):
    """A named table of plain values: one step of a trace.

    Attributes:
        cut: number of further rows that were left out for size; 0 means the table is whole.
        how: how the last column follows from the others, as `fairagents.rules.trace.recount`
            reads it; "" where nothing is to be recomputed.
    """

    name: str
    columns: Listed[str]
    rows: Listed[Listed[Annotated[Cell, _Scalar()]]]
    cut: int = 0
    how: str = ""


class Decision(Record):
    """What a rule returns.

    Attributes:
        rule: the rule's label, name and parameters.
        outcome: the winning outcome.
        tiers: all alternatives by the rule's own order, best first; tied ones share a tier.
        totals: (alternative, total) in the order of the tiers, where the rule has totals.
        ties: groups of alternatives that the tie-break put in order and that decided who is in.
        tie_break: how ties fell.
        optimal: False when the rule stopped before it could prove its outcome.
        gap: how far from a proved bound the rule's objective is, where it is not proved.
        lottery: the probabilities that the rule drew from, of who comes first.
        winners: all tied winning slates of a rule that chooses slates as wholes, up to a limit.
        more: whether there are tied winning slates beyond those listed.
        notes: conventions that were applied to these ballots, in words.
        warnings: what a reader must know of these ballots under this rule.
        trace: tables from which the totals can be recomputed.
    """

    rule: str
    outcome: Outcome
    tiers: Tiers = ()
    totals: Listed[Row[str, float]] = ()
    ties: Tiers = ()
    tie_break: str = ""
    optimal: bool = True
    gap: float | None = None
    lottery: Lottery | None = None
    winners: Tiers = ()
    more: bool = False
    notes: Listed[str] = ()
    warnings: Listed[str] = ()
    trace: Listed[Table] = ()

    def table(self, name: str) -> Table:
        """Return the trace table of that name; KeyError when there is none."""
        for one in self.trace:
            if one.name == name:
                return one
        raise KeyError(f"no table {name!r}; there are {[t.name for t in self.trace]}")

    def explain(self, *ids: str) -> str:
        """Return how the decision came about, worded from the trace, one line per fact.

        Args:
            ids: the alternatives whose totals are worked out; by default the first three of the
                rule's order.

        Raises:
            SpecError: an id was not up for decision.

        >>> from fairagents.profile import Profile
        >>> from fairagents.rules import Borda
        >>> profile = Profile.from_rankings([["a", "b"], ["b", "a"]], weights=[2, 1])
        >>> print(Borda()(profile).explain("a"))
        borda: a is first; the slate is a, b
        points: a = 2 x 1 (1) = 2
        """
        known = [one for tier in self.tiers for one in tier]
        for one in ids:
            if one not in known:
                raise SpecError(f"{one!r} was not up for decision; {did_you_mean(one, known)}")
        return explanation(self, ids or known[:3])


class Result(Record):
    """What a measure returns: a value, or None with the status and the reason why.

    Attributes:
        measure: the measure's name.
        subject: whom it is about: a stakeholder, a group, or "collective".
        value: the number, None unless `status` is ok or degenerate.
        n: how many things the number is computed from.
        direction: "up" (higher is better), "down", or "target".
        range: least and greatest possible value; None where unbounded.
        conventions: the parameters of the definition.
    """

    measure: str
    subject: str
    value: float | None
    status: Literal["ok", "undefined", "degenerate", "failed"] = "ok"
    reason: str = ""
    n: int = 0
    direction: Literal["up", "down", "target", "none"] = "up"
    range: Pair[float | None] = (None, None)
    conventions: Listed[Row[str, str]] = ()


class Call(Record):
    """One attempt to ask a model or a person: what repeats with no seed, kept apart.

    Attributes:
        seconds: wall time of the attempt, queueing included.
        outcome: "ok", or the reason code of what went wrong.
    """

    stakeholder: str
    round: int
    attempt: int
    seconds: float
    outcome: str
    url: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


class Verdict(Record):
    """Everything one council decided on one case; equal inputs give equal `canonical()` bytes.

    Attributes:
        case: the case as it was put, so that a verdict can be replayed.
        spec: digest of catalogue, stakeholders, policies, rule, protocol and evaluators.
        interests: digest of catalogue, objectives and constraints: what worth depends on.
        seed: the seed everything was derived from.
        protocol: the protocol's label.
        agenda: what was voted on.
        votes: all votes of all rounds, by round, then in the stakeholders' declared order.
        decision: what the rule decided.
        results: what the evaluators found.
        rounds: how many rounds were held.
        stopped: why the protocol stopped.
        warnings: what a reader must know, say, whose abstention left an interest unheard.
        calls: attempts with their seconds; not part of `canonical()`.
    """

    case: Case
    spec: str
    interests: str
    seed: int
    protocol: str
    agenda: Agenda
    votes: Listed[Vote]
    decision: Decision
    results: Listed[Result] = ()
    rounds: int = Field(default=1, ge=1)
    stopped: str = ""
    warnings: Listed[str] = ()
    calls: Listed[Call] = ()

    def canonical(self) -> bytes:
        """Return the bytes that two runs of one seed share; no time, host or speed is in them."""
        return canonical(self.model_dump(mode="json", exclude={"calls"}))

    def value(self, measure: str, subject: str = "collective") -> float | None:
        """Return one result's value.

        Raises:
            KeyError: nothing of that name was measured.
        """
        return self.result(measure, subject).value

    def result(self, measure: str, subject: str = "collective") -> Result:
        """Return one result; KeyError when nothing of that name was measured."""
        for one in self.results:
            if one.measure == measure and one.subject == subject:
                return one
        known = sorted({f"{r.measure} of {r.subject}" for r in self.results})
        raise KeyError(f"no result {measure!r} of {subject!r}; there are {known}")

    def last_votes(self) -> tuple[Vote, ...]:
        """Return the votes of the last round."""
        return tuple(v for v in self.votes if v.round == self.rounds)
