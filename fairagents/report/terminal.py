"""The demo in a terminal; plain text where colours or a terminal are missing."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from fairagents.explain import Outside
from fairagents.report.demo import RuleLine, Shown, Variant

BAR = 12


def render(shown: Shown, console: Console, *, title: str) -> None:
    """Write everything that is shown, in order, to a console."""
    fancy = console.is_terminal
    parts: list[RenderableType] = [
        Text(title, style="bold"),
        Text(_subtitle(shown), style="dim"),
        Text(),
        _slate(shown, fancy),
        Text(),
        *_reasons(shown),
        Text(),
        _standings(shown, fancy),
        Text(_summary(shown)),
        Text(),
        _rules(shown, fancy),
    ]
    if shown.weighting:
        parts += [Text(), *_weighting(shown)]
    if shown.variants:
        parts += [Text(), *_advice(shown)]
    if shown.why:
        parts += [Text(), *_why(shown)]
    for warning in shown.warnings:
        parts.append(Text(f"Note: {warning}", style="yellow"))
    console.print(Group(*parts))


def _subtitle(shown: Shown) -> str:
    who = shown.model or "scripted agents, no model"
    return (
        f"{len(shown.standings)} stakeholders, {shown.candidates} candidates, agenda of "
        f"{shown.agenda}; rule: {shown.rule}; votes: {who}; seed {shown.seed}"
    )


def _table(title: str, fancy: bool) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold" if fancy else "",
        box=box.SIMPLE_HEAD if fancy else box.ASCII2,
        show_edge=False,
        pad_edge=False,
    )


def _slate(shown: Shown, fancy: bool) -> Table:
    table = _table("The slate", fancy)
    table.add_column("#", justify="right")
    table.add_column("place")
    for key, label in shown.labels.items():
        unit = shown.units[key]
        table.add_column(Text(f"{label}\n({unit})" if unit else label), justify="right")
    table.add_column("total", justify="right")
    for line in shown.lines:
        cells = [_number(line.facts[key], shown.digits[key]) for key in shown.labels]
        total = "" if line.total is None else f"{line.total:.4g}"
        table.add_row(str(line.position), escape(line.id), *cells, total)
    return table


def _reasons(shown: Shown) -> list[Text]:
    head = Text("Why: the ballots that carried each place (its rank to the rival's)", style="bold")
    return [head] + [
        Text(f"{line.position:>2} {line.id}: {line.reason.sentence()}") for line in shown.lines
    ]


def _standings(shown: Shown, fancy: bool) -> Table:
    table = _table("Who gains, who loses", fancy)
    for name in ("stakeholder", "voice", "attained", "", "worth", "ceiling", "random", "vote"):
        justify = "left" if name in ("stakeholder", "", "vote") else "right"
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for s in shown.standings:
        table.add_row(
            escape(s.name),
            f"{s.voice:g}" if s.voice else "-",
            _share(s.attained),
            _bar(s.attained, fancy),
            f"{s.worth:.2f}",
            f"{s.ceiling:.2f}",
            _share(s.random),
            s.vote,
        )
    return table


def _summary(shown: Shown) -> str:
    lines = [
        "Attained: 0 % is the worst feasible slate for that stakeholder, 100 % its ceiling; "
        "random: a random slate's mean."
    ]
    if shown.worst_off is not None:
        lines.append(
            f"Worst off: {shown.worst_off_who} with {_share(shown.worst_off)}. The best found for "
            f"the worst-off of all {len(shown.standings)} is {_share(shown.floor)}; no slate can "
            f"exceed {_share(shown.bound)}."
        )
    told = {
        "conflict": "The stakeholders are in conflict here: no slate brings all within 5 % of "
        "their ceilings.",
        "none": "No conflict here: one slate brings all within 5 % of their ceilings.",
        "open": "Whether the stakeholders are in conflict here is not proved either way.",
    }
    return "\n".join([*lines, told[shown.agreement]])


def _rules(shown: Shown, fancy: bool) -> Table:
    table = _table("The same ballots under other rules (attained)", fancy)
    table.add_column("rule")
    heard = list(shown.rules[0].attained)
    for who in heard:
        table.add_column(who, justify="right")
    table.add_column("worst off", justify="right")
    table.add_column("Gini", justify="right")
    table.add_column("other places")
    for row in shown.rules:
        table.add_row(
            escape(row.rule),
            *(_share(row.attained[who]) for who in heard),
            _share(row.worst_off),
            "-" if row.gini is None else f"{row.gini:.3f}",
            escape(_others(row)),
        )
    return table


def _others(row: RuleLine) -> str:
    if not row.enters:
        return "none"
    more = len(row.enters) - 3
    return ", ".join(row.enters[:3]) + (f" and {more} more" if more > 0 else "")


def _weighting(shown: Shown) -> list[Text]:
    w = shown.weighting
    assert w is not None  # the caller asked
    weights = ", ".join(f"{who} = {value:g}" for who, value in w.weights.items())
    changes = ", ".join(f"{who} {100 * c:+.0f}" for who, c in w.change.items())
    return [
        Text(f"What {weights} changes on the same ballots", style="bold"),
        Text(f"in: {', '.join(w.enters) or 'nothing'}; out: {', '.join(w.leaves) or 'nothing'}"),
        Text(f"attained, in points: {changes}"),
    ]


def _advice(shown: Shown) -> list[Text]:
    now = next((v for v in shown.variants if v.chosen), None)
    known = [v for v in shown.variants if v.worst_off is not None]
    if now is None or not known:
        return []
    best = max(known, key=lambda v: v.worst_off or 0.0)
    head = Text("Another time (the scripted twins decide each)", style="bold")
    return [
        head,
        Text(_variant(now, shown)),
        *([Text(_variant(best, shown))] if best != now else []),
    ]


def _variant(v: Variant, shown: Shown) -> str:
    facts = ", ".join(
        f"{label} {_number(v.facts[key], max(1, shown.digits[key]))}"
        for key, label in shown.labels.items()
    )
    kind = "asked for" if v.chosen else "best for the worst-off"
    return f"{v.label} ({kind}): worst off {v.who} {_share(v.worst_off)}; means: {facts}"


def _why(shown: Shown) -> list[Text]:
    r = shown.why
    assert r is not None  # the caller asked
    if isinstance(r, Outside):
        head = f"Why not {r.id}: it was not on the agenda ({r.why})"
        liked = [
            f"  by its own worth {who} puts it in place {rank} of {r.among} ({worth:.2f})"
            for who, rank, worth in r.places
        ]
        return [Text(head, style="bold"), *map(Text, liked)]
    place = f"place {r.position} of the slate" if r.position else "not in the slate"
    both = [("above", r.carried), ("below", r.against)]
    lines = [Text(f"Why {r.id}: {place}, place {r.place} on the agenda", style="bold")]
    for word, side in both:
        for who, own, other in side:
            lines.append(Text(f"  {who} ranks it {own}, {word} {r.rival} ({other})"))
    return lines


def _number(value: float | None, digits: int) -> str:
    return "unknown" if value is None else f"{value:.{digits}f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _bar(value: float | None, fancy: bool) -> str:
    if value is None:
        return ""
    filled = round(BAR * value)
    full, empty = ("█", "░") if fancy else ("#", ".")
    return full * filled + empty * (BAR - filled)
