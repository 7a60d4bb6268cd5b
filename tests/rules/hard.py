"""Electorates on which axioms fail and that chance finds seldom."""

from __future__ import annotations

import numpy as np

from fairagents.rules.electorate import Electorate

SAID: list[tuple[list[list[float]], tuple[int, ...]]] = [
    # c, second to different ones, reaches a majority first and loses every duel.
    ([[3, 1, 0, 2], [0, 3, 1, 2], [1, 0, 3, 2], [3, 2, 1, 0], [1, 3, 2, 0], [2, 1, 3, 0]],
     (6, 6, 6, 4, 4, 4)),
    # c is nearly best for most, each of whom puts another first.
    ([[1, 0, 0.95], [0, 1, 0.95], [1, 1, 0]], (2, 2, 1)),
    # a beats b by 1; two clones of a and a beat each other by 3.
    ([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]], (2, 2, 2, 2, 2, 1)),
    ([[0, 0, 1], [0, 1, 0], [0.5, 0, 1], [0.5, 1, 0], [1, 0, 0]], (2, 2, 3, 3, 1)),
    ([[0.5, 1, 0], [0, 0, 1], [1, 0, 0.5]], (4, 4, 2)),
    ([[0.6, 0.8], [1, 0.8]], (1, 1)),
    ([[4, 1, 3, 2, 0], [1, 4, 2, 0, 3], [2, 3, 0, 1, 4], [3, 1, 4, 0, 2]], (7, 3, 8, 2)),
    ([[1, 0, 2, 3], [1, 3, 2, 0], [2, 1, 0, 3], [2, 1, 3, 0]], (3, 9, 7, 3)),
    # Found from margins at random, then made smaller; stable voting lets d, raised, lose.
    ([[3, 2, 0, 5, 1, 4], [3, 2, 5, 4, 1, 0], [2, 3, 1, 0, 4, 5], [3, 2, 5, 1, 0, 4],
      [4, 3, 2, 5, 1, 0], [3, 4, 2, 5, 1, 0], [3, 4, 2, 1, 0, 5], [3, 2, 1, 0, 5, 4],
      [4, 3, 0, 5, 2, 1], [3, 2, 1, 4, 0, 5], [5, 1, 4, 0, 3, 2]],
     (6, 13, 10, 6, 7, 8, 6, 3, 5, 11, 6)),
    # Found in the same way: stable voting elects a, and upside down as well.
    ([[3, 1, 0, 2], [2, 3, 1, 0], [0, 1, 3, 2], [0, 2, 3, 1], [3, 2, 1, 0]], (4, 1, 4, 1, 1)),
]  # fmt: skip
"""Electorates that chance finds seldom: what was said (scaled to [0, 1]) and the weights."""


def of_masks(pairs: list[tuple[int, int]], m: int, size: int) -> Electorate:
    """Voters by what they approve, as bits, and their weights."""
    said = np.array([[float(mask >> i & 1) for i in range(m)] for mask, _ in pairs])
    return Electorate(said, tuple(weight for _, weight in pairs), size)


AB, TWELVE = 3 << 12, 2**12 - 1
# Found by integer programmes over the types of voters, but for Brill et al. 2017 (as commonly
# stated), where the first two deserve two of twelve.
SEVEN = of_masks(
    [(16, 33), (26, 39), (32, 34), (44, 33), (55, 76), (66, 34), (68, 37), (73, 74), (128, 60)],
    8, 7,
)  # fmt: skip
FIVE = of_masks([(95, 116), (159, 70), (224, 23), (288, 37), (415, 54)], 9, 5)
BRILL = of_masks([(AB | 1, 2), (AB | 2, 2), (TWELVE, 6), (TWELVE - 1, 5), (TWELVE - 3, 9)], 14, 12)
COPIES = of_masks([(30, 2), (12, 2), (58, 3), (3, 4), (44, 2), (49, 3)], 6, 1)
RAISED = of_masks([(1, 1), (6, 4), (4, 1), (1, 2), (0, 1), (5, 4), (2, 3)], 3, 1)
UPSIDE = of_masks(
    [(1, 70), (4, 15), (5, 21), (6, 45), (8, 21), (9, 1), (10, 53), (13, 15), (14, 13)], 4, 1
)
SERVED, AGREED = of_masks([(58, 2), (63, 2), (9, 3)], 7, 5), of_masks([(23, 2), (30, 3)], 5, 3)


def of_said(said: list[list[float]], weights: tuple[int, ...]) -> Electorate:
    """Voters by what they say, scaled to [0, 1], and their weights."""
    array = np.array(said, dtype=float)
    return Electorate(array / max(1.0, array.max()), weights, 2)


HARD = [
    *(of_said(said, weights) for said, weights in SAID),
    *(SEVEN, FIVE, BRILL, COPIES, RAISED, UPSIDE, SERVED, AGREED),
]
