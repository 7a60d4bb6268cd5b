"""How many questions a server is asked at once, by threads and by the tasks of an event loop.

Private: `fairagents.models.limit` is the way in.
"""

from __future__ import annotations

import asyncio
import threading
import weakref


class Gates:
    """Gates by server; 2 at once unless said otherwise."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sizes: dict[str, int] = {}
        self._threads: dict[str, threading.BoundedSemaphore] = {}
        # An asyncio semaphore belongs to the loop it first waits in.
        self._loops: weakref.WeakKeyDictionary[
            asyncio.AbstractEventLoop, dict[str, asyncio.Semaphore]
        ] = weakref.WeakKeyDictionary()

    def resize(self, url: str, n: int) -> None:
        """Let `n` at once through to a server from now on; those under way are not counted.

        The same `n` as before leaves the gates as they are, those under way included.
        """
        with self._lock:
            if self._sizes.get(url, 2) == n:
                return
            self._sizes[url] = n
            self._threads.pop(url, None)
            for gates in self._loops.values():
                gates.pop(url, None)

    def thread(self, url: str) -> threading.BoundedSemaphore:
        """Return the gate of a server that all threads share."""
        with self._lock:
            if url not in self._threads:
                self._threads[url] = threading.BoundedSemaphore(self._sizes.get(url, 2))
            return self._threads[url]

    def task(self, url: str) -> asyncio.Semaphore:
        """Return the gate of a server that the tasks of the running event loop share."""
        with self._lock:
            gates = self._loops.setdefault(asyncio.get_running_loop(), {})
            if url not in gates:
                gates[url] = asyncio.Semaphore(self._sizes.get(url, 2))
            return gates[url]
