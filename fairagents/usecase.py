"""Everything a domain brings, as one object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from fairagents.case import Case
from fairagents.catalogue import Catalogue
from fairagents.errors import SpecError, did_you_mean
from fairagents.plugins import Plugin, Plugins
from fairagents.record import Many, Pair, Record, read_text
from fairagents.setting import Setting
from fairagents.spec import Id, IndicatorRef, Stakeholder, require_unique


class Relation(Record):
    """What two stakeholders are declared to be to each other, before anything is measured."""

    between: Pair[Id]
    kind: Literal["tension", "harmony"]
    why: str


class Stakeholders(Record):
    """A file of stakeholders and the relations declared between them, in TOML or JSON."""

    stakeholders: Many[Stakeholder]
    relations: Many[Relation] = ()

    @classmethod
    def load(cls, path: str | Path) -> Stakeholders:
        """Read a `.toml` or `.json` file; every mistake in it is named in one `SpecError`."""
        text, path = read_text(path), Path(path)
        read = cls.from_json if path.suffix == ".json" else cls.from_toml
        found = read(text, path.name)
        ids = [s.id for s in found.stakeholders]
        require_unique(ids, f"{path.name}: stakeholder")
        for relation in found.relations:
            for one in relation.between:
                if one not in ids:
                    raise SpecError(
                        f"{path.name}: relation names {one!r}; {did_you_mean(one, ids)}"
                    )
        return found


class Fact(Record):
    """A quantity shown beside each alternative, in its own unit."""

    key: Id
    label: str
    indicator: IndicatorRef
    digits: int = 0


@dataclass(frozen=True)
class UseCase:
    """A domain: what there is, who has a stake in it, and which cases it is tried on.

    Attributes:
        name: names it on the command line.
        catalogue: the alternatives.
        stakeholders: who has a stake, in the declared order.
        relations: tensions and harmonies declared before measuring.
        request: the typed request that a case holds as plain JSON.
        make_case: turns a request into a case.
        make_cases: gives the standard cases, in a fixed order.
        judged: columns that are judgement on whole-number levels (name -> least, greatest), so
            that a study can move them by one level.
        facts: quantities to show beside each alternative.
        variants: gives a case's siblings under other circumstances (say, months), by label, the
            case itself among them.
        adopt: builds the use case over a user's own file; returns it with lines that say what
            was found, what is missing, and what that switches off.
        template: such a file to start from, as text.
    """

    name: str
    catalogue: Catalogue
    stakeholders: tuple[Stakeholder, ...]
    relations: tuple[Relation, ...] = ()
    request: type[BaseModel] | None = None
    make_case: Callable[..., Case] | None = None
    make_cases: Callable[[], Sequence[Case]] | None = None
    judged: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    variants: Callable[[Case], Mapping[str, Case]] | None = None
    adopt: Callable[[str], tuple[UseCase, Sequence[str]]] | None = None
    template: str = ""

    @staticmethod
    def load(name: str) -> UseCase:
        """Return the use case of that name: an entry point, or `module:attribute`.

        >>> UseCase.load("tourism").name
        'tourism'
        """
        found = USECASES.get(name)
        if not isinstance(found, UseCase):
            raise SpecError(f"{name!r} is no use case but {found!r:.100}")
        return found

    def cases(self) -> tuple[Case, ...]:
        """Return the standard cases."""
        return tuple(self.make_cases()) if self.make_cases else ()

    def with_catalogue(self, catalogue: Catalogue) -> UseCase:
        """Return the same use case over other alternatives."""
        return replace(self, catalogue=catalogue)

    def without(self, *ids: str) -> UseCase:
        """Return the use case without some stakeholders; an unknown id is a `SpecError`."""
        known = [s.id for s in self.stakeholders]
        for one in ids:
            if one not in known:
                raise SpecError(f"no stakeholder {one!r}; {did_you_mean(one, known)}")
        return replace(
            self,
            stakeholders=tuple(s for s in self.stakeholders if s.id not in ids),
            relations=tuple(r for r in self.relations if not set(r.between) & set(ids)),
        )

    def setting(self, case: Case) -> Setting:
        """Return a case made ready, with everybody's worth."""
        return Setting(case, self.catalogue, self.stakeholders)


USECASES = Plugins[Plugin]("usecase", {}, base=UseCase)
