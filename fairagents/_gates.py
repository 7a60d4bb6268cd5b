"""How a server is reached: how much it is asked at once, by what client, and what goes wrong.

Private: `fairagents.models` is the way in.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Literal
from urllib.parse import urlsplit

from fairagents.errors import FairagentsError, ModelUnavailable


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


class TransportError(FairagentsError):
    """A question got no answer, though another try might.

    Attributes:
        code: `"timeout"` when time ran out, waiting for a turn included; else `"transport"`.
    """

    def __init__(self, message: str, code: Literal["transport", "timeout"] = "transport") -> None:
        """Keep both in `args`, so the error survives pickling."""
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])


def client_options(url: str, timeout: float) -> dict[str, Any]:
    """Return settings for Ollama's HTTP clients.

    No connection is kept open between questions. A kept one belongs to the event loop that opened
    it, so the second `asyncio.run` with the same model would fail with "Event loop is closed".
    """
    import httpx

    options: dict[str, Any] = {
        "timeout": timeout,
        "limits": httpx.Limits(max_keepalive_connections=0),
    }
    if url.startswith("http://"):
        # Loading certificates takes .2 s. Without them no redirect may lead to https.
        options |= {"verify": False, "follow_redirects": False}
    if urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost"):
        options["trust_env"] = False  # no proxy can reach this machine's own loopback
    return options


@contextlib.contextmanager
def mapped(url: str, budget: float | None) -> Iterator[None]:
    """Turn what Ollama's client raises into errors of this package."""
    import httpx
    import ollama

    try:
        yield
    except (httpx.TimeoutException, TimeoutError):
        raise late(url, budget) from None
    except ollama.ResponseError as error:
        status, words = error.status_code, line(error)
        if status == 404:
            raise ModelUnavailable(
                f"{url} says: {words}; see `ollama list`, then `ollama pull` the model"
            ) from error
        if 300 <= status < 500 and status not in (408, 425, 429):
            raise ModelUnavailable(f"{url} refuses the request: {words}") from error
        raise TransportError(f"{url} failed: {words}") from error
    except (httpx.HTTPError, ConnectionError) as error:
        raise TransportError(f"{url} gave no answer: {line(error)}") from error
    except ValueError as error:
        # A stream that is empty (the model was only loaded) or not in Ollama's format.
        raise TransportError(f"{url} sent no usable answer: {line(error)}") from error


def late(url: str, budget: float | None) -> TransportError:
    """Return the error of a server that took too long."""
    allowed = "" if budget is None else f" within {budget:g} s, the wait for a turn included"
    return TransportError(f"{url} gave no answer{allowed}", "timeout")


def line(error: Exception) -> str:
    """Return an error in one line of at most 200 characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:197]}..."


def within(call: Callable[[], Any], name: str, seconds: float | None) -> Any:
    """Return what a call returns, or give it up; a thread cannot be stopped, so it runs on."""
    if seconds is None:
        return call()
    pool = ThreadPoolExecutor(1)
    try:
        answer = pool.submit(contextvars.copy_context().run, call)
        done, _ = wait([answer], seconds)
        if not done:
            raise late(name, seconds)
        return answer.result()
    finally:
        pool.shutdown(wait=False)
