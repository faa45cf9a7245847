"""Runs test programs with one mutant at a time."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
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
    """A test program, and which mutants' code each of its cases runs."""

    path: Path
    seconds: float
    cases: list[tuple[str, bytes]]  # name, or "*" for all, and a byte for each mutant's number

    @property
    def limit(self) -> float:
        """Generous: other programs run too."""
        return 10 + 5 * self.seconds

    def filter(self, number: int | None) -> str:
        """The cases that a mutant could change."""
        names = [name for name, reached in self.cases if number is None or reached[number]]
        return "*" if len(names) == len(self.cases) else ":".join(names)


def run(program: Path, limit: float | None, environment: dict[str, str]) -> tuple[int | None, str]:
    """Its exit status, None when the time was over, and the beginning of its output."""
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
        return status, output.read().decode(errors="replace")[:3000]


def reached_in(path: Path, environment: dict[str, str]) -> bytes:
    """Which mutants' code it runs."""
    with tempfile.NamedTemporaryFile() as reached:
        reached.truncate(MUTANTS_AT_MOST)
        status, output = run(path, None, environment | {"RPCRDMA_MUTANTS_REACHED": reached.name})
        if status != 0:
            sys.exit(f"mutants: {path.name} fails without a mutant:\n{output}")
        return Path(reached.name).read_bytes()


def case_names(path: Path) -> list[str]:
    """Nothing if it is no GoogleTest program."""
    listed = subprocess.run([path, "--gtest_list_tests"], capture_output=True, text=True, check=False).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        word = line.split("#")[0].rstrip()
        if word.endswith(".") and not word.startswith(" "):
            suite = word
        elif suite and word.startswith("  "):
            names.append(suite + word.strip())
    return [name for name in names if not re.search(r"(^|[./])DISABLED_", name)]


def without_mutant(path: Path, jobs: int) -> Program:
    begun = time.monotonic()
    whole = reached_in(path, {})
    seconds = time.monotonic() - begun
    names = case_names(path)
    with ThreadPoolExecutor(jobs) as pool:
        each = list(pool.map(lambda name: reached_in(path, {"GTEST_FILTER": name}), names))
    return Program(path, seconds, list(zip(names, each)) or [("*", whole)])


def outcome(programs: list[Program], number: int | None) -> Outcome:
    """`programs`: the fastest first. None: of the mutant that was built alone."""
    is_reached = False
    for program in programs:
        chosen = program.filter(number)
        if not chosen:
            continue
        is_reached = True
        mutant = {"RPCRDMA_MUTANT": str(number or 0), "GTEST_FILTER": chosen}
        status, _ = run(program.path, program.limit, mutant)
        if status is None:
            return Outcome.TIMED_OUT
        if status != 0:
            return Outcome.KILLED
    return Outcome.SURVIVED if is_reached else Outcome.NOT_REACHED
