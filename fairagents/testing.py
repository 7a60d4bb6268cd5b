"""A stand-in for an Ollama server, for tests and for trying things offline.

`FakeOllama` speaks Ollama's protocol on loopback, so the real client is exercised: real HTTP, real
streams, real errors. It answers with what the JSON schema of the request asks for, the same every
time, or in one of the ways in which models and servers are known to fail.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from fairagents._fake import BEHAVIOURS, Body, checked, content, embedding, generate

__all__ = ["BEHAVIOURS", "FakeOllama", "Request", "Script", "generate"]

Script = Sequence[str] | Callable[[Body], str]

_NOW = "2025-01-01T00:00:00Z"


@dataclass(frozen=True)
class Request:
    """One request as it was sent.

    Attributes:
        path: the path, say `"/api/chat"`.
        body: the JSON body; empty for GET.
        behaviour: how a chat was answered: a name in `BEHAVIOURS`, or `"literal"`; else empty.
    """

    path: str
    body: Body
    behaviour: str = ""


class FakeOllama:
    """An Ollama server on loopback that answers from the JSON schema it is sent.

    It knows POST `/api/chat` (streamed or not), `/api/show`, `/api/embed` and GET `/api/tags`,
    `/api/version`. Use it as a context manager.

    Args:
        models: names of the models that are "pulled"; without a tag, `:latest` is meant.
        script: how to answer the chats: names in `BEHAVIOURS`, used up in order of arrival, or a
            function from the request's body to such a name. Anything that is not one word is
            taken as the literal content of the answer.
        default: how to answer once the script is used up.
        delay: seconds to wait before each answer to a chat.
        hang: seconds after which a hanging answer is given up; closing the server ends it at once.

    Attributes:
        requests: every request as sent, in order of arrival.
        most_at_once: the largest number of chats that waited for their answer at the same time.

    Raises:
        SpecError: if a behaviour is not known.

    >>> with FakeOllama(models=("tiny",), script=["truncated"]) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        models: Sequence[str] = ("fake:latest",),
        script: Script = (),
        default: str = "valid",
        *,
        delay: float = 0.0,
        hang: float = 30.0,
    ) -> None:
        self.models = tuple(m if ":" in m else f"{m}:latest" for m in models)
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._choose = script if callable(script) else None
        self._script = [] if callable(script) else [checked(name) for name in script]
        self._default = checked(default)
        self._delay, self._hang = delay, hang
        self._at_once = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the server, say `http://127.0.0.1:40123`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def chats(self) -> list[Request]:
        """The requests to `/api/chat` only."""
        return [request for request in self.requests if request.path == "/api/chat"]

    def close(self) -> None:
        """Stop the server and wait for its threads; answers that hang are dropped."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _record(self, path: str, body: Body) -> str:
        """Record a request and return how to answer it."""
        with self._lock:
            behaviour = ""
            if path == "/api/chat":
                if self._choose is not None:
                    behaviour = checked(self._choose(body))
                else:
                    behaviour = self._script.pop(0) if self._script else self._default
            known = behaviour in BEHAVIOURS or not behaviour
            self.requests.append(Request(path, body, behaviour if known else "literal"))
            return behaviour

    def _has(self, name: str) -> bool:
        return name in self.models or f"{name}:latest" in self.models

    def _wait(self) -> None:
        """Let a chat wait, and count it; sending is not counted: a client may be quicker."""
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        self._closing.wait(self._delay)
        with self._lock:
            self._at_once -= 1

    def _tags(self) -> Body:
        return {
            "models": [
                {
                    "name": name,
                    "model": name,
                    "modified_at": _NOW,
                    "size": 1,
                    "digest": hashlib.sha256(name.encode()).hexdigest(),
                    "details": {"format": "gguf", "family": "fake"},
                }
                for name in self.models
            ]
        }


class _Server(ThreadingHTTPServer):
    # Joined on closing: a thread that outlives its test would blame the next one.
    daemon_threads = False

    def __init__(self, address: tuple[str, int], fake: FakeOllama) -> None:
        self.fake = fake
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 5  # seconds; a client that connects and says nothing must not block closing
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing; `requests` has it all."""

    def do_GET(self) -> None:
        fake = self.server.fake
        fake._record(self.path, {})
        match self.path:
            case "/api/tags":
                self._json(fake._tags())
            case "/api/version":
                self._json({"version": "0.0.0-fake"})
            case _:
                self._json({"error": "404 page not found"}, 404)

    def do_POST(self) -> None:
        fake = self.server.fake
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        # A client that gave up before the answer is no fault of the server.
        with contextlib.suppress(ConnectionError):
            try:
                behaviour = fake._record(self.path, body)
                self._answer(body, behaviour)
            except (ValueError, KeyError) as error:
                self._json({"error": f"{type(error).__name__}: {error}"}, 500)

    def _answer(self, body: Body, behaviour: str) -> None:
        name = str(body.get("model", ""))
        if behaviour == "not_found" or not self.server.fake._has(name):
            self._json({"error": f"model '{name}' not found"}, 404)
        elif self.path == "/api/chat":
            self.server.fake._wait()
            self._chat(body, behaviour)
        elif self.path == "/api/show":
            self._json({"details": {"format": "gguf"}, "capabilities": ["completion"]})
        elif self.path == "/api/embed":
            given = body.get("input", "")
            texts = [given] if isinstance(given, str) else given
            size = body.get("dimensions") or 32
            self._json({"model": name, "embeddings": [embedding(text, size) for text in texts]})
        else:
            self._json({"error": "404 page not found"}, 404)

    def _chat(self, body: Body, behaviour: str) -> None:
        if behaviour == "hang":
            self.server.fake._closing.wait(self.server.fake._hang)
            self.close_connection = True
            return
        if behaviour == "http_500":
            self._json({"error": "the model runner has stopped"}, 500)
            return
        literal = behaviour not in BEHAVIOURS
        text = behaviour if literal else content(behaviour, body)
        message: Body = {"role": "assistant", "content": text}
        if behaviour == "tool_call":
            call = {"function": {"name": "answer", "arguments": json.loads(text)}}
            message = {"role": "assistant", "content": "", "tool_calls": [call]}
        elif behaviour == "load":
            message["content"] = ""
        words = sum(len(str(m.get("content", "")).split()) for m in body["messages"])
        reason = {"truncated": "length", "load": "load"}.get(behaviour, "stop")
        last = {"done": True, "done_reason": reason, "total_duration": 2_000_000}
        last |= {"prompt_eval_count": words, "eval_count": len(text.split())}
        head = {"model": body["model"], "created_at": _NOW}
        if body.get("stream", True):
            self._stream(head, message, last, behaviour)
        elif behaviour == "error_in_stream":
            self._json({"error": "an error was encountered while running the model"}, 500)
        else:
            cut = 20 if behaviour == "dropped" else None
            self._json({**head, "message": message, **last}, cut=cut)

    def _stream(self, head: Body, message: Body, last: Body, behaviour: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        text = message["content"]
        step = max(1, math.ceil(len(text) / 4))
        parts = [{**message, "content": text[i : i + step]} for i in range(0, len(text), step)]
        if "tool_calls" in message:
            parts = [message]
        failing = behaviour in ("dropped", "error_in_stream")
        for part in parts[:1] if failing else parts:
            self._line({**head, "message": part, "done": False})
        if behaviour == "dropped":
            return
        if behaviour == "error_in_stream":
            self._line({"error": "an error was encountered while running the model"})
        else:
            self._line({**head, "message": {"role": "assistant", "content": ""}, **last})
        self.wfile.write(b"0\r\n\r\n")

    def _line(self, value: Body) -> None:
        data = json.dumps(value).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _json(self, value: Body, status: int = 200, cut: int | None = None) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data[:cut])
