"""Seeds and tie keys derived by hashing: they depend on names, never on order or concurrency."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]


def derive(seed: int, *names: object) -> int:
    """Return a seed in [0, 2**63) for one named purpose under a study's seed.

    >>> derive(0, "case-1", "traveller", 1) == derive(0, "case-1", "traveller", 1)
    True
    >>> derive(0, "case-1", "traveller", 1) == derive(0, "case-1", "traveller", 2)
    False
    """
    text = "\x1f".join(str(name) for name in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def id_words(ids: Iterable[str]) -> Words:
    """Return one 64-bit word per id, the head of its SHA-256, shape (m,)."""
    return np.array([_word(one) for one in ids], dtype=np.uint64)


@functools.lru_cache(maxsize=2**17)
def _word(one: str) -> int:
    return int.from_bytes(hashlib.sha256(one.encode()).digest()[:8])


def tie_keys(seed: int | Words, words: Words) -> Words:
    """Return the tie-break key of each id under a seed; the smaller key goes first.

    SplitMix64's finaliser (Steele, Lea & Flood 2014) over `word xor seed`: a keyed shuffle that is
    the same for one seed, whatever the order of the ids, and unrelated between seeds.

    Args:
        seed: one seed, or an array of shape (..., 1) that broadcasts against `words`.
        words: what `id_words` returns, shape (m,).
    """
    mask = np.uint64(seed) if isinstance(seed, int) else seed.astype(np.uint64)
    with np.errstate(over="ignore"):
        z = (words ^ mask) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
