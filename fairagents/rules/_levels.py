"""Tiers from totals and keys, of one profile or many at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairagents.spec import Floats, Ints


def levels_within(totals: Floats | Ints, tolerance: float) -> Ints:
    """Return tiers by descending total, shape (..., m), as `levels_of` gives them of one row."""
    order = np.argsort(-totals, axis=-1, kind="stable")
    ordered = np.take_along_axis(totals, order, axis=-1)
    steps = np.zeros(ordered.shape, dtype=np.int64)
    np.cumsum(ordered[..., :-1] - ordered[..., 1:] > tolerance, axis=-1, out=steps[..., 1:])
    levels: Ints = np.empty_like(steps)
    np.put_along_axis(levels, order, steps, axis=-1)
    return levels


def by_keys(*keys: Floats | Ints, tolerance: float = 0.0) -> Ints:
    """Return tiers by the first key, equals by the second, ...; all of shape (..., m).

    >>> by_keys(np.array([1, 1, 2]), np.array([3, 4, 0])).tolist()
    [2, 1, 0]
    """
    levels = levels_within(keys[0], tolerance)
    for key in keys[1:]:
        # Keys are compared with a tolerance, so they are made whole numbers first.
        finer = levels * key.shape[-1] + levels_within(key, tolerance)
        levels = levels_within(-finer, 0)
    return levels


def lexicographic(keys: Any) -> Ints:
    """Return tiers of rows that are compared number by number, more is better.

    Args:
        keys: shape (..., m, k).

    Returns:
        Tiers, shape (..., m).
    """
    m, k = keys.shape[-2:]
    rows = keys.reshape(-1, k)
    profiles = np.arange(len(rows)) // m
    order = np.lexsort((*(-rows.T[::-1]), profiles))
    steps = np.zeros(len(rows), dtype=np.int64)
    np.cumsum((rows[order[1:]] != rows[order[:-1]]).any(axis=1), out=steps[1:])
    by_profile = steps.reshape(-1, m)
    levels = np.empty_like(steps)
    levels[order] = (by_profile - by_profile[:, :1]).ravel()
    return levels.reshape(keys.shape[:-1])


def runs(values: Floats, weights: Any) -> Floats:
    """Return each alternative's sorted values as keys for `lexicographic`, weights as clones.

    Equal values are one run: (value, - weight up to its end). Of two alternatives with the same
    runs so far, the one with the greater next value, or else with the shorter next run, is better
    off at the first place where their sorted vectors differ.

    Args:
        values: shape (..., m, n).
        weights: whole numbers, shape (n,).

    Returns:
        Keys, shape (..., m, 2 n).
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    ends = np.cumsum(weights[order], axis=-1)
    codes = np.unique(ends, return_inverse=True)[1].reshape(ends.shape)
    last = np.ones(ordered.shape, dtype=bool)
    last[..., :-1] = ordered[..., 1:] != ordered[..., :-1]
    keys = np.zeros((*ordered.shape, 2))
    where = (*np.nonzero(last)[:-1], (np.cumsum(last, axis=-1) - 1)[last])
    keys[where] = np.stack([ordered[last], -codes[last]], axis=-1)
    return keys.reshape(*ordered.shape[:-1], -1)
