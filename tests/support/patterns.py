"""The regular expressions of the service and of libraries, and how the service uses them."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import service
from service.languages import Language, language_of
from service.languages.language import Registers

Pattern = re.Pattern[Any]
AT_ONE_PLACE = frozenset({"match", "fullmatch"})  # methods; all others search
# Libraries that read what strangers send, each with a word of our source that says that it is used.
LIBRARIES = {
    "csv": r"csv\.Sniffer",
    "html": "html",
    "json.decoder": "json",
    "json.scanner": "json",
    "markdown_it.common.html_re": "markdown_it",
    "markdown_it.common.utils": "markdown_it",
    "markdown_it.rules_block.html_block": "markdown_it",
    "markdown_it.rules_block.table": "markdown_it",
    "markdown_it.rules_core.normalize": "markdown_it",
    "markdown_it.rules_inline.autolink": "markdown_it",
    "markdown_it.rules_inline.entity": "markdown_it",
    "polib": "polib",
    "py3langid.langid": "py3langid",
    "pypdf._page": "pypdf",
    "pypdf._reader": "pypdf",
    "pypdf._cmap": "pypdf",
    "pypdf.generic._base": "pypdf",
    "pypdf.generic._data_structures": "pypdf",
    "pypdf._utils": "pypdf",
    "python_multipart.multipart": "python_multipart",
    "textwrap": "textwrap",
}


class Found(NamedTuple):
    """A regular expression, and how it is used: its methods, among them `search` for every one that searches."""

    name: str
    pattern: Pattern
    methods: frozenset[str]


def of_the_service() -> Iterator[Found]:
    """Yield each regular expression of the service once: of modules, of classes, and those within functions."""
    seen: set[Pattern] = set()
    yield from _of_modules(_modules(), seen)
    for language in map(language_of, ("en", "fr", "de", "es")):
        for name, pattern, methods in _of_language(language):
            if pattern not in seen:
                seen.add(pattern)
                yield Found(f"{name}.{language.tag}", pattern, methods)


def _of_language(language: Language) -> Iterator[Found]:
    """Yield the regular expressions of a language's folder, and those that functions of the engine make of it."""
    for number, pattern in enumerate(_within(language)):
        yield Found(f"language.{number}", pattern, frozenset({"search"}))
    for module in _modules():
        for name, function in vars(module).items():
            if not hasattr(function, "cache_info") or function.__module__ != module.__name__:
                continue
            kinds = [each.annotation for each in inspect.signature(function).parameters.values()]
            given = {Language: language, Registers: language.registers}.get(kinds[0]) if kinds else None
            for number, pattern in enumerate(_within(function(given)) if given is not None else ()):
                uses = re.findall(rf"\b{name}\((?:[^()]|\([^()]*\))*\)\.(\w+)\(", _source_of(module))
                methods = frozenset(map(_kind, uses)) or frozenset({"search"})
                yield Found(f"{module.__name__}.{name}.{number}", pattern, methods)


def of_libraries() -> Iterator[Found]:
    """Yield the regular expressions of the libraries that the service uses for what strangers send."""
    ours = "\n".join(map(_source_of, _modules()))
    used = [importlib.import_module(name) for name, word in LIBRARIES.items() if re.search(rf"\b{word}\b", ours)]
    yield from _of_modules(used, set())


@cache
def _modules() -> tuple[ModuleType, ...]:
    names = (info.name for info in pkgutil.walk_packages(service.__path__, "service."))
    return tuple(map(importlib.import_module, names))


def _of_modules(modules: Sequence[ModuleType], seen: set[Pattern]) -> Iterator[Found]:
    methods = _methods(modules)
    for module in modules:
        found = [Found(name, pattern, frozenset(methods[pattern])) for name, pattern in _of_module(module)]
        for name, pattern, own in [*found, *_in_functions(module)]:
            if pattern not in seen:
                seen.add(pattern)
                yield Found(f"{module.__name__}.{name}", pattern, own or frozenset({"search"}))


def _of_module(module: ModuleType) -> Iterator[tuple[str, Pattern]]:
    for name, value in vars(module).items():
        own = inspect.isclass(value) and value.__module__ == module.__name__
        for part, each in [*vars(value).items(), *_defaults(value)] if own else [("", value)]:
            for number, pattern in enumerate(_within(each)):
                yield ".".join(filter(None, [name, part, str(number or "")])), pattern


def _defaults(kind: Any) -> list[tuple[str, Any]]:
    return [(each.name, each.default) for each in getattr(kind, "__dataclass_fields__", {}).values()]


def _within(value: object, depth: int = 0) -> Iterator[Pattern]:
    """Yield the regular expressions in containers and dataclasses."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 3:
        held: list[object] = []
        if isinstance(value, Mapping):
            held = [*value.values()]
        elif isinstance(value, list | tuple):
            held = [*value]
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            held = [getattr(value, each.name, None) for each in dataclasses.fields(value)]
        for each in held[:200]:
            yield from _within(each, depth + 1)


def _in_functions(module: ModuleType) -> Iterator[Found]:
    """Yield the regular expressions that stand as strings in functions; where they come by a name, all that look so."""
    for function in ast.walk(ast.parse(_source_of(module))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        calls = [each for each in ast.walk(function) if isinstance(each, ast.Call) and each.args]
        given = [(call.args[0], call.func.attr) for call in calls if _is_of_re(call.func)]  # type: ignore[attr-defined]
        if not all(isinstance(each, ast.Constant) for each, _ in given):
            given += [(each, "search") for each in ast.walk(function) if _looks_like_one(each)]  # type: ignore[misc]
        for each, method in given:
            try:
                pattern = re.compile(each.value, re.MULTILINE | re.DOTALL)  # type: ignore[attr-defined]
            except (re.error, TypeError, AttributeError):
                continue
            yield Found(f"{function.name}:{each.lineno}", pattern, frozenset({_kind(method)}))


def _kind(method: str) -> str:
    return method if method in AT_ONE_PLACE else "search"


def _is_of_re(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"


def _looks_like_one(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str) and "\n" not in value and bool(re.search(r"[\\(\[].*[*+]", value))


def _source_of(module: ModuleType) -> str:
    path = module.__file__ or ""
    return Path(path).read_text("utf-8") if path.endswith(".py") else ""


def _methods(modules: Iterable[ModuleType]) -> dict[Pattern, set[str]]:
    """Return the methods that modules call on each regular expression that has a name in them."""
    methods = defaultdict[Pattern, set[str]](set)
    for module in modules:
        tree = ast.parse(_source_of(module))
        above = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            value = vars(module).get(node.id) if isinstance(node, ast.Name) else None
            if not isinstance(value, re.Pattern) or not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                continue
            user = above[id(node)]
            method = user.attr if isinstance(user, ast.Attribute) else ""
            if method not in ("pattern", "flags"):
                methods[value].add(_kind(method))
    return methods
