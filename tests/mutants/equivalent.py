"""The list of mutants that no test can notice, because the program does the same with them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from sites import Site


@dataclass(frozen=True)
class Entry:
    file: str
    function: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file} {self.function}\n- {self.old}\n+ {self.new}"


def entry(site: Site) -> Entry:
    return Entry(site.file, site.function, site.old, site.new)


def read(path: Path) -> set[Entry]:
    """Entries are separated by empty lines: file and function, the line without and with the change, and
    the reason."""
    entries: set[Entry] = set()
    text = path.read_text() if path.exists() else ""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if not any(lines):
            continue
        where = lines[0].split(maxsplit=1)
        is_whole = len(lines) >= 4 and lines[1].startswith("-") and lines[2].startswith("+") and lines[3].strip()
        if not is_whole or len(where) != 2:
            sys.exit(f"mutants: an entry needs file and function, two lines and a reason:\n{block}")
        entries.add(Entry(where[0], where[1], lines[1][1:].strip(), lines[2][1:].strip()))
    return entries


def stale(entries: set[Entry], folder: str, sites: list[Site]) -> list[Entry]:
    """Entries that match no mutant of the folder."""
    there = {entry(site) for site in sites}
    return sorted((e for e in entries if e.file.startswith(folder + "/") and e not in there), key=str)
