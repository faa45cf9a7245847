"""Mutation test: changes one thing at a time in the sources of FOLDER, and looks whether its tests notice.

mutants FOLDER [N [SEED]] [--survivors]

Prints each mutant that survives, and how many of the N (200) were killed; exit status 1 below 95 %. SEED chooses others.
--survivors tries only those that survived the last time. Runs in the project's folder; builds in build/mutants.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import equivalent
from instrument import instrumented, sites_at
from sites import Site, all_sites, broken_sites
from tree import Library, Tree, written
from trials import Outcome, Program, outcome, without_mutant

ENOUGH = 95.0
JOBS = len(os.sched_getaffinity(0))


def say(text: str) -> None:
    print(f"== {text}", file=sys.stderr, flush=True)


class Record:
    """Sites of the last run."""

    def __init__(self, tree: Tree, what: str) -> None:
        self.path = tree.build / f"{tree.name}.{what}"
        text = self.path.read_text() if self.path.exists() else "[]"
        self.identities = {tuple(i) for i in json.loads(text)}

    def write(self, sites: Iterable[Site]) -> None:
        self.path.write_text(json.dumps([s.identity for s in sites]))


class Sample:
    """The first N of the ordered sites that compile, numbered from 1."""

    def __init__(self, ordered: list[Site], wanted: int) -> None:
        self.ordered, self.wanted = ordered, wanted
        self.broken: set[int] = set()

    def numbered(self) -> list[tuple[int, Site]]:
        there = [(n, s) for n, s in enumerate(self.ordered, 1) if n not in self.broken]
        return there[: self.wanted]

    def left_out(self) -> int:
        numbers = [n for n, _ in self.numbered()]
        return sum(len(numbers) < self.wanted or n < numbers[-1] for n in self.broken)

    def of_file(self, file: str) -> list[tuple[int, Site]]:
        return [n for n in self.numbered() if n[1].file == file]


def known_sites(tree: Tree, library: Library) -> list[Site]:
    """From the last time, if nothing has changed since: libclang takes a minute."""
    record = tree.build / f"{tree.name}.sites"
    own = (Path(__file__).parent / "sites.py").read_bytes()
    read = b"".join(p.read_bytes() for p in tree.sources() if not p.name.endswith("_test.cc"))
    key = hashlib.sha256(own + read + repr(library).encode()).hexdigest()
    if record.exists():
        before, sites = pickle.loads(record.read_bytes())
        if before == key:
            return sites
    say(f"looking for places to change in {len(library.units)} files")
    sites = all_sites(tree.root, tree.folder, library.units, library.flags, JOBS)
    record.write_bytes(pickle.dumps((key, sites)))
    return sites


def instrument(tree: Tree, sample: Sample) -> bool:
    """Whether a file changed."""
    files = {site.file for _, site in sample.numbered()}
    texts = {f: instrumented((tree.root / f).read_bytes(), sample.of_file(f), str(tree.header)) for f in files}
    return tree.replace(texts)


def leave_out(tree: Tree, sample: Sample, errors: list[list[tuple[str, int]]]) -> None:
    """The sites at these errors, or at their notes: files and offsets."""
    found: set[int] = set()
    for places in errors:
        for name, offset in places:
            path = Path(name)
            here = sites_at(path.read_bytes(), offset) if path.is_relative_to(tree.path) else []
            found.update(here)
            if here:
                break
    if not found - sample.broken:
        sys.exit(f"mutants: errors outside the mutants: {errors[:5]}")
    sample.broken |= found


def build(tree: Tree, library: Library, sample: Sample, programs: list[str]) -> None:
    """clang reads the files first: it is faster, and names every error."""
    units = [tree.path / unit.relative_to(tree.root) for unit in library.units]
    flags = tree.in_copy(library.flags)
    while True:
        if instrument(tree, sample):
            with ProcessPoolExecutor(JOBS) as pool:
                parts = list(pool.map(broken_sites, units, [flags] * len(units)))
            # The next time only what had errors: the compiler reads all.
            units = [unit for unit, part in zip(units, parts) if part]
            if units:
                leave_out(tree, sample, [error for part in parts for error in part])
                continue
        found = tree.compile(programs, JOBS)
        if found is None:
            return
        leave_out(tree, sample, found)


def alone(tree: Tree, sample: Sample, programs: list[Program], site: Site) -> Outcome:
    """A change of a function that only the compiler runs cannot be switched at run time: built by itself.
    Its switch compiled, so it is the compiler that notices where it does not."""
    source = (tree.root / site.file).read_bytes()
    written(tree.path / site.file, source[: site.at] + site.text + source[site.end :])
    if tree.compile([p.path.name for p in programs], JOBS) is not None:
        return Outcome.KILLED
    return outcome(programs, None)


def shown(site: Site, how: Outcome) -> str:
    return f"{site.file}:{site.line}: in {site.function}: {how.value}\n- {site.old}\n+ {site.new}"


def outcomes_of(tree: Tree, sample: Sample, programs: list[Program], chosen: list[tuple[int, Site]]) -> Iterator:
    """Each mutant with its outcome."""
    is_alone = lambda n: n[1].in_constexpr and not any(p.filter(n[0]) for p in programs)
    switched = [n for n in chosen if not is_alone(n)]
    with ThreadPoolExecutor(JOBS) as pool:
        yield from zip(switched, pool.map(lambda n: outcome(programs, n[0]), switched))
    for n in filter(is_alone, chosen):
        yield n, alone(tree, sample, programs, n[1])
        instrument(tree, sample)


def measure(results: Iterator, known: set[equivalent.Entry], count: int) -> dict[int, Outcome]:
    """Prints the mutants that survive."""
    outcomes = {}
    for done, ((number, site), how) in enumerate(results, 1):
        outcomes[number] = how
        survives = how in (Outcome.SURVIVED, Outcome.NOT_REACHED)
        if equivalent.entry(site) in known:
            if not survives:
                print(f"{shown(site, how)}\n  but the list says that it is equivalent", flush=True)
        elif survives:
            print(shown(site, how), flush=True)
        if done % 25 == 0:
            say(f"{done} of {count} mutants")
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description="Changes one thing at a time in the sources of FOLDER.")
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("count", metavar="N", nargs="?", type=int, default=200)
    parser.add_argument("seed", metavar="SEED", nargs="?", type=int, default=1)
    parser.add_argument("--survivors", action="store_true", help="only those that survived the last time")
    arguments = parser.parse_args()
    root, folder = Path.cwd(), os.path.normpath(arguments.folder)
    if not (root / folder / "CMakeLists.txt").is_file():
        parser.error(f"{folder} is no folder with a CMakeLists.txt")
    known = equivalent.read(root / "tests/mutants/equivalent.txt")

    tree = Tree(root, folder)
    say(f"copying the project to {tree.path.relative_to(root)}")
    tree.copy()
    tree.configure()
    library, names = tree.library(), tree.programs()
    sites = known_sites(tree, library)
    if old := equivalent.stale(known, folder, sites):
        for e in old:
            print(f"equivalent.txt: matches no mutant:\n{e}")
        return 2
    sample = Sample(sorted(sites, key=lambda s: s.rank(arguments.seed)), arguments.count)
    say(f"building {', '.join(names)} with {arguments.count} of {len(sites)} mutants")
    broken = Record(tree, "broken")
    sample.broken = {n for n, s in enumerate(sample.ordered, 1) if s.identity in broken.identities}
    build(tree, library, sample, names)
    broken.write(sample.ordered[n - 1] for n in sample.broken)
    say("running the tests without a mutant")
    programs = sorted((without_mutant(tree.build / "bin" / n, JOBS) for n in names), key=lambda p: p.seconds)
    say(", ".join(f"{p.path.name}: {p.seconds:.1f} s" for p in programs))

    chosen = sample.numbered()
    survivors = Record(tree, "survivors")
    if arguments.survivors:
        chosen = [(n, s) for n, s in chosen if s.identity in survivors.identities]
    outcomes = measure(outcomes_of(tree, sample, programs, chosen), known, len(chosen))
    alive = [(n, s) for n, s in chosen if outcomes[n] in (Outcome.SURVIVED, Outcome.NOT_REACHED)]
    survivors.write(s for _, s in alive)

    counts = Counter(outcomes.values())
    is_equivalent = sum(equivalent.entry(s) in known for _, s in alive)
    survived = len(alive) - is_equivalent
    wrongly_listed = any(
        equivalent.entry(s) in known and outcomes[n] in (Outcome.KILLED, Outcome.TIMED_OUT) for n, s in chosen
    )
    killed = counts[Outcome.KILLED] + counts[Outcome.TIMED_OUT]
    percent = 100.0 * killed / max(1, killed + survived)
    print(
        f"{folder}, seed {arguments.seed}: {len(chosen)} mutants: {killed} killed ({counts[Outcome.TIMED_OUT]} by "
        f"timeout), {survived} survived, {is_equivalent} equivalent; {sample.left_out()} more did not compile; "
        f"{percent:.1f} % of those that are not equivalent were killed"
    )
    return 1 if percent < ENOUGH or wrongly_listed else 0


if __name__ == "__main__":
    sys.exit(main())
