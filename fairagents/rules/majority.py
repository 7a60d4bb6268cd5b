"""The majority graph: who beats whom, dominant sets, and the strongest paths.

Matrices here are margins (antisymmetric whole numbers) or relations (booleans) over kinds of
alternatives, as `fairagents.rules.duels` makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairagents.profile import Profile
from fairagents.rules.duels import Duels, Strength
from fairagents.spec import Bools, Ints


def smith_tiers(margin: Any) -> Ints:
    """Return the tier of each row, shape (c,): the Smith set, that of the rest, and so on.

    A set is dominant if each member beats each outsider. Dominant sets are nested, and members have
    more Copeland points than outsiders; so the first k by points are dominant if and only if their
    doubled points reach k (k - 1) from duels among them plus 2 k (c - k) from duels won outside.
    O(c^2). Source: Good 1971, Smith 1973; the test by sums as Landau's theorem (as commonly
    stated).

    >>> smith_tiers(np.array([[0, 1, -1, 1], [-1, 0, 1, 1], [1, -1, 0, 1], [-1, -1, -1, 0]]))
    array([0, 0, 0, 1])
    """
    c = len(margin)
    points = np.count_nonzero(margin > 0, axis=1) - np.count_nonzero(margin < 0, axis=1) + c - 1
    order = np.argsort(-points, kind="stable")
    sizes = np.arange(1, c + 1)
    ends = np.cumsum(points[order]) == sizes * (2 * c - sizes - 1)
    tiers = np.zeros(c, dtype=np.int64)
    tiers[order[1:]] = np.cumsum(ends[:-1])
    return tiers


def components(relation: Bools) -> tuple[int, Ints]:
    """Return the number of strongly connected components and that of each row, shape (c,)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array(relation.astype(np.int8))
    count, labels = connected_components(graph, connection="strong")
    return int(count), labels.astype(np.int64)


def component_layers(relation: Bools) -> tuple[Ints, Ints]:
    """Return the strongly connected component of each row and its layer, shape (c,) each.

    Components are acyclic among each other; `layers` says what their layers are.
    """
    count, labels = components(relation)
    winners, losers = np.nonzero(relation)
    between = np.zeros((count, count), dtype=bool)
    between[labels[winners], labels[losers]] = True
    np.fill_diagonal(between, False)
    return labels, layers(between)[labels]


def schwartz_tiers(margin: Any) -> Ints:
    """Return the tier of each row, shape (c,): the Schwartz set, that of the rest, and so on.

    The Schwartz set is the union of the minimal sets that nobody outside beats: the strongly
    connected components of the majority graph that no other component beats. O(c^2).
    Source: Schwartz 1972 (as commonly stated).

    >>> schwartz_tiers(np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 0]]))
    array([0, 1, 0])
    """
    return component_layers(margin > 0)[1]


def layers(relation: Bools) -> Ints:
    """Return the layer of each row of an acyclic relation, shape (c,): 0 is beaten by nobody.

    The others are as deep as the longest chain of defeats that ends in them. O(c^2).
    """
    beaten = np.count_nonzero(relation, axis=0)
    deep = np.zeros(len(relation), dtype=np.int64)
    free = np.flatnonzero(beaten == 0)
    level = 0
    while len(free):
        deep[free] = level
        beaten[free] = -1
        beaten -= np.count_nonzero(relation[free], axis=0)
        free = np.flatnonzero(beaten == 0)
        level += 1
    return deep


def smith_set(profile: Profile) -> tuple[str, ...]:
    """Return the Smith set: the smallest set whose members each beat every outsider.

    Raises:
        BallotError: too many alternatives for a matrix of duels.

    >>> smith_set(Profile.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]))
    ('a', 'b', 'c')
    """
    return _members(profile, smith_tiers)


def schwartz_set(profile: Profile) -> tuple[str, ...]:
    """Return the Schwartz set: the union of the minimal sets that nobody outside beats.

    Raises:
        BallotError: too many alternatives for a matrix of duels.

    >>> schwartz_set(Profile.from_rankings([["a", "b", "c"], ["c", "a", "b"]]))
    ('a', 'c')
    """
    return _members(profile, schwartz_tiers)


def _members(profile: Profile, tiers: Any) -> tuple[str, ...]:
    duels = Duels.of(profile)
    first = (tiers(duels.margin) == 0)[duels.kinds]
    return tuple(profile.ids[i] for i in np.flatnonzero(first).tolist())


# -- paths ---------------------------------------------------------------------------------------


def strengths(duels: Duels, by: Strength) -> Any:
    """Return how strong each won duel is, 0 where it is not won, shape (c, c)."""
    return np.where(duels.margin > 0, duels.margin if by == "margins" else duels.above, 0)


def coded(strength: Any) -> tuple[Any, Any]:
    """Return strengths as small codes in the same order, and the strength of each code.

    Few voters give few distinct strengths, and bytes are compared many at a time.
    """
    most = strength.max(initial=0)
    if strength.dtype.itemsize <= 2:
        seen = np.zeros(int(most) + 1, dtype=bool)
        seen[strength] = True
        seen[0] = True
        values = np.flatnonzero(seen)
        codes = (np.cumsum(seen) - 1).astype(_unsigned(len(values)))
        return codes[strength], values
    values = np.unique(np.append(strength.ravel(), strength.dtype.type(0)))
    return np.searchsorted(values, strength).astype(_unsigned(len(values))), values


def strongest_paths(codes: Any) -> Any:
    """Return the strength of the strongest path from each row to each column, shape (c, c).

    A path is as strong as its weakest duel. Floyd & Warshall's scheme, O(c^3) with vector steps.
    """
    paths = codes.copy()
    through = np.empty_like(paths)
    for k in range(len(paths)):
        np.minimum(paths[:, k, None], paths[k], out=through)
        np.maximum(paths, through, out=paths)
    return paths


def paths_by_tier(codes: Any, tiers: Ints, whole: int) -> Any:
    """Return strongest paths within parts of the Smith tiers, shape (c, c).

    No path leads up from a lower tier and none that leaves a tier comes back, so each tier is
    searched on its own. From a higher to a lower tier the direct duel stands for the strongest
    path: both are positive and the way back is 0, which is all that who beats whom depends on.

    Args:
        codes: strengths, shape (c, c).
        tiers: as `smith_tiers` gives them, shape (c,).
        whole: so many of the best are searched together, so that their paths are all true.
    """
    paths = codes.copy()
    for part in parts_of(tiers, whole):
        if len(part) == len(paths):
            return strongest_paths(codes)
        if len(part) > 1:
            cells = np.ix_(part, part)
            paths[cells] = strongest_paths(codes[cells])
    return paths


def parts_of(tiers: Ints, whole: int = 0) -> Sequence[Ints]:
    """Return the rows of each tier, the tiers that hold the first `whole` rows together."""
    order = np.argsort(tiers, kind="stable")
    ends = np.flatnonzero(np.diff(tiers[order], append=-1)) + 1
    ends = ends[min(np.searchsorted(ends, whole), len(ends) - 1) :]
    return np.split(order, ends[:-1])


def ones(number: int) -> list[int]:
    """Return the positions of the bits that are set."""
    found = []
    while number:
        lowest = number & -number
        found.append(lowest.bit_length() - 1)
        number ^= lowest
    return found


def _unsigned(count: int) -> Any:
    return np.uint8 if count <= 2**8 else np.uint16 if count <= 2**16 else np.uint32
