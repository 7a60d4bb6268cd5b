"""The command line: `fairagents demo`, `fairagents run`, `fairagents list`."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from fairagents.errors import (
    FairagentsError,
    InfeasibleError,
    ModelUnavailable,
    SpecError,
    did_you_mean,
)

if TYPE_CHECKING:
    from fairagents.case import Case
    from fairagents.council import Council
    from fairagents.usecase import UseCase

app = typer.Typer(
    help="Multistakeholder recommendations by agents that vote, and who gains and who loses.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Exit(IntEnum):
    """What the exit code says."""

    ok = 0
    failed = 1
    usage = 2
    unavailable = 3


Several = list[str] | None
"""What an option that may be repeated holds."""


@app.command()
def demo(
    context: typer.Context,
    usecase: Annotated[str, typer.Argument(help="Use case.")] = "tourism",
    origin: Annotated[str, typer.Option("--from", help="City, or LAT,LON.")] = "Vienna",
    month: Annotated[str, typer.Option(help="Month of travel.")] = "July",
    days: Annotated[int, typer.Option(help="Length of the stay.")] = 4,
    budget: Annotated[str, typer.Option(help="low, medium or high.")] = "medium",
    interests: Annotated[str, typer.Option(help="Tags, comma-separated.")] = "museums,food",
    avoid: Annotated[str, typer.Option(help="Tags or cities to avoid.")] = "",
    require: Annotated[str, typer.Option(help="Tags, or rail, that a place must have.")] = "",
    party: Annotated[str, typer.Option(help="solo, couple, family or group.")] = "couple",
    rule: Annotated[str, typer.Option(help="Rule that decides.")] = "borda",
    model: Annotated[str, typer.Option(help="Let a model vote, say ollama:llama3.2.")] = "",
    url: Annotated[str, typer.Option(help="Where the model is served.")] = "",
    k: Annotated[int, typer.Option("--k", help="Size of the slate.")] = 10,
    why: Annotated[str, typer.Option(help="Explain this place, in the slate or not.")] = "",
    weight: Annotated[Several, typer.Option(help="STAKEHOLDER=VOICE; repeatable.")] = None,
    without: Annotated[Several, typer.Option(help="Give it no say; repeatable.")] = None,
    exclude: Annotated[Several, typer.Option(help="Leave a place out; repeatable.")] = None,
    catalogue: Annotated[str, typer.Option(help="Your own CSV of places.")] = "",
    template: Annotated[bool, typer.Option(help="Print a CSV to start your own from.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="The slate as CSV.")] = False,
) -> None:
    """Recommend trips by five stakeholders that vote, and show who gains and who loses.

    Started without any option in a terminal, it asks for the trip.

    Examples: fairagents demo --from Lyon --month May --interests wine,hiking --why Ghent;
    fairagents demo --weight environment=2; fairagents demo --model ollama:llama3.2
    """
    if template:
        typer.echo(_usecase(usecase, "").template, nl=False)
        return
    _check_together(model, url, as_json, as_csv)
    trip: dict[str, Any] = dict(origin=origin, month=month, days=days, budget=budget)
    trip |= dict(interests=interests, avoid=avoid, require=require, party=party)
    with _only_ours() as out:
        from fairagents.report.demo import show

        whole = _usecase(usecase, catalogue)
        trip = _asked(whole, trip) if _asks(context, out) else trip
        case = _case(whole, trip, k, tuple(exclude or ()))
        if why:
            whole.catalogue.row(why, "--why")
        council, base = _councils(whole, without, weight, _policy(model, url), rule, seed)
        verdict = _decide(council, case, quiet=not model or as_json or as_csv)
        shown = show(whole, council, verdict, base=base, why_id=why, model=model)
        _write(shown, out, trip, as_json, as_csv)


def _check_together(model: str, url: str, as_json: bool, as_csv: bool) -> None:
    """Refuse options that do not go together."""
    if url and not model:
        raise SpecError("--url says where a model is served: give --model too")
    if as_json and as_csv:
        raise SpecError("give --json or --csv, not both")


def _asks(context: typer.Context, out: IO[str]) -> bool:
    """Tell whether to ask for the trip: no option is given, and a person sits at a terminal."""
    given = any(
        getattr(context.get_parameter_source(name), "name", "") != "DEFAULT"
        for name in context.params
        if name != "usecase"
    )
    if given or sys.stdin is None or sys.stdin.closed:
        return False
    return sys.stdin.isatty() and out.isatty()


def _asked(usecase: UseCase, trip: dict[str, Any]) -> dict[str, Any]:
    """Ask for each part of the trip, and again for one that is refused."""
    hints = {
        "origin": "a city, or LAT,LON",
        "month": "a month",
        "days": "1 to 30",
        "budget": "low, medium, high",
        "interests": "tags, comma-separated",
    }
    for key, hint in hints.items():
        while True:
            given = typer.prompt(f"{key.capitalize()} ({hint})", default=trip[key], err=True)
            try:
                _case(usecase, {**trip, key: given}, 1, ())
            except SpecError as error:
                typer.echo(str(error), err=True)
            else:
                trip[key] = given
                break
    return trip


@contextlib.contextmanager
def _only_ours() -> Iterator[IO[str]]:
    """Keep standard output for us: solvers in native code sometimes print to it."""
    if sys.stdout is None:
        raise SpecError("standard output is closed: there is nowhere to write to")
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(own, "w", encoding="utf-8", errors="replace") as out:
        try:
            yield out
        finally:
            out.flush()
            os.dup2(own, 1)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _usecase(name: str, catalogue: str) -> UseCase:
    from fairagents.usecase import UseCase

    found = UseCase.load(name)
    if not catalogue:
        return found
    if found.adopt is None:
        raise SpecError(f"use case {name!r} does not take a catalogue of your own")
    adopted, lines = found.adopt(catalogue)
    for line in lines:
        typer.echo(line, err=True)
    return adopted


def _case(usecase: UseCase, request: dict[str, Any], size: int, exclude: tuple[str, ...]) -> Case:
    if usecase.request is None or usecase.make_case is None:
        raise SpecError(f"use case {usecase.name!r} takes no request on the command line")
    words = {key: _words(request[key]) for key in ("interests", "avoid", "require")}
    numbers = {
        key: int(request[key])
        for key in ("month", "days")
        if str(request[key]).isascii() and str(request[key]).isdigit()
    }
    typed = usecase.request(**{**request, **words, **numbers})
    return usecase.make_case(typed, size=size, exclude=exclude, catalogue=usecase.catalogue)


def _policy(model: str, url: str) -> Any:
    """Return what votes: the model that is named, else everybody's own worth."""
    if not model:
        return "utility"
    from fairagents.agents.llm import LLM

    return LLM(model=model, url=url or None)


def _councils(
    usecase: UseCase, without: Several, weights: Several, policy: Any, rule: str, seed: int
) -> tuple[Council, Council | None]:
    """Return the council with the voices given and, if any are, the one with those declared."""
    from fairagents.council import Council
    from fairagents.spec import require_unique

    def council(heard: UseCase) -> Council:
        return Council(heard, default=policy, rule=rule, seed=seed)

    declared = usecase.without(*without or ())
    known = [s.id for s in declared.stakeholders]
    given = [_weight(text, known) for text in weights or ()]
    if not given:
        return council(declared), None
    require_unique([name for name, _ in given], "--weight of")
    voices = dict(given)
    changed = tuple(
        s.model_copy(update={"voice": voices.get(s.id, s.voice)}) for s in declared.stakeholders
    )
    return council(replace(declared, stakeholders=changed)), council(declared)


def _weight(text: str, known: list[str]) -> tuple[str, float]:
    """Read STAKEHOLDER=VOICE."""
    from fairagents.spec import LEAST_WEIGHT, MOST_WEIGHT

    name, _, value = text.partition("=")
    if name not in known:
        raise SpecError(f"--weight {text!r}: no stakeholder {name!r}; {did_you_mean(name, known)}")
    try:
        voice = float(value)
    except ValueError:
        voice = 0.0
    if not LEAST_WEIGHT <= voice <= MOST_WEIGHT:
        raise SpecError(f"--weight {text!r}: write NAME=NUMBER with a number > 0")
    return name, voice


def _decide(council: Council, case: Case, quiet: bool) -> Any:
    """Return the verdict; unless quiet, tell a person at a terminal of each vote as it comes."""
    if quiet or not sys.stderr.isatty():
        return council.decide(case)
    verdict = None
    for event in council.stream(case):
        if event["type"] == "vote":
            vote = event["vote"]
            typer.echo(f"{vote.stakeholder}: {vote.status} {' '.join(vote.codes)}", err=True)
        verdict = event.get("verdict", verdict)
    return verdict


def _write(shown: Any, out: IO[str], trip: dict[str, Any], as_json: bool, as_csv: bool) -> None:
    from fairagents.report.demo import document, table

    if as_json:
        out.write(json.dumps(document(shown), indent=2, ensure_ascii=False) + "\n")
    elif as_csv:
        out.write(table(shown))
    else:
        _render(shown, out, trip)


def _render(shown: Any, out: IO[str], trip: dict[str, Any]) -> None:
    from rich.console import Console

    from fairagents.report.terminal import render

    fancy = out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    width = None if out.isatty() else 110
    console = Console(
        file=out,
        force_terminal=fancy,
        no_color=not fancy,
        width=width,
        highlight=False,
        soft_wrap=False,
    )
    interests = ", ".join(_words(trip["interests"])) or "anything"
    title = (
        f"Trips from {trip['origin']} in {trip['month']}, {trip['days']} days, "
        f"{trip['budget']} budget, for {interests}"
    )
    render(shown, console, title=title)


@app.command("run")
def run_(
    config: Annotated[str, typer.Argument(help="A TOML file that describes the experiment.")],
    output: Annotated[str, typer.Option("-o", "--output", help="JSONL file to write.")] = "",
    limit: Annotated[int | None, typer.Option(help="Only the first so many cases.")] = None,
) -> None:
    """Run an experiment and write one JSON line per case and rule.

    Example: fairagents run configs/tourism.toml -o runs/tourism.jsonl
    """
    from fairagents.experiment import Experiment

    # Plug-ins written `module:Class` may stand in the folder one works in, as with `python -m`.
    sys.path.insert(0, str(Path.cwd()))
    experiment = Experiment.load(config)
    if limit is not None:
        experiment = Experiment(**{**dict(experiment), "limit": limit})
    path = Path(output or f"runs/{Path(config).stem}.jsonl")
    if path.resolve() == Path(config).resolve():
        raise SpecError(f"--output {output!r} is the experiment's own file")

    def progress(done: int, total: int) -> None:
        if sys.stderr.isatty():
            typer.echo(f"\r{done}/{total} cases", nl=done == total, err=True)

    experiment.run(path, progress)
    typer.echo(f"wrote {path}")


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(help="rules, evaluators, policies, usecases, ...")] = "",
    name: Annotated[str, typer.Argument(help="A rule, to be told all about it.")] = "",
    needs: Annotated[str, typer.Option(help="Rules that read this form of ballot.")] = "",
    axiom: Annotated[str, typer.Option(help="Rules that keep this axiom.")] = "",
) -> None:
    """List the names that configuration files and options understand.

    `list rules` says of each rule what it reads and what it does; `--needs ranks --axiom condorcet`
    narrows that down; `list rules borda` tells of one rule which axioms it keeps, why, and where
    it fails the others.
    """
    from fairagents.report import listing
    from fairagents.rules.base import RULES

    if kind not in ("", "rules") and (name or needs or axiom):
        raise SpecError(f"a name, --needs and --axiom go with rules, not with {kind!r}")
    if name:
        lines = list(listing.rule_card(RULES.get(name)))
    elif kind == "rules" or needs or axiom:
        lines = list(listing.rules(needs, axiom)) or ["no rule reads that and keeps that"]
    else:
        lines = list(listing.names(kind))
    typer.echo("\n".join(lines))


def main() -> None:
    """Run the command line; a mistake is one clear line, and the exit code says of what kind."""
    debug = "--debug" in sys.argv
    if debug:
        sys.argv.remove("--debug")
    try:
        _check_options(sys.argv[1:])
        app()
    except BrokenPipeError:
        # The reader has seen enough; closing standard error keeps Python from saying so.
        sys.stderr.close()
    except OSError as error:
        _fail(FairagentsError(f"can't write: {error.strerror}"), Exit.failed, debug)
    except ModelUnavailable as error:
        _fail(error, Exit.unavailable, debug)
    except SpecError as error:
        _fail(error, Exit.usage, debug)
    except InfeasibleError as error:
        hint = "; --k sets the size of the slate" if "slate size" in str(error.limits) else ""
        _fail(InfeasibleError(f"{error}{hint}", error.limits), Exit.failed, debug)
    except FairagentsError as error:
        _fail(error, Exit.failed, debug)


def _check_options(arguments: list[str]) -> None:
    """Refuse a mistyped option by naming the one that was meant."""
    commands: Any = getattr(typer.main.get_command(app), "commands", {})
    command = commands.get(arguments[0]) if arguments else None
    if command is None:
        return
    known = ["-h", "--help", *(opt for p in command.params for opt in p.opts)]
    for word in arguments[1:]:
        name = word.partition("=")[0]
        if name.startswith("--") and name != "--" and name not in known:
            raise SpecError(f"no option {name!r}; {did_you_mean(name, known)}")


def _fail(error: Exception, code: Exit, debug: bool) -> None:
    if debug:
        raise error
    typer.echo(f"fairagents: {error}", err=True)
    raise SystemExit(int(code))
