"""Runs test programs with one mutant at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

MUTANTS_AT_MOST = 1 << 16  # as in mutant.h
MEMORY_KIB = 6 << 20  # a mutant may allocate without end


class Outcome(Enum):
    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    NOT_REACHED = "survived, and no test runs it"


@dataclass
class Program:
    path: Path
    seconds: float
    reached: bytes  # by number of the mutant

    @property
    def limit(self) -> float:
        """Generous: other programs run too."""
        return 10 + 5 * self.seconds


def run(program: Path, limit: float | None, environment: dict[str, str]) -> tuple[int | None, str]:
    """Its exit status, None when the time was over, and the end of its output."""
    with tempfile.TemporaryDirectory(prefix="mutant") as folder, tempfile.TemporaryFile() as output:
        command = f'ulimit -v {MEMORY_KIB}; ulimit -c 0; exec "$0"'
        process = subprocess.Popen(
            ["/bin/sh", "-c", command, str(program)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"TMPDIR": folder, "GTEST_FAIL_FAST": "1", "GTEST_BRIEF": "1"} | environment,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        try:  # with what it started
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        return status, output.read().decode(errors="replace")[-3000:]


def without_mutant(path: Path) -> Program:
    """How long the program takes, and which mutants' code it runs."""
    with tempfile.NamedTemporaryFile() as reached:
        reached.truncate(MUTANTS_AT_MOST)
        begun = time.monotonic()
        status, output = run(path, None, {"RPCRDMA_MUTANTS_REACHED": reached.name})
        seconds = time.monotonic() - begun
        if status != 0:
            sys.exit(f"mutants: {path.name} fails without a mutant:\n{output}")
        return Program(path, seconds, Path(reached.name).read_bytes())


def outcome(programs: list[Program], number: int | None) -> Outcome:
    """`programs`: the fastest first. None: of the mutant that was built alone."""
    reached = [p for p in programs if number is None or p.reached[number]]
    for program in reached:
        status, _ = run(program.path, program.limit, {"RPCRDMA_MUTANT": str(number or 0)})
        if status is None:
            return Outcome.TIMED_OUT
        if status != 0:
            return Outcome.KILLED
    return Outcome.SURVIVED if reached else Outcome.NOT_REACHED
