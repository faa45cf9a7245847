"""Writes sources in which each mutant is switched on at run time by its number."""

from __future__ import annotations

import re

from sites import Site

HEADER = "mutant.h"


def instrumented(source: bytes, numbered: list[tuple[int, Site]], header: str) -> bytes:
    """`numbered`: the sites of this file with their numbers."""
    ordered = sorted(numbered, key=lambda n: (n[1].outer_at, -n[1].outer_end, not n[1].statement, n[0]))
    # Mutants deserve warnings; there are none in system headers.
    head = b'#include "' + header.encode() + b'"\n#pragma GCC system_header\n'
    return head + render(source, 0, len(source), ordered)


def render(source: bytes, begin: int, end: int, ordered: list[tuple[int, Site]]) -> bytes:
    out, at = [], begin
    remaining = ordered
    while remaining:
        (number, site), remaining = remaining[0], remaining[1:]
        inside = [n for n in remaining if n[1].outer_end <= site.outer_end]
        remaining = [n for n in remaining if n[1].outer_end > site.outer_end]
        out.append(source[at : site.outer_at])
        out.append(switched(source, number, site, inside))
        at = site.outer_end
    out.append(source[at:end])
    return b"".join(out)


def switched(source: bytes, number: int, site: Site, inside: list[tuple[int, Site]]) -> bytes:
    original = render(source, site.outer_at, site.outer_end, inside)
    before = [n for n in inside if n[1].outer_end <= site.at]
    after = [n for n in inside if n[1].outer_at >= site.end]
    changed = (
        render(source, site.outer_at, site.at, before) + site.text + render(source, site.end, site.outer_end, after)
    )
    chosen = b"::rpcrdma_mutant%s(%d)" % (b"_or_constant" if site.in_constexpr else b"", number)
    # The comment marks the end, for errors of the compiler.
    if site.statement:
        return b"{ if (%s) { %s } else { %s }/*%d*/ }" % (chosen, changed, original, number)
    return b"(%s ? (%s) : (%s)/*%d*/)" % (chosen, changed, original, number)


def sites_at(text: bytes, offset: int) -> list[int]:
    """The numbers of the innermost site around an offset of an instrumented file; on its line if there
    is none around it."""
    open_sites: list[int] = []
    for mark in re.finditer(rb"::rpcrdma_mutant(?:_or_constant)?\((\d+)\)|/\*(\d+)\*/", text):
        if mark.start() > offset:
            break
        if mark.group(1):
            open_sites.append(int(mark.group(1)))
        elif open_sites and open_sites[-1] == int(mark.group(2)):
            open_sites.pop()
    if open_sites:
        return open_sites[-1:]
    begin = text.rfind(b"\n", 0, offset) + 1
    end = text.find(b"\n", offset)
    line = text[begin : len(text) if end < 0 else end]
    return [int(m) for m in re.findall(rb"::rpcrdma_mutant(?:_or_constant)?\((\d+)\)", line)]
