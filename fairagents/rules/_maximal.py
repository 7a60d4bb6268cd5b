"""Maximal lotteries: optimal strategies of the game whose payoffs are majority margins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairagents.spec import Bools, Floats, Ints

Game = Callable[[Ints, Ints], Any]
"""(positions, others) -> the margins of the first over the others, of any number type."""

FIRST = 24
"""So many alternatives, the best by Copeland, the search starts with; most games need no more."""

STEPS = 100
"""Newton's method takes some ten steps; it stops at the limit of precision at the latest here."""

CLOSE = 1e-9
"""A margin against the lottery counts as 0 below this, the greatest margin being 1."""


def smith_set(scores: Ints) -> Ints:
    """Return the positions of the smallest set that beats all outside it, best first.

    The k greatest scores are those of such a set if and only if they sum to k (r - k): its members
    win all duels with the others, and what they win and lose among themselves sums to 0.

    Args:
        scores: duels won minus duels lost, shape (r,).

    >>> smith_set(np.array([-3, 1, 1, 1])).tolist()
    [1, 2, 3]
    """
    order = np.argsort(-scores, kind="stable")
    size = np.arange(1, len(scores) + 1)
    closed = np.cumsum(scores[order]) == size * (len(scores) - size)
    found: Ints = order[: int(np.argmax(closed)) + 1]
    return found


def maximal_lottery(game: Game, scores: Ints) -> Floats:
    """Return the maximal lottery of the greatest entropy, shape (r,).

    A maximal lottery p >= 0, sum p = 1, p' M >= 0 always exists. Where there are several, the one
    of the greatest entropy is the only one of its kind, treats alternatives alike that stand
    alike, and gives a chance to all of the essential set, those that any of them gives a chance.

    All lie within the Smith set, and give nothing to alternatives against which any of them holds
    with a margin; so in a large set any one, by linear programming (HiGHS), leaves few to look at.

    Args:
        game: gives the majority margins of some of the r alternatives over others.
        scores: duels won minus duels lost, shape (r,).
    """
    inside = smith = np.sort(smith_set(scores))
    if len(smith) > FIRST:
        some = _some(game, smith, scores)
        support = np.flatnonzero(some)
        inside = smith[some[support] @ _unit(game(support, smith)) < 1e3 * CLOSE]
    even = _placed(inside, np.full(len(inside), 1 / len(inside)), len(scores))
    if _holds(game, even, smith).all():
        return even
    essential = inside[_essential(_unit(game(inside, inside)))]
    bounded = ~np.isin(smith, essential)
    point = _greatest_entropy(_unit(game(essential, smith)), bounded)
    lottery = _placed(essential, point, len(scores))
    return lottery if _holds(game, lottery, smith).all() else _some(game, smith, scores)


def _some(game: Game, smith: Ints, scores: Ints) -> Floats:
    """Return any maximal lottery: a game among the best, which others join as they break it."""
    from scipy.optimize import linprog

    best_first = smith[np.argsort(-scores[smith], kind="stable")]
    active = best_first[:FIRST]
    while True:
        active = np.sort(active)
        k, rows = len(active), -_unit(game(active, active)).T
        found = linprog(
            np.zeros(k), rows, np.zeros(k), np.ones((1, k)), np.ones(1), method="highs-ds"
        ).x
        assert found is not None  # every such game has an optimal strategy
        point = np.maximum(found, 0)
        lottery = _placed(active, point, len(scores))
        against = np.setdiff1d(smith[~_holds(game, lottery, smith)], active)
        if not len(against):
            return lottery
        support = np.flatnonzero(lottery)
        margin = lottery[support] @ _unit(game(support, against))
        worst = against[np.argsort(margin, kind="stable")[: max(FIRST, k)]]
        active = np.union1d(active, worst)


def _holds(game: Game, lottery: Floats, others: Ints) -> Bools:
    """Return against which alternatives a lottery has no margin below 0."""
    support = np.flatnonzero(lottery)
    holds: Bools = lottery[support] @ _unit(game(support, others)) > -CLOSE
    return holds


def _placed(where: Ints, point: Floats, size: int) -> Floats:
    """Return a lottery over some alternatives as one over all, rounding noise taken off."""
    point = np.where(point < 1e-12, 0, point)
    lottery = np.zeros(size)
    lottery[where] = np.round(point / point.sum(), 12)
    return lottery


def _unit(margins: Any) -> Floats:
    """Return margins as floats, the greatest of each column being 1 or -1."""
    greatest = abs(margins).max(axis=0)
    found: Floats = (margins / np.where(greatest == 0, 1, greatest)).astype(np.float64)
    return found


def _essential(game: Floats) -> Bools:
    """Return who has a chance in some maximal lottery of a game, shape (k,).

    Lotteries of any size p >= 0, p' game >= 0 are a cone: where any gives i a chance, one gives
    all of them more than 1 at once, and that is what the programme looks for.
    """
    from scipy.optimize import linprog

    k = len(game)
    nothing, each = np.zeros((k, k)), np.eye(k)
    rows = np.block([[-game.T, nothing], [-each, each]])
    cost = np.repeat([0.0, -1.0], k)
    bounds = [(0, None)] * k + [(0, 1)] * k
    found = linprog(cost, rows, np.zeros(2 * k), bounds=bounds, method="highs-ds").x
    assert found is not None  # 0 is feasible, and the sum is at most k
    essential: Bools = found[k:] > 0.5
    return essential


def _greatest_entropy(game: Floats, bounded: Bools) -> Floats:
    """Return the p > 0 of the greatest entropy with p' game = 0, or >= 0 where bounded, sum p = 1.

    Newton's method on the dual: p is proportional to exp(game x) with the multipliers x, >= 0
    where bounded, that make the logarithm of the sum least. Multipliers that are bounded are kept
    at 0 until their column breaks its bound, as in Lawson & Hanson's least squares.
    """
    x, free = np.zeros(game.shape[1]), ~bounded
    p = np.full(len(game), 1 / len(game))
    for _ in range(STEPS):
        slope = p @ game
        if abs(slope[free]).max() < 1e-13:
            broken = np.where(free, 0, slope)
            if broken.min() > -CLOSE:
                break
            free[broken.argmin()] = True
        part = game[:, free]
        bend = (part.T * p) @ part - np.outer(slope[free], slope[free])
        newton = np.linalg.lstsq(bend, -slope[free])[0]
        # What no Newton step takes off falls at a constant rate, until a multiplier is 0.
        straight = -slope[free] - bend @ newton
        step = np.zeros(len(x))
        step[free] = newton if abs(straight).max() < 1e-11 else straight * 1e9
        falls = bounded & (x + step < 0)
        if falls.any():
            step *= (x[falls] / -step[falls]).min()
        least = _log_sum(game @ x) + 1e-15
        while _log_sum(game @ (x + step)) > least and abs(step).max() > 1e-9:
            step /= 2
        x = np.where(bounded, np.maximum(x + step, 0), x + step)
        free &= ~(falls & (x < 1e-14))
        powers = np.exp(game @ x - (game @ x).max())
        p = powers / powers.sum()
    return p


def _log_sum(powers: Floats) -> float:
    return float(powers.max() + np.log(np.exp(powers - powers.max()).sum()))
