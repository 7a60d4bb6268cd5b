"""How a model and its server are named: references and addresses, checked before anything is sent.

Private: `fairagents.models` is the way in.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from fairagents.errors import SpecError

DEFAULT_URL = "http://127.0.0.1:11434"


def parse_ref(ref: str) -> tuple[str, str]:
    """Split a model reference into provider and name.

    Raises:
        SpecError: if the provider is missing or is not `ollama`, or the name is empty.

    >>> parse_ref("ollama:llama3.2:3b")
    ('ollama', 'llama3.2:3b')
    """
    provider, colon, name = ref.partition(":")
    if not colon:
        raise SpecError(f"model {ref!r} names no provider: write 'ollama:{ref or 'llama3.2'}'")
    if provider != "ollama":
        raise SpecError(
            f"provider {provider!r} of model {ref!r} is not supported: only 'ollama' is, as in "
            f"'ollama:llama3.2'; of another, give the LangChain chat model object itself"
        )
    if not re.fullmatch(r"\S+", name) or name.startswith(":") or name.endswith(":"):
        raise SpecError(f"model {ref!r} names no model: write, say, 'ollama:llama3.2'")
    return provider, name


def resolve_url(url: str | None = None) -> str:
    """Return the address of the Ollama server, checked.

    Args:
        url: `http(s)://host[:port][/path]`; without a port, 80 or 443 is meant. None takes the
            environment variable `OLLAMA_HOST` in all of Ollama's own forms (`host`, `host:port`,
            `:port`, a full URL; without a scheme the port is 11434 unless given), and without
            that `http://127.0.0.1:11434`. `0.0.0.0` and `::`, which a server listens on, become
            the loopback address.

    Raises:
        SpecError: if the address is malformed, ends in `/v1` or `/api`, or holds a password:
            addresses are recorded with every result (set `OLLAMA_API_KEY` for a key).

    >>> resolve_url("http://0.0.0.0:11434/")
    'http://127.0.0.1:11434'
    """
    where, text = "url", url
    if text is None:
        where, text = "OLLAMA_HOST", os.environ.get("OLLAMA_HOST", "").strip(" \"'")
        if not text:
            return DEFAULT_URL
        if "://" not in text:
            text = _complete(text)
    right = f"write, say, {DEFAULT_URL!r}"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise SpecError(f"{where} {_hidden(text)!r} is malformed ({error}): {right}") from None
    if parts.scheme not in ("http", "https"):
        raise SpecError(f"{where} {_hidden(text)!r} must begin with http:// or https://: {right}")
    if "@" in parts.netloc:
        raise SpecError(
            f"{where} {_hidden(text)!r} holds a user or password, which would be recorded: "
            f"leave it out and set OLLAMA_API_KEY if a key is needed"
        )
    if not host or not re.fullmatch(r"[\w.:%-]+", host) or port == 0:
        raise SpecError(f"{where} {text!r} names no host or no port: {right}")
    path = parts.path.rstrip("/")
    if path.endswith(("/v1", "/api")):
        raise SpecError(f"{where} {text!r} must not end in {path[path.rindex('/') :]!r}: {right}")
    if parts.query or parts.fragment or re.search(r"\s", path):
        raise SpecError(f"{where} {text!r} has more than scheme, host, port and path: {right}")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}{path}"


def _complete(text: str) -> str:
    """Return a full URL for a form of OLLAMA_HOST without a scheme."""
    place, slash, path = text.partition("/")
    host, _, port = place.rpartition(":") if re.search(r":\d*$", place) else (place, "", "")
    if place.count(":") > 1 and not place.startswith("["):  # a bare IPv6 address
        host, port = f"[{place}]", ""
    return f"http://{host or '127.0.0.1'}:{port or 11434}{slash}{path}"


def _hidden(text: str) -> str:
    """Return an address without the user and password it may hold."""
    return re.sub(r"(://|\A)[^/@]*@", r"\1***@", text)
