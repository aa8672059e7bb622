"""Small mistakes that somebody could make in a module, each as a piece of its text and another.

What no test could notice is left out as far as that can be told from the text: docstrings, types,
what errors say, and numbers that only set how much is done at once.
"""

from __future__ import annotations

import ast
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
RECKONED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
ONE_SIDED = (ast.Sub, ast.FloorDiv, ast.Div, ast.Mod)
"""What swapped operands change."""
_TWINS = (
    *(("min", "max"), ("minimum", "maximum"), ("any", "all"), ("argmin", "argmax")),
    *(("left", "right"), ("floor", "ceil"), ("ROUND_DOWN", "ROUND_UP")),
)
NAMES = dict([*_TWINS, *((b, a) for a, b in _TWINS)])
"""Names and words that are easily mixed up."""

HOW_MUCH_AT_ONCE = {
    *("AT_ONCE", "CHUNK", "_CHUNK", "FEW", "STRETCH", "MOST_NAMES", "SPARE", "SPARE_ROWS"),
    *("PANES_AT_ONCE", "STRIP_CELLS", "SHARED", "STRIDES", "WINDOWS_AT_A_STRIDE"),
}
"""Numbers that decide how soon something is done, never what."""
UNSEEN_KEYWORDS = {"strict", "maxsize", "repr", "slots", "frozen", "copy"}
"""Arguments that a working program works without."""

COMMUTING = {"max", "min", "maximum", "minimum", "gcd", "lcm"}
"""What comes to the same, in whichever order it is asked."""

_Node = TypeVar("_Node", bound=ast.AST)


class Change(NamedTuple):
    """A piece of a module's bytes, and what it becomes."""

    line: int
    kind: str
    start: int
    end: int
    before: str
    after: str

    def made(self, source: bytes) -> bytes:
        """The module with the mistake in it."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def changes(source: bytes) -> list[Change]:
    """Every small mistake that is tried on a module."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, parent in _walk(tree, tree):
        for kind, other in _mistakes(node, parent):
            assert isinstance(node, ast.expr | ast.stmt)
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            before = source[start:end].decode()
            found.append(Change(node.lineno, kind, start, end, before, _text(other, parent)))
    return found


def _text(node: ast.AST, parent: ast.AST) -> str:
    compound = isinstance(node, ast.BoolOp | ast.BinOp | ast.Compare | ast.UnaryOp | ast.IfExp)
    inside = isinstance(parent, ast.BoolOp | ast.BinOp | ast.Compare | ast.UnaryOp | ast.Attribute)
    return f"({ast.unparse(node)})" if compound and inside else ast.unparse(node)


def _walk(node: ast.AST, parent: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Every node that may change, with what it stands in."""
    yield node, parent
    for child in _children(node):
        yield from _walk(child, node)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise):
        return
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "bases"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_unseen(child):
                yield child


def _is_unseen(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case (
            ast.Expr(value=ast.Constant())  # a docstring, or a body's `...`
            | ast.If(test=ast.Name(id="TYPE_CHECKING"))
            | ast.Subscript(value=ast.Name(id="Literal"))
        ):
            return True
        case ast.keyword(arg=name):
            return name in UNSEEN_KEYWORDS
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == "__all__" or name in HOW_MUCH_AT_ONCE
    return False


def _mistakes(node: ast.AST, parent: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for kind, mistaken in _BY_KIND.items():
        if isinstance(node, kind):
            yield from mistaken(node, parent)
    if isinstance(parent, ast.If | ast.IfExp) and node is parent.test:
        yield "the other way round", ast.UnaryOp(ast.Not(), parent.test)


def _but(node: _Node, **fields: object) -> _Node:
    other = copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _compared(node: ast.Compare, _: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for at, op in enumerate(node.ops):
        ops = [*node.ops[:at], FLIPPED[type(op)](), *node.ops[at + 1 :]]
        yield "flipped comparison", _but(node, ops=ops)


def _joined(node: ast.BoolOp, _: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    yield "and/or", _but(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for at in range(len(node.values)):
        left = node.values[:at] + node.values[at + 1 :]
        yield "a condition less", left[0] if len(left) == 1 else _but(node, values=left)


def _signed(node: ast.UnaryOp, _: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.op, ast.Not | ast.USub):
        yield "no not, no minus", node.operand


def _reckoned(node: ast.BinOp | ast.AugAssign, _: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if type(node.op) in RECKONED:
        yield "another operation", _but(node, op=RECKONED[type(node.op)]())
    if isinstance(node, ast.BinOp) and isinstance(node.op, ONE_SIDED):
        yield "swapped operands", _but(node, left=node.right, right=node.left)


def _constant(node: ast.Constant, parent: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    others: list[object] = []
    match node.value:
        case bool(value):
            others = [not value]
        case int(value):
            others = [value + 1, value - 1]
        case float(value):
            others = [2 * value + 1]
        case str(value) if value in NAMES:
            others = [NAMES[value]]
        case str(value) if isinstance(parent, ast.Compare | ast.Subscript):
            others = [value + "?"]
    yield from (("another constant", _but(node, value=other)) for other in others)


def _called(node: ast.Call, _: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for at in range(len(node.args) - 1):
        pair = node.args[at : at + 2]
        alike = ast.dump(pair[0]) == ast.dump(pair[1]) or _name(node.func) in COMMUTING
        if not alike and not any(isinstance(one, ast.Starred) for one in pair):
            args = [*node.args[:at], *reversed(pair), *node.args[at + 2 :]]
            yield "swapped arguments", _but(node, args=args)


def _name(node: ast.expr) -> str:
    return str(getattr(node, "attr", "") or getattr(node, "id", ""))


def _named(node: ast.Name | ast.Attribute, parent: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield "mixed up", _but(node, attr=NAMES[node.attr])
    if isinstance(node, ast.Name) and node.id in NAMES and isinstance(parent, ast.Call):
        yield "mixed up", _but(node, id=NAMES[node.id])


def _dropped(node: ast.stmt, parent: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Without a statement; but for those without which there is a name less."""
    match node:
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield "a statement less", ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield "a statement less", ast.Pass()
        case ast.Return() if isinstance(parent, ast.If | ast.For | ast.While):
            yield "a statement less", ast.Pass()


_BY_KIND: dict[Any, Callable[[Any, ast.AST], Iterator[tuple[str, ast.AST]]]] = {
    ast.Compare: _compared,
    ast.BoolOp: _joined,
    ast.UnaryOp: _signed,
    ast.BinOp | ast.AugAssign: _reckoned,
    ast.Constant: _constant,
    ast.Call: _called,
    ast.Name | ast.Attribute: _named,
    ast.stmt: _dropped,
}
