"""The demo in a terminal; plain text where colours or a terminal are missing."""

from __future__ import annotations

import textwrap

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from fairagents.explain import Outside
from fairagents.report.demo import Shown, SlateLine, Variant

BAR = 12
WIDE = 100
"""From so many columns on there is room for bars, full names and the last columns."""

NOTABLE = 0.02
"""Another time is recommended if it serves the worst-off by at least so much more."""

LITTLE = 0.1
"""A stakeholder whose worth ranges over less than this has little at stake."""


def render(shown: Shown, console: Console, *, title: str) -> None:
    """Write everything that is shown, in order, to a console."""
    page = _Page(shown, fancy=console.is_terminal, width=console.width)
    parts: list[RenderableType] = [
        Text(title, style="bold"),
        page.prose(_subtitle(shown), style="dim"),
        Text(),
        page.slate(),
        Text(),
        *page.reasons(),
        Text(),
        page.standings(),
        *page.summary(),
        Text(),
        page.rules(),
        *page.rules_note(),
        *page.weighting(),
        *page.advice(),
        *page.why(),
    ]
    for warning in shown.warnings:
        parts.append(page.prose(f"Note: {warning}", style="yellow"))
    console.print(Group(*parts))


def _subtitle(shown: Shown) -> str:
    who = shown.model or "scripted agents, no model"
    voting = sum(one.voice > 0 for one in shown.standings)
    return (
        f"{voting} stakeholders vote on {shown.agenda} of {shown.candidates} "
        f"places; rule: {shown.rule}; votes: {who}; seed {shown.seed}"
    )


class _Page:
    """Lays one decision out for a console of some width."""

    def __init__(self, shown: Shown, *, fancy: bool, width: int) -> None:
        self.shown, self.fancy, self.width = shown, fancy, width
        self.wide = width >= WIDE

    def prose(self, text: str, *, style: str = "", indent: str = "") -> Text:
        """Return text that is broken at words, its further lines indented."""
        lines = textwrap.wrap(text, self.width, subsequent_indent=indent) or [""]
        return Text("\n".join(lines), style=style)

    def table(self, title: str) -> Table:
        return Table(
            title=title,
            title_justify="left",
            title_style="bold" if self.fancy else "",
            box=box.SIMPLE_HEAD if self.fancy else box.ASCII2,
            show_edge=False,
            pad_edge=False,
        )

    def slate(self) -> Table:
        shown, table = self.shown, self.table("The slate")
        table.add_column("#", justify="right")
        table.add_column("place")
        for key, label in shown.labels.items():
            unit = shown.units[key]
            table.add_column(Text(f"{label}\n({unit})" if unit else label), justify="right")
        table.add_column(Text(f"total\n({shown.rule})"), justify="right")
        for line in shown.lines:
            cells = [_number(line.facts[key], shown.digits[key]) for key in shown.labels]
            total = "" if line.total is None else f"{line.total:.4g}"
            table.add_row(str(line.position), escape(line.id), *cells, total)
        return table

    def reasons(self) -> list[Text]:
        head = (
            "Why each place: the one that would take its place if it were struck, and the ballots "
            f"that put it ahead (its rank - the other's rank, of {self.shown.agenda})"
        )
        return [self.prose(head, style="bold")] + [
            self.prose(f"{line.position:>2} {line.id}: {line.reason.sentence()}", indent="     ")
            for line in self.shown.lines
        ]

    def standings(self) -> Table:
        table = self.table("Who gains, who loses")
        left = ("stakeholder", "", "vote")
        bars = [""] if self.wide else []
        names = ("stakeholder", "voice", "attained", *bars, "random", "worth", "least", "most")
        for name in (*names, "vote"):
            table.add_column(name, justify="left" if name in left else "right", no_wrap=name == "")
        for s in self.shown.standings:
            bar = [_bar(s.attained, self.fancy)] if self.wide else []
            table.add_row(
                escape(s.name if self.wide else s.id),
                f"{s.voice:g}" if s.voice else "-",
                _share(s.attained),
                *bar,
                _share(s.random),
                *(f"{value:.2f}" for value in (s.worth, s.lowest, s.ceiling)),
                s.vote,
            )
        return table

    def summary(self) -> list[Text]:
        shown = self.shown
        lines = [
            "Attained: 0 % is the slate that is worst for that stakeholder, 100 % the one that is "
            "best; random: what a random slate attains. Worth by its own anchors, and the least "
            "and most of any slate."
        ]
        lines += [
            f"Little is at stake for {s.id}: from {s.lowest:.2f} to {s.ceiling:.2f} whatever is "
            "decided."
            for s in shown.standings
            if s.ceiling - s.lowest < LITTLE
        ]
        if shown.worst_off is not None:
            lines.append(
                f"Worst off: {shown.worst_off_who} with {_share(shown.worst_off)}. The most that "
                f"was found for the worst-off of all {len(shown.standings)} is "
                f"{_share(shown.floor)}; no slate can exceed {_share(shown.bound)}."
            )
        told = {
            "conflict": "The stakeholders are in conflict here: no slate brings all within 5 % "
            "of their best.",
            "none": "No conflict here: one slate brings all within 5 % of their best.",
            "open": "Whether the stakeholders are in conflict here is not proved either way.",
        }
        return [self.prose(text) for text in (*lines, told[shown.agreement])]

    def rules(self) -> Table:
        table = self.table("The same ballots under every rule, and two baselines (attained)")
        rows = (*self.shown.rules, *self.shown.baselines)
        who = list(rows[0].attained)
        if not self.wide:
            # Rules are fewer letters than stakeholders, so a narrow table is turned round.
            for name in ("", *(row.label.split(",")[0].split(" ")[0] for row in rows)):
                table.add_column(name, justify="right" if name else "left")
            for one in who:
                table.add_row(one, *(_share(row.attained[one]) for row in rows))
            table.add_row("worst off", *(_share(row.worst_off) for row in rows))
            return table
        table.add_column("rule", no_wrap=True)
        for name in (*who, "worst off", "Gini"):
            table.add_column(name, justify="right")
        table.add_column("other places")
        for row in rows:
            cells = [_share(row.attained[one]) for one in who]
            gini = "-" if row.gini is None else f"{row.gini:.3f}"
            others = escape(_others(row))
            table.add_row(escape(row.label), *cells, _share(row.worst_off), gini, others)
        return table

    def rules_note(self) -> list[Text]:
        text = (
            "Rules judge each place on its own and take the best; none of them looks for the slate "
            "that is best as a whole. Random: the mean of 200 random slates."
        )
        return [self.prose(text)]

    def weighting(self) -> list[Text]:
        w = self.shown.weighting
        if w is None:
            return []
        weights = ", ".join(f"{who} = {value:g}" for who, value in w.weights.items())
        changes = ", ".join(f"{who} {100 * c:+.0f}" for who, c in w.change.items())
        places = f"in: {', '.join(w.enters) or 'nothing'}; out: {', '.join(w.leaves) or 'nothing'}"
        return [
            Text(),
            Text(f"What {weights or 'this'} changes on the same ballots", style="bold"),
            self.prose(places),
            self.prose(f"attained, in points: {changes}"),
        ]

    def advice(self) -> list[Text]:
        shown = self.shown
        now = next((v for v in shown.variants if v.chosen), None)
        known = [v for v in shown.variants if v.worst_off is not None]
        if now is None or now.worst_off is None:
            return []
        best = max(known, key=lambda v: v.worst_off or 0.0)
        head = Text("Another time (scripted agents decide each)", style="bold")
        lines = [_variant(now, shown)]
        if (best.worst_off or 0.0) - now.worst_off >= NOTABLE:
            lines.append(_variant(best, shown))
        else:
            lines.append("No other time serves the worst-off better by two points or more.")
        return [Text(), head, *map(self.prose, lines)]

    def why(self) -> list[Text]:
        r = self.shown.why
        if r is None:
            return []
        if isinstance(r, Outside):
            head = f"Why not {r.id}: it was not on the agenda ({r.why})"
            liked = [
                f"  by its own worth {who} puts it in place {rank} of {r.among} ({worth:.2f})"
                for who, rank, worth in r.places
            ]
            return [Text(), self.prose(head, style="bold"), *map(Text, liked)]
        place = f"place {r.position} of the slate" if r.position else "not in the slate"
        head = (
            f"Why {r.id}: {place}, place {r.place} of {self.shown.agenda} under {self.shown.rule}"
        )
        lines = [Text(), self.prose(head, style="bold")]
        for word, side in (("above", r.carried), ("below", r.against)):
            for who, own, other in side:
                lines.append(Text(f"  {who} ranks it {own}, {word} {r.rival} ({other})"))
        return lines


def _variant(v: Variant, shown: Shown) -> str:
    facts = ", ".join(
        f"{label} {_number(v.facts[key], max(1, shown.digits[key]))}"
        for key, label in shown.labels.items()
    )
    kind = "asked for" if v.chosen else "best for the worst-off"
    return f"{v.label} ({kind}): worst off {v.who} {_share(v.worst_off)}; means: {facts}"


def _others(row: SlateLine) -> str:
    if row.shared is None:
        return ""
    if not row.enters:
        return "none"
    more = len(row.enters) - 3
    return ", ".join(row.enters[:3]) + (f" and {more} more" if more > 0 else "")


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
