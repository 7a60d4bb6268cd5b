"""A study as data: a use case, its cases, policies, rules and measures."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from fairagents.agents.base import PolicyRef
from fairagents.agents.scripted import Utility
from fairagents.council import Council
from fairagents.decision import Verdict
from fairagents.errors import DecisionError, SpecError
from fairagents.evaluators.base import EvaluatorRef
from fairagents.protocols.base import OneShot, ProtocolRef
from fairagents.record import Many, Record, read_text
from fairagents.rules.base import RuleRef
from fairagents.setting import Cut
from fairagents.setup import OnAbstain
from fairagents.spec import require_unique
from fairagents.usecase import UseCase


class Experiment(Record):
    r"""A use case, its cases, a policy per stakeholder, rules and evaluators.

    Votes are cast once per case and seed and go through every rule, so rules are compared on the
    same ballots.

    Attributes:
        usecase: name of a use case.
        rules: rules to put the ballots through, at least one.
        policy: the policy of every stakeholder that `policies` does not name.
        policies: policy per stakeholder id.
        evaluators: what is measured; empty means the default set.
        protocol: who is asked when.
        limit: only the first so many cases; None means all.
        seeds: one run of every case per seed.
        cut: how agendas are cut.
        quorum: the least number of valid ballots.
        on_abstain: what happens when an agent gives no valid answer.
        max_calls: the most model calls per decision.
        deadline: seconds per decision.

    >>> text = 'usecase = "tourism"\nrules = ["borda", { nash = { disagreement = 0.1 } }]'
    >>> [rule.label for rule in Experiment.from_toml(text).rules]
    ['borda', 'nash(disagreement=0.1)']
    """

    usecase: str
    rules: Many[RuleRef] = Field(min_length=1)
    policy: PolicyRef = Field(default_factory=Utility)
    policies: dict[str, PolicyRef] = Field(default_factory=dict)
    evaluators: Many[EvaluatorRef] = ()
    protocol: ProtocolRef = Field(default_factory=OneShot)
    limit: int | None = Field(default=None, ge=1)
    seeds: Many[int] = Field(default=(0,), min_length=1)
    cut: Cut = Field(default_factory=Cut)
    quorum: int = 1
    on_abstain: OnAbstain = "without"
    max_calls: int | None = None
    deadline: float | None = None

    @model_validator(mode="after")
    def _check(self) -> Experiment:
        # What is run twice would count twice in every mean over the study.
        require_unique([str(seed) for seed in self.seeds], "seed")
        require_unique([rule.label for rule in self.rules], "rule")
        return self

    @classmethod
    def load(cls, path: str | Path) -> Experiment:
        """Read a TOML file; every mistake in it is named in one `SpecError`."""
        return cls.from_toml(read_text(path), Path(path).name)

    def council(self, seed: int = 0) -> Council:
        """Return the council that votes, under the first rule.

        Raises:
            SpecError: the use case, a stakeholder or a column does not exist.
        """
        settings: dict[str, Any] = {"evaluators": self.evaluators} if self.evaluators else {}
        return Council(
            UseCase.load(self.usecase),
            policies=self.policies,
            default=self.policy,
            rule=self.rules[0],
            protocol=self.protocol,
            cut=self.cut,
            seed=seed,
            quorum=self.quorum,
            on_abstain=self.on_abstain,
            max_calls=self.max_calls,
            deadline=self.deadline,
            **settings,
        )

    def verdicts(
        self, progress: Callable[[int, int], None] | None = None
    ) -> Iterator[Verdict | Undecided]:
        """Yield one verdict per seed, case and rule, in that order.

        A case on which no decision came about is `Undecided` under every rule; the study goes on.

        Args:
            progress: told how many cases are done, of how many.
        """
        cases = UseCase.load(self.usecase).cases()[: self.limit]
        done, total = 0, len(cases) * len(self.seeds)
        for seed in self.seeds:
            council = self.council(seed)
            for case in cases:
                decide = council.run if council.setup.scripted else council.decide
                try:
                    verdict = decide(case)
                except DecisionError as error:
                    for rule in self.rules:
                        yield Undecided(case=case.id, seed=seed, rule=rule.label, reason=str(error))
                else:
                    yield verdict
                    yield from council.compare(verdict, self.rules[1:])
                done += 1
                if progress:
                    progress(done, total)

    def run(self, path: str | Path, progress: Callable[[int, int], None] | None = None) -> Path:
        """Run the study and write one JSON line per seed, case and rule.

        The file appears under its name only when it is whole; equal experiments give equal bytes.

        Raises:
            SpecError: the file can't be written; known before anything runs.
        """
        path = Path(path)
        if path.exists() and not path.is_file():
            raise SpecError(f"can't write {str(path)!r}: it is no regular file")
        # A name of its own, so that two runs at once do not write into one file.
        part = path.with_name(f".{os.getpid()}-{secrets.token_hex(4)}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("x", encoding="utf-8") as file:
                for found in self.verdicts(progress):
                    file.write(json.dumps(line(found), sort_keys=True, ensure_ascii=False) + "\n")
            part.replace(path)
        except OSError as error:
            raise SpecError(f"can't write {str(path)!r}: {error.strerror}") from None
        finally:
            if part.exists():
                part.unlink()
        return path


class Undecided(Record):
    """A case on which no decision came about, and why."""

    case: str
    seed: int
    rule: str
    reason: str


def line(verdict: Verdict | Undecided) -> dict[str, Any]:
    """Return a verdict as one flat record of results."""
    if isinstance(verdict, Undecided):
        return verdict.model_dump()
    return {
        "case": verdict.case.id,
        "seed": verdict.seed,
        "rule": verdict.decision.rule,
        "protocol": verdict.protocol,
        "spec": verdict.spec,
        "outcome": list(verdict.decision.outcome.ids),
        "ties": [list(tier) for tier in verdict.decision.ties],
        "votes": {
            v.stakeholder: {"status": v.status, "codes": list(v.codes)}
            for v in verdict.last_votes()
        },
        "results": {
            f"{r.measure}/{r.subject}": {
                "value": r.value,
                "status": r.status,
                "reason": r.reason,
                "n": r.n,
            }
            for r in verdict.results
        },
        "warnings": list(verdict.warnings),
    }
