"""Finds the places of a folder's sources where one small change makes a mutant, with libclang."""

from __future__ import annotations

import bisect
import hashlib
import re
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

try:
    from clang import cindex
except ImportError:  # another python3 than Debian's is first in the PATH
    sys.path.append("/usr/lib/python3/dist-packages")
    from clang import cindex

SWAPPED = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "%=": "*=", "&=": "|=", "|=": "&=", "^=": "&=",
    "<<=": ">>=", ">>=": "<<=", "++": "--", "--": "++",
}  # fmt: skip
# Calls without which the program does the same, only slower.
ONLY_FASTER = {"reserve", "shrink_to_fit", "__builtin_prefetch"}
INTEGER = re.compile(rb"(0[xX][0-9a-fA-F']+|[0-9][0-9']*)([uUlLzZ]*)\Z")
NUMBERS = {"BOOL", "CHAR_U", "UCHAR", "USHORT", "UINT", "ULONG", "ULONGLONG", "CHAR_S", "SCHAR", "SHORT", "INT",
           "LONG", "LONGLONG", "FLOAT", "DOUBLE"}  # fmt: skip
FUNCTIONS = {"FUNCTION_DECL", "CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR", "CONVERSION_FUNCTION", "FUNCTION_TEMPLATE"}
LOOPS_AND_BRANCHES = {"COMPOUND_STMT", "IF_STMT", "FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT",
                      "CASE_STMT", "DEFAULT_STMT"}  # fmt: skip
# Their values are needed when compiling.
NOT_AT_RUN_TIME = {"STATIC_ASSERT", "ENUM_DECL", "TEMPLATE_TYPE_PARAMETER", "TEMPLATE_NON_TYPE_PARAMETER",
                   "TEMPLATE_TEMPLATE_PARAMETER", "CONCEPT_DECL", "TYPE_ALIAS_DECL", "TYPEDEF_DECL", "USING_DECLARATION",
                   "DECL_REF_EXPR", "CXX_UNARY_EXPR", "SIZE_OF_PACK_EXPR"}  # fmt: skip


@dataclass
class Site:
    """A change of the bytes [at, end) into `text`. It is switched at run time by repeating the bytes
    [outer_at, outer_end), an expression or a statement, with and without the change."""

    file: str  # below the project's folder
    at: int
    end: int
    text: bytes
    outer_at: int
    outer_end: int
    statement: bool
    in_constexpr: bool
    function: str
    line: int = 0
    old: str = ""
    new: str = ""
    identity: tuple = field(default=())

    def rank(self, seed: int) -> str:
        """A random order that changes elsewhere in the sources do not change."""
        return hashlib.sha256(repr((seed, self.identity)).encode()).hexdigest()


def parse(index: cindex.Index, path: Path, flags: list[str]) -> cindex.TranslationUnit:
    return index.parse(str(path), ["-x", "c++", *flags, "-w", "-Werror=vla", "-ferror-limit=0"])


class Walk:
    """Walks through the declarations of one file."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source = file, source
        self.sites: list[Site] = []
        self.function, self.in_constexpr, self.result = "", False, None
        # Newlines, for lines from offsets.
        self.lines = [0] + [m.end() for m in re.finditer(rb"\n", source)]

    def text(self, cursor) -> bytes:
        return self.source[cursor.extent.start.offset : cursor.extent.end.offset]

    def add(self, at: int, end: int, text: bytes, outer: tuple[int, int], statement: bool = False) -> None:
        site = Site(self.file, at, end, text, *outer, statement, self.in_constexpr, self.function)
        first = bisect.bisect_right(self.lines, at) - 1
        begin = self.lines[first]
        stop = self.source.find(b"\n", end)
        stop = len(self.source) if stop < 0 else stop
        site.line = first + 1
        site.old = " ".join(self.source[begin:stop].decode(errors="replace").split())
        site.new = " ".join((self.source[begin:at] + text + self.source[end:stop]).decode(errors="replace").split())
        self.sites.append(site)

    def after(self, at: int) -> bytes:
        return self.source[at : at + 200].lstrip()[:1]

    def walk(self, cursor, parent) -> None:
        kind = cursor.kind.name
        if kind in NOT_AT_RUN_TIME or kind.startswith("PARM") or cursor.spelling in ONLY_FASTER:
            return
        if kind in FUNCTIONS or kind == "LAMBDA_EXPR":
            self.walk_function(cursor, kind)
            return
        children = list(cursor.get_children())
        if kind == "FIELD_DECL":  # a default, like that of an argument
            children = []
        elif kind == "VAR_DECL":
            children = self.initializer(cursor, children)
        elif kind.startswith("CXX_") and kind.endswith("CAST_EXPR") or kind == "CSTYLE_CAST_EXPR":
            children = children[-1:]
        elif kind == "MEMBER_REF_EXPR":
            children = [c for c in children if c.extent.end.offset <= cursor.location.offset]
        elif kind == "CASE_STMT":
            children = children[1:]
        elif kind == "IF_STMT" and re.match(rb"if\s+constexpr\b", self.text(cursor)):
            children = [c for c in children if c.kind.is_statement()]
        self.statement(cursor, parent)
        self.expression(cursor, kind, children, parent)
        for child in children:
            self.walk(child, cursor)

    def walk_function(self, cursor, kind: str) -> None:
        body = [c for c in cursor.get_children() if c.kind.name == "COMPOUND_STMT"]
        if not body:
            return
        before = self.function, self.in_constexpr, self.result
        if kind == "LAMBDA_EXPR":
            self.result = None
        else:
            head = self.source[cursor.extent.start.offset : cursor.location.offset]
            if b"consteval" in head:
                return
            owner = cursor.semantic_parent.spelling if cursor.semantic_parent else ""
            is_member = cursor.semantic_parent is not None and cursor.semantic_parent.kind.is_declaration()
            in_class = is_member and cursor.semantic_parent.kind.name != "NAMESPACE"
            self.function = f"{owner}::{cursor.spelling}" if owner and in_class else cursor.spelling
            self.in_constexpr = b"constexpr" in head
            self.result = cursor.result_type
        for child in cursor.get_children():
            if child.extent.start.offset >= cursor.location.offset:
                self.walk(child, cursor)
        self.function, self.in_constexpr, self.result = before

    def initializer(self, cursor, children: list) -> list:
        """The initializer, unless it is needed when compiling. A plain 0 or false is most often overwritten
        before it is read: a change of it is no fault."""
        head = self.source[cursor.extent.start.offset : cursor.location.offset]
        if re.search(rb"\b(constexpr|constinit|static)\b", head):
            return []
        if not self.function:
            return []
        last = children[-1:]
        if last and last[0].extent.start.offset > cursor.location.offset:
            between = self.source[cursor.location.offset : last[0].extent.start.offset]
            is_nothing = self.text(last[0]).strip(b"{} ") in (b"0", b"false", b"")
            if not is_nothing and not re.search(rb"[:\[]\s*\Z", between):
                return last
        return []

    def statement(self, cursor, parent) -> None:
        """A call or an assignment as a statement can be removed, a return value changed."""
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        if cursor.kind.name == "RETURN_STMT":
            self.returned(cursor, begin, end)
            return
        if parent is None or parent.kind.name not in LOOPS_AND_BRANCHES or self.after(end) != b";":
            return
        before = self.source[max(0, begin - 200) : begin].rstrip()
        if not before.endswith((b"{", b"}", b";", b")", b":", b"else", b"do")):
            return
        inner = unwrapped(cursor)
        kind = inner.kind.name
        is_call = kind == "CALL_EXPR"
        if kind == "BINARY_OPERATOR":
            is_call = self.operator(list(inner.get_children()))[0] == b"="
        if is_call and not re.match(r"operator[-+*/%&|^<>]+=?$", inner.spelling):
            end = self.source.index(b";", end) + 1
            self.add(begin, end, b"", (begin, end), statement=True)

    def returned(self, cursor, begin: int, end: int) -> None:
        children = list(cursor.get_children())
        if not children or self.after(end) != b";":
            return
        value = children[0]
        inner, text = unwrapped(value), self.text(value)
        if inner.kind.name in ("INTEGER_LITERAL", "CXX_BOOL_LITERAL_EXPR", "CXX_NULL_PTR_LITERAL_EXPR"):
            return
        kind = (self.result or value.type).get_canonical().kind.name
        if kind == "BOOL":
            if inner.kind.name in ("BINARY_OPERATOR", "UNARY_OPERATOR") or inner.spelling.startswith("operator"):
                return  # changed itself
            changed = b"!(" + text + b")"
        elif kind in NUMBERS:
            changed = b"(" + text + b") + 1"
        elif kind in ("LVALUEREFERENCE", "RVALUEREFERENCE", "VOID") or re.search(rb"(\{\}|nullopt)\Z", text):
            return
        elif is_zero(inner):
            return
        else:
            changed = b"{}"
        outer = (begin, self.source.index(b";", end) + 1)
        self.add(value.extent.start.offset, value.extent.end.offset, changed, outer, statement=True)

    def operator(self, children: list) -> tuple[bytes, int, int]:
        """The operator between the two operands, and where it is."""
        if len(children) != 2:
            return b"", 0, 0
        begin, end = children[0].extent.end.offset, children[1].extent.start.offset
        between = re.sub(rb"//[^\n]*", lambda m: b" " * len(m.group()), self.source[begin:end])
        sign = between.strip()
        at = begin + between.find(sign)
        return sign, at, at + len(sign)

    def expression(self, cursor, kind: str, children: list, parent) -> None:
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        text = self.source[begin:end]
        if kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"):
            sign, at, stop = self.operator(children)
            self.swap(sign, at, stop, (begin, end))
        elif kind == "CALL_EXPR" and cursor.spelling.startswith("operator") and len(children) == 3:
            left, sign, right = children
            ordered = left.extent.end.offset <= sign.extent.start.offset < right.extent.start.offset
            if ordered:
                outer = (left.extent.start.offset, right.extent.end.offset)
                self.swap(self.text(sign), sign.extent.start.offset, sign.extent.end.offset, outer)
        elif kind == "UNARY_OPERATOR":
            self.unary(text, begin, end, cursor, parent)
        elif kind == "INTEGER_LITERAL" and (number := INTEGER.match(text)):
            digits = number.group(1).replace(b"'", b"").decode()
            value = int(digits, 8 if re.match(r"0[0-7]+\Z", digits) else 0) + 1
            self.add(begin, end, str(value).encode() + number.group(2), (begin, end))
        elif kind == "CXX_BOOL_LITERAL_EXPR" and text in (b"true", b"false"):
            self.add(begin, end, b"false" if text == b"true" else b"true", (begin, end))
        elif kind in ("IF_STMT", "WHILE_STMT", "CONDITIONAL_OPERATOR"):
            self.condition(kind, children, begin)

    def unary(self, text: bytes, begin: int, end: int, cursor, parent) -> None:
        if text.startswith(b"!") and not text.startswith(b"!="):
            self.add(begin, begin + 1, b"", (begin, end))
        in_head = parent is not None and parent.kind.name == "FOR_STMT" and self.after(end) == b")"
        for sign in (b"++", b"--"):
            if in_head:  # the loop would not end: always noticed, slowly
                break
            if text.startswith(sign):
                self.swap(sign, begin, begin + 2, (begin, end))
            elif text.endswith(sign):
                self.swap(sign, end - 2, end, (begin, end))

    def swap(self, sign: bytes, at: int, stop: int, outer: tuple[int, int]) -> None:
        other = SWAPPED.get(sign.decode(errors="replace"))
        if other:
            self.add(at, stop, other.encode(), outer)

    def condition(self, kind: str, children: list, begin: int) -> None:
        """A condition that is a plain value: negated."""
        if kind == "CONDITIONAL_OPERATOR":
            candidates = children[:1]
        else:
            candidates = [c for c in children if c.kind.is_expression()][:1]
            # A branch can be an expression too.
            if candidates and not self.source[begin : candidates[0].extent.start.offset].rstrip().endswith((b"(", b";")):
                return
        for value in candidates:
            inner = unwrapped(value)
            if inner.kind.name in ("CALL_EXPR", "DECL_REF_EXPR", "MEMBER_REF_EXPR"):
                if inner.spelling.startswith("operator") and inner.spelling != "operator bool":
                    return
                at, end = value.extent.start.offset, value.extent.end.offset
                self.add(at, end, b"!(" + self.text(value) + b")", (at, end))


def is_zero(cursor) -> bool:
    """The enumerator that {} makes."""
    named = cursor.referenced if cursor.kind.name == "DECL_REF_EXPR" else None
    return named is not None and named.kind.name == "ENUM_CONSTANT_DECL" and named.enum_value == 0


def unwrapped(cursor):
    """Without the implicit conversions around it."""
    while cursor.kind.name == "UNEXPOSED_EXPR":
        children = list(cursor.get_children())
        if len(children) != 1:
            break
        cursor = children[0]
    return cursor


def sites_of_unit(root: Path, folder: str, unit: Path, flags: list[str]) -> tuple[list[Site], list[str]]:
    """Of a source file and of the folder's headers that it includes."""
    found = parse(cindex.Index.create(), unit, flags)
    errors = [str(d) for d in found.diagnostics if d.severity >= cindex.Diagnostic.Error]
    walks: dict[str, Walk] = {}
    for cursor in found.cursor.get_children():
        walk_declaration(root, folder, cursor, walks)
    return [site for walk in walks.values() for site in walk.sites], errors


def walk_declaration(root: Path, folder: str, cursor, walks: dict[str, Walk]) -> None:
    if cursor.location.file is None:
        return
    path = Path(cursor.location.file.name)
    if not path.is_relative_to(root / folder) or path.name.endswith("_for_tests.h"):
        return
    if cursor.kind.name in ("NAMESPACE", "CLASS_DECL", "STRUCT_DECL", "CLASS_TEMPLATE", "LINKAGE_SPEC",
                            "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"):  # fmt: skip
        for child in cursor.get_children():
            walk_declaration(root, folder, child, walks)
        return
    file = str(path.relative_to(root))
    if file not in walks:
        walks[file] = Walk(file, path.read_bytes())
    walks[file].walk(cursor, None)


def all_sites(root: Path, folder: str, units: list[Path], flags: list[str], jobs: int) -> list[Site]:
    """Each once, in order. `flags`: of the compiler."""
    unique: dict[tuple, Site] = {}
    with ProcessPoolExecutor(jobs) as pool:
        arguments = ([root] * len(units), [folder] * len(units), units, [flags] * len(units))
        for sites, errors in pool.map(sites_of_unit, *arguments):
            if errors:
                sys.exit(f"mutants: clang does not compile it:\n{errors[0]}")
            for site in sites:
                unique.setdefault((site.file, site.at, site.end, site.text), site)
    ordered = sorted(unique.values(), key=lambda s: (s.file, s.at, s.end, s.text))
    seen: Counter = Counter()
    for site in ordered:
        name = (site.file, site.function, site.old, site.new)
        site.identity = (*name, seen[name])
        seen[name] += 1
    return ordered


def broken_sites(unit: Path, flags: list[str]) -> list[list[tuple[str, int]]]:
    """Where an instrumented file has errors: file and offset of each, then of its notes, which can name
    the cause."""
    found = parse(cindex.Index.create(), unit, flags)
    return [
        [(d.location.file.name, d.location.offset) for d in [error, *error.children] if d.location.file]
        for error in found.diagnostics
        if error.severity >= cindex.Diagnostic.Error
    ]
