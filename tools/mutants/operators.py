"""Small breaks of one statement, as a tired programmer would make them.

A statement with a body (``if``, ``for``, ``def``, ``except`` …) is broken in its first line; its body is other
statements. Left alone are types, docstrings, logging and sentences: to change them breaks no behaviour.
"""

import ast
import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["BODIES", "Statement", "breaks", "source_of"]

Statement = ast.stmt | ast.ExceptHandler
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.Lt: ast.GtE,
    ast.Gt: ast.LtE,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,
}
_NEGATED |= {there: here for here, there in _NEGATED.items()}
_BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.Gt: ast.GtE}
_BOUNDARY |= {there: here for here, there in _BOUNDARY.items()}
_TYPES = {"cast", "TypeVar", "ParamSpec", "NewType", "TypeAliasType", "NamedTuple", "TypedDict"}
_LOGGERS = re.compile(r"(^|\.|_)(logger|logging|log|warnings)\.(\w+)$")
_LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log", "warn", "getLogger"}
_WORD = re.compile(r"[\w./:@*-]+")


def source_of(statement: Statement) -> str:
    """The statement in one spelling; of one with a body the first line. A handler is told with what it does."""
    if isinstance(statement, ast.ExceptHandler) or not hasattr(statement, "body"):
        return ast.unparse(statement)
    head = copy.copy(statement)
    for name in BODIES:
        if hasattr(head, name):
            setattr(head, name, [])
    if isinstance(head, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        head.decorator_list = []
    return ast.unparse(head).strip()


def breaks(statement: Statement) -> Iterator[tuple[str, str]]:
    """``(operator, source of the broken statement)`` for each way to break it."""
    before = source_of(statement)
    for operator, broken in [*_whole(statement), *_inside(statement)]:
        after = source_of(broken)
        if after != before:
            yield operator, after


# -- the whole statement -----------------------------------------------------------------------------


def _whole(statement: Statement) -> Iterator[tuple[str, Statement]]:
    match statement:
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield "return None", ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Await()) if not _is_logging(statement.value):
            yield "call removed", ast.Pass()
        case ast.Break():
            yield "continue for break", ast.Continue()
        case ast.Continue():
            yield "break for continue", ast.Break()
        case ast.ExceptHandler(body=body) if not any(isinstance(each, ast.Raise) for each in body):
            yield "except removed", ast.ExceptHandler(statement.type, statement.name, [ast.Raise()])
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Constant | ast.UnaryOp):
            broken = copy.copy(statement)
            broken.test = ast.UnaryOp(ast.Not(), test)
            yield "condition negated", broken
        case _:
            return


# -- an expression in it -----------------------------------------------------------------------------


def _inside(statement: Statement) -> Iterator[tuple[str, Statement]]:
    if isinstance(statement, ast.ExceptHandler | ast.ClassDef | ast.Import | ast.ImportFrom):
        return
    if isinstance(statement, ast.Expr) and (isinstance(statement.value, ast.Constant) or _is_logging(statement.value)):
        return
    bodiless = copy.copy(statement)
    for name in BODIES:
        if hasattr(bodiless, name):
            setattr(bodiless, name, [])
    for number, node in enumerate(_nodes(bodiless)):
        for operator, change in _changes(node):
            broken = copy.deepcopy(bodiless)
            change(list(_nodes(broken))[number])
            yield operator, broken


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What may be changed, in a fixed order: no types, no logging, no decorators."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_logging(child) and not _is_about_types(child):
                yield from _nodes(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, Callable[[Any], None]]]:
    match node:
        case ast.Compare(ops=[operator]):
            if type(operator) in _NEGATED:
                yield "comparison negated", _set("ops", [_NEGATED[type(operator)]()])
            if type(operator) in _BOUNDARY:
                yield "boundary moved", _set("ops", [_BOUNDARY[type(operator)]()])
        case ast.BoolOp(op=operator):
            yield "and/or swapped", _set("op", ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.IfExp(test=test):
            yield "condition negated", _set("test", ast.UnaryOp(ast.Not(), test))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not removed", _become(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            yield "off by one", _become(left)
        case ast.BinOp(op=ast.Add() | ast.Sub() as operator, right=right) if not isinstance(
            right, ast.Constant | ast.JoinedStr | ast.List | ast.Tuple
        ):
            yield "plus/minus swapped", _set("op", ast.Sub() if isinstance(operator, ast.Add) else ast.Add())
        case ast.Constant(value=value):
            yield from _other_constant(value)
        case ast.Call(keywords=keywords):
            for number, keyword in enumerate(keywords):
                if keyword.arg is not None and keyword.arg not in {"description", "help", "hint"}:
                    yield "keyword dropped", _drop(number)
        case _:
            return


def _other_constant(value: object) -> Iterator[tuple[str, Callable[[Any], None]]]:
    if isinstance(value, bool):
        yield "True/False swapped", _set("value", not value)
    elif isinstance(value, int | float):
        yield "number changed", _set("value", value + 1)
    elif isinstance(value, str) and _WORD.fullmatch(value):
        yield "string changed", _set("value", value + "X")


def _set(name: str, value: Any) -> Callable[[Any], None]:
    return lambda node: setattr(node, name, value)


def _drop(number: int) -> Callable[[Any], None]:
    return lambda node: node.keywords.pop(number)


def _become(other: ast.expr) -> Callable[[Any], None]:
    def become(node: Any) -> None:
        kept = copy.deepcopy(other)
        node.__class__ = kept.__class__
        node.__dict__.clear()
        node.__dict__.update(kept.__dict__)

    return become


# -- what is left alone ------------------------------------------------------------------------------


def _is_logging(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    found = _LOGGERS.search(ast.unparse(node.func))
    return found is not None and found[3] in _LEVELS


def _is_about_types(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2] in _TYPES
    return isinstance(node, ast.keyword) and node.arg in {"description", "help", "hint"}
