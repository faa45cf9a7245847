"""A copy of the project in build/mutants/tree, in which instrumented sources replace those of one folder. Its other
libraries stay compiled from folder to folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from instrument import HEADER

OPTIONS = ["-DRPCRDMA_TESTS=ON", "-DRPCRDMA_TESTS_BY_PROGRAM=ON", "-DRPCRDMA_GUI=OFF", "-DRPCRDMA_WIRESHARK=OFF",
           "-DRPCRDMA_EXTCAP=OFF", "-DRPCRDMA_INSTALL_LIBRARY=OFF", "--no-warn-unused-cli",
           # As in ./dev test quick, whose objects ccache returns for the other folders.
           "-DRPCRDMA_WERROR=ON"]  # fmt: skip
# Only read, and large.
LINKED = "tests/captures"
# Programs of other folders that test this one.
MORE_PROGRAMS = {
    "analyzer/rules": ["rule_scenes_test", "rule_captures_test"],
}


@dataclass
class Library:
    """The sources of a folder's library, and the flags that clang needs to read them."""

    units: list[Path]
    flags: list[str]


def written(path: Path, content: bytes) -> bool:
    """Whether it changed: a file that does not keeps its time, and is not compiled again."""
    if not path.is_symlink() and path.exists() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return True


class Tree:
    def __init__(self, root: Path, folder: str) -> None:
        self.root, self.folder = root, folder
        self.name = folder.replace("/", "-")
        self.path = root / "build/mutants/tree"
        self.build = self.path / "build/quick"
        self.header = self.path / HEADER
        self.environment = os.environ | {"CCACHE_BASEDIR": str(self.path), "CCACHE_NOHASHDIR": "1"}

    def copy(self) -> None:
        """Everything but the folder itself, if it was there before."""
        known = (self.path / self.folder).exists()
        for folder, names, files in os.walk(self.root):
            below = os.path.relpath(folder, self.root)
            if below == ".":
                names[:] = [n for n in names if n not in ("build", ".git")]
            names[:] = [n for n in names if n != "__pycache__" and os.path.normpath(f"{below}/{n}") != LINKED]
            for name in files:
                file = os.path.normpath(f"{below}/{name}")
                if known and file.startswith(self.folder + "/") and Path(file).suffix in (".cc", ".h"):
                    continue
                self.take(file)
        link = self.path / LINKED
        if (self.root / LINKED).exists() and not link.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(self.root / LINKED)
        written(self.header, (Path(__file__).parent / HEADER).read_bytes())

    def take(self, file: str) -> None:
        path = self.root / file
        if path.is_symlink():
            return
        written(self.path / file, path.read_bytes())
        if os.access(path, os.X_OK):
            shutil.copymode(path, self.path / file)

    def sources(self) -> list[Path]:
        """All of the folder, with its tests."""
        return sorted(p for p in (self.root / self.folder).rglob("*") if p.suffix in (".cc", ".h"))

    def replace(self, replaced: dict[str, bytes]) -> bool:
        """The folder's sources: instrumented, or as they are. Whether an instrumented one changed."""
        changed = []
        for path in self.sources():
            file = str(path.relative_to(self.root))
            if written(self.path / file, replaced.get(file) or path.read_bytes()):
                changed.append(file)
        return any(file in replaced for file in changed)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=self.path, env=self.environment, capture_output=True, text=True, check=False)

    def configure(self) -> None:
        done = self.run("cmake", "--preset", "quick", *OPTIONS)
        if done.returncode != 0:
            sys.exit(f"mutants: cmake failed:\n{done.stdout}{done.stderr}")

    def library(self) -> Library:
        """Paths are of the project's own files."""
        units: list[Path] = []
        flags: list[str] = []
        objects = self.build / self.folder / "CMakeFiles"
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            source = Path(entry["file"])
            words = shlex.split(entry["command"])
            output = Path(entry["directory"]) / words[words.index("-o") + 1]
            if not output.is_relative_to(objects) or not output.relative_to(objects).parts[0].startswith("rpcrdma_"):
                continue
            flags = self.in_project(reading_flags(words))
            if source.suffix == ".cxx":
                included = re.findall(r'#include "(.*)"', source.read_text())
                units += [self.root / Path(i).relative_to(self.path) for i in included]
            else:
                units.append(self.root / source.relative_to(self.path))
        if not units:
            sys.exit(f"mutants: {self.folder} defines no library")
        return Library(units, flags)

    def in_project(self, flags: list[str]) -> list[str]:
        """Headers that the build generates remain those of the copy."""
        pattern = re.compile(re.escape(str(self.path)) + r"/(?!build/)")
        return [pattern.sub(f"{self.root}/", flag) for flag in flags]

    def in_copy(self, flags: list[str]) -> list[str]:
        pattern = re.compile(re.escape(str(self.root)) + r"/(?!build/)")
        return [pattern.sub(f"{self.path}/", flag) for flag in flags]

    def programs(self) -> list[str]:
        """The test programs of the folder."""
        text = (self.root / self.folder / "CMakeLists.txt").read_text()
        return re.findall(r"^\s*rpcrdma_test\(\s*(\w+)", text, re.MULTILINE) + MORE_PROGRAMS.get(self.folder, [])

    def compile(self, programs: list[str], jobs: int) -> list[list[tuple[str, int]]] | None:
        """None if they compile, else where the errors are: file and offset of each, then of its notes."""
        done = self.run("cmake", "--build", str(self.build), "-j", str(jobs), "--target", *programs, "--", "-k", "0")
        if done.returncode == 0:
            return None
        errors: list[list[tuple[str, int]]] = []
        for found in re.finditer(r"^(\S+?):(\d+):(\d+): (?:fatal )?(error|note):", done.stdout, re.MULTILINE):
            path = (self.build / found.group(1)).resolve()
            if found.group(4) == "error":
                errors.append([])
            if errors and path.is_file():
                errors[-1].append((str(path), offset_of(path, int(found.group(2)), int(found.group(3)))))
        if not errors:
            sys.exit(f"mutants: the build failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return errors


def offset_of(path: Path, line: int, column: int) -> int:
    lines = path.read_bytes().splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + column - 1


def reading_flags(words: list[str]) -> list[str]:
    flags: list[str] = []
    for n, word in enumerate(words):
        if word == "-isystem":
            flags += [word, words[n + 1]]
        elif word.startswith(("-I", "-D", "-std=")):
            flags.append(word)
    return flags
