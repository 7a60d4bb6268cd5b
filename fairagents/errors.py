"""The error tree: every error says what is wrong, where, and what would be right."""

from __future__ import annotations

import asyncio
import difflib
import traceback
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class FairagentsError(Exception):
    """The base of every error this package raises on purpose."""


class SpecError(FairagentsError, ValueError):
    """A specification, a name or a value given by the user is wrong."""


class CatalogueError(SpecError):
    """A catalogue, one of its columns or one of its cells is wrong."""


class BallotError(SpecError):
    """A ballot or a profile is wrong."""


class InfeasibleError(FairagentsError, ValueError):
    """No outcome meets all limits; `limits` names a minimal set that clashes.

    Attributes:
        limits: labels of limits that cannot hold together; leaving out any one of them helps.
    """

    def __init__(self, message: str, limits: tuple[str, ...] = ()) -> None:
        """Keep the message and the labels of the clashing limits."""
        super().__init__(message)
        self.limits = limits


class ModelUnavailable(FairagentsError):
    """No server answers, or the model is not there; the message says what to do."""


class DecisionError(FairagentsError):
    """A council could not come to a decision; the message says why."""


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Return a hint that names the options closest to a mistyped name.

    Args:
        name: what was given.
        options: what exists.

    Returns:
        `"did you mean 'borda'?"`, or the sorted list of what exists when nothing is close.

    >>> did_you_mean("bord", ["copeland", "borda"])
    "did you mean 'borda'?"
    >>> did_you_mean("zzz", ["copeland", "borda"])
    "known: 'borda', 'copeland'"
    """
    known = sorted(options)
    close = difflib.get_close_matches(name, known, n=1)
    if not close:
        folded = {option.casefold(): option for option in known}
        close = [folded[m] for m in difflib.get_close_matches(name.casefold(), list(folded), n=1)]
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(repr(option) for option in known[:20])
    return f"known: {shown}" + (", ..." if len(known) > 20 else "")


@dataclass(frozen=True)
class Failure:
    """What `guard` caught: the exception's type, its message and its traceback, as texts."""

    kind: str
    message: str
    traceback: str


def guard(call: Callable[..., T], *args: object, **kwargs: object) -> T | Failure:
    """Run foreign code (an evaluator, a policy, a chat model) and turn a crash of it into data.

    This is the one border that catches `Exception`. LangGraph's own control flow, cancellation,
    KeyboardInterrupt and this package's errors pass through it.

    Returns:
        What `call` returned, or a `Failure` with the traceback kept.

    >>> guard(lambda: 1 / 0).kind
    'ZeroDivisionError'
    """
    try:
        return call(*args, **kwargs)
    except FairagentsError:
        raise
    except Exception as error:
        if any(cls.__name__ == "GraphBubbleUp" for cls in type(error).__mro__):
            raise
        return failure_of(error)


async def aguard(awaitable: Awaitable[T]) -> T | Failure:
    """Wait for foreign code and turn a crash of it into data, as `guard` does."""
    (found,) = await asyncio.gather(awaitable, return_exceptions=True)

    def unwrap() -> T:
        if isinstance(found, BaseException):
            raise found
        return found

    return guard(unwrap)


def failure_of(error: Exception) -> Failure:
    """Return an exception as data."""
    return Failure(type(error).__name__, str(error), "".join(traceback.format_exception(error)))
