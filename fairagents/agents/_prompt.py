"""What a language model is told: one brief's own side and the public facts, in words.

Private: `fairagents.agents.llm` is the way in. The words stand in `prompts/*.md.j2`; what is
filled in is data and never a template.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fairagents.agents.answers import Asked
from fairagents.agents.base import Brief
from fairagents.case import Pool
from fairagents.spec import Column, Constraint, Floats, Indicator, Objective

if TYPE_CHECKING:
    from jinja2 import Environment

Messages = list[tuple[str, str]]
Reveal = Literal["nothing", "worth"]

TEMPLATES = ("system.md.j2", "ballot.md.j2", "again.md.j2")

FEW = 3
"""Categories and tags that nobody's objective reads are shown if there are at most so many."""


@functools.lru_cache(maxsize=1)
def _sources() -> dict[str, str]:
    folder = importlib.resources.files("fairagents.agents") / "prompts"
    return {name: (folder / name).read_text(encoding="utf-8") for name in TEMPLATES}


@functools.lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import DictLoader, Environment, StrictUndefined

    environment = Environment(
        loader=DictLoader(_sources()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["line"] = line
    return environment


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(values)


@functools.lru_cache(maxsize=1)
def fingerprint() -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of all templates."""
    text = "\0".join(part for pair in _sources().items() for part in pair)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def line(value: object) -> str:
    r"""Return a value as text on one line that can be sent.

    >>> line("a\n\n b")
    'a b'
    """
    return " ".join(str(value).split()).encode("utf-8", "replace").decode("utf-8")


def estimate(messages: Messages) -> int:
    """Return about how many tokens messages have: one per 3.5 characters."""
    return math.ceil(sum(len(text) for _, text in messages) / 3.5)


def again(messages: Messages, answer: str | None, problem: str, room: int | None) -> Messages:
    """Return the messages that show a bad answer and what was wrong with it.

    Args:
        messages: what was asked.
        answer: what was answered; None for no text.
        problem: what was wrong, and what would be right.
        room: tokens that are left for prompt and answer; a bad answer that does not fit is cut.
    """
    text = _render("again.md.j2", problem=problem)
    shown = answer or "(no text)"
    if room is not None:
        most = max(20, int(3.5 * (room - estimate([*messages, ("human", text)]))))
        shown = shown if len(shown) <= most else f"{shown[: most - 3]}..."
    return [*messages, ("ai", shown), ("human", text)]


class Facts:
    """Everything one brief lets its agent be told; filled in per question.

    Args:
        brief: the brief.
        reveal: "worth" adds a column with the own worth of each option.
        most: the most columns of attributes.
    """

    def __init__(self, brief: Brief, reveal: Reveal, most: int) -> None:
        self._brief = brief
        self._row = {one: i for i, one in enumerate(brief.agenda.ids)}
        self._head: list[str] = []
        self._columns: list[list[str]] = []
        heads = _Heads(brief)
        for head, cells in heads.columns(most):
            self._head.append(head)
            self._columns.append(cells)
        if reveal == "worth":
            self._head.append("worth to you, 0 to 1")
            self._columns.append([f"{value:.2f}" for value in brief.worth])
        one = brief.stakeholder
        self._system = _render(
            "system.md.j2",
            name=one.name,
            role=one.role,
            persona=one.persona,
            principles=one.principles,
            objectives=list(heads.objectives()),
            constraints=[_constraint(c, brief.pool) for c in _holding(one.constraints, brief.pool)],
        )

    def ask(self, asked: Asked) -> Messages:
        """Return the messages of a question; options are shown in the order of `asked.ids`."""
        brief = self._brief
        rows = [
            [shown(one), *(column[self._row[one]] for column in self._columns)] for one in asked.ids
        ]
        text = _render(
            "ballot.md.j2",
            request=[(key, _plain(v)) for key, v in brief.pool.request.items() if _said(v)],
            offer=[shown(one) for one in brief.offer],
            feedback=brief.feedback,
            head=self._head,
            rows=rows,
            form=asked.form,
            size=asked.size,
            low=f"{asked.low:g}",
            high=f"{asked.high:g}",
        )
        return [("system", self._system), ("human", text)]


def shown(one: str) -> str:
    """Return an id as it stands in the schema; one that is not a plain line as a JSON string."""
    return one if one == line(one) and "|" not in one else json.dumps(one, ensure_ascii=False)


class _Heads:
    """Names the quantities a stakeholder's objectives read, alike in the list and in the table."""

    def __init__(self, brief: Brief) -> None:
        self._brief, self._pool = brief, brief.pool
        self._named: dict[str, Indicator] = {}
        self._names: dict[str, str] = {}
        self._units: dict[str, str] = {}
        for objective in brief.stakeholder.objectives:
            indicator = objective.indicator
            variety = objective.reads == "variety"
            name = indicator.requires()[0] if variety else _name(indicator)
            if not variety:
                if self._named.get(name, indicator) != indicator:
                    name = objective.id
                self._named[name] = indicator
                self._units[name] = objective.unit or indicator.unit_in(self._pool)
            self._names[objective.id] = name

    def objectives(self) -> Iterator[str]:
        """Yield each objective in words."""
        objectives = self._brief.stakeholder.objectives
        total = sum(objective.weight for objective in objectives)
        for objective in objectives:
            name = self._names[objective.id]
            share = "" if len(objectives) == 1 else f" Weight {objective.weight / total:.0%}."
            claim = f"{objective.claim} " if objective.claim else ""
            yield f"{claim}{_aim(objective, name, self._units.get(name, ''))}{share}"

    def columns(self, most: int) -> list[tuple[str, list[str]]]:
        """Return heading and cells, aligned with the agenda, of at most `most` columns.

        First the own quantities, then what own constraints read, then the words and the numbers
        that own quantities are made of, then other categories and tags where they are few. A
        computed quantity that is the own worth itself, number for number, is not shown: what it
        is made of is.
        """
        found: dict[str, tuple[str, list[str]]] = {}
        for name, indicator in self._named.items():
            unit = self._units[name]
            head = line(f"{name} [{unit}]" if unit else name)
            values = self._pool.values(indicator)[self._brief.rows]
            if not isinstance(indicator, Column) and _same(values, self._brief.worth):
                continue
            found[name] = head, [_number(value) for value in values]
        for name in self._more():
            if name not in found and (cells := self._cells(name)) is not None:
                unit = self._pool.unit(name)
                found[name] = line(f"{name} [{unit}]" if unit else name), cells
        return list(found.values())[:most]

    def _more(self) -> Iterator[str]:
        one, pool = self._brief.stakeholder, self._pool
        for constraint in one.constraints:
            yield from constraint.accepts.columns()
        read = [name for o in one.objectives for name in o.indicator.requires()]
        words = [name for name in read if self._kind(name) in ("category", "tags")]
        yield from words
        yield from (name for name in read if name not in words)
        others = [n for n in pool.catalogue.columns if self._kind(n) in ("category", "tags")]
        if len(others) <= FEW:
            yield from others

    def _kind(self, name: str) -> str:
        catalogue = self._pool.catalogue
        return catalogue.spec(name).kind if name in catalogue else "numeric"

    def _cells(self, name: str) -> list[str] | None:
        """Return one column's cells over the agenda; None for what fits on no line."""
        rows = self._brief.rows
        match self._kind(name):
            case "numeric":
                return [_number(value) for value in self._pool.numeric(name)[rows]]
            case "category":
                labels, codes = self._pool.category(name)
                return [_word(labels[code]) if code >= 0 else "?" for code in codes[rows]]
            case "tags":
                names, has, known = self._pool.tags(name)
                return [
                    ", ".join(_word(names[j]) for j in has[row].nonzero()[0]) or "-"
                    if known[row]
                    else "?"
                    for row in rows
                ]
        return None


def _same(values: Floats, own: Floats) -> bool:
    """Tell whether a quantity is the worth, wherever it is known."""
    known = ~np.isnan(values)
    return bool(np.allclose(values[known], own[known], rtol=0, atol=1e-6))


def _name(indicator: Indicator) -> str:
    return indicator.column if isinstance(indicator, Column) else indicator.name


def _aim(objective: Objective, name: str, unit: str) -> str:
    """Say what counts nothing and what counts in full."""
    what = {"mean": name, "worst": f"the worst {name} on the list",
            "variety": f"the number of different values of {name} on the list"}  # fmt: skip
    better = "less is better" if objective.direction == "min" else "more is better"
    text = f"{what[objective.reads]}: {better}"
    if objective.anchors == "case":
        return f"{text}; the worst of all candidates counts nothing, the best counts in full."
    zero, one = objective.anchors
    unit = f" {unit}" if unit else ""
    return f"{text}; {zero:g}{unit} counts nothing, {one:g}{unit} counts in full."


def _holding(constraints: tuple[Constraint, ...], pool: Pool) -> Iterator[Constraint]:
    """Yield the constraints that hold for this request."""
    for constraint in constraints:
        if constraint.when is None or pool.holds(constraint.when)[0] == 1:
            yield constraint


def _constraint(constraint: Constraint, pool: Pool) -> str:
    claim = f"{constraint.claim} " if constraint.claim else ""
    text = f"{claim}Acceptable only if {constraint.accepts.describe()}"
    if constraint.kind == "hard":
        return f"{text}; anything else counts nothing."
    return f"{text}; anything else loses {constraint.cost:.0%}."


def _number(value: Any) -> str:
    """Return a number in few characters, `?` where it is unknown."""
    if math.isnan(value):
        return "?"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _word(text: str) -> str:
    return line(text).replace("|", "/")


def _said(value: object) -> bool:
    return value is not None and value not in ("", [], {})


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)
