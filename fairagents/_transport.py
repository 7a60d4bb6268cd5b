"""What goes wrong on the way to a model's server, and the settings of the client that talks to it.

Private: `fairagents.models` is the way in.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Literal
from urllib.parse import urlsplit

from fairagents.errors import FairagentsError, ModelUnavailable


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
