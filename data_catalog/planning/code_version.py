"""The version of a step's code: a hash over the syntax trees of all the first-party modules it reaches.

Comments, docstrings and formatting do not count, and neither does where a module stands: an import counts as the names
that it binds and the code that it leads to, so moving or renaming a module changes no version. A module reaches what it
imports anywhere in its text, also inside functions, and the packages above it, since Python runs those too; imports
under `if TYPE_CHECKING:` never run and do not count. First-party means: in one of the top-level packages of the given
roots or of this project.
"""

import ast
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from data_catalog.errors import UserError

if TYPE_CHECKING:
    from data_catalog.planning.code_memory import CodeMemory

PROJECT_PACKAGES = frozenset({"dat_lib", "data_catalog", "tasks", "flows"})


@dataclass
class CodeVersions:
    """Code versions of modules, each file read once.

    `search` lists folders to look for top-level packages in; by default wherever Python itself would find them.
    `memory` knows files that have been read before.
    """

    search: tuple[Path, ...] | None = None
    memory: "CodeMemory | None" = None
    _modules: dict[str, "Module | None"] = field(default_factory=dict, repr=False)
    _closures: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict, repr=False)
    _versions: dict[tuple[str, ...], str] = field(default_factory=dict, repr=False)

    def version(self, roots: Iterable[str]) -> str:
        """Return one hash for `roots`, in this order, and all that they reach, wherever it stands."""
        names = tuple(roots)
        if names not in self._versions:
            modules = {name: self._modules[name] for name in self.closure(names)}
            first_party = _first_party(names)
            labels = {name: module.digest for name, module in modules.items() if module is not None}
            # Twice, so that modules whose own code is the same are told apart by what they lead to.
            for _ in range(2):
                labels = {
                    name: self._label(module, labels, first_party)
                    for name, module in modules.items()
                    if module is not None
                }
            reached = sorted(labels[name] for name, module in modules.items() if module is not None and module.runs)
            text = "\n".join([*(labels[name] for name in names), "", *reached])
            self._versions[names] = hashlib.sha256(text.encode()).hexdigest()
        return self._versions[names]

    def _label(self, module: "Module", labels: dict[str, str], first_party: frozenset[str]) -> str:
        """Return a hash of a module's code, of the names it imports and of the labels of what these lead to."""
        lines = [
            f"{bound}\0{attribute}\0{labels.get(target, target)}"
            for imported in module.imports
            if imported.module.partition(".")[0] in first_party
            for bound, attribute, target in self._bindings(imported)
        ]
        return hashlib.sha256("\n".join([module.digest, *sorted(lines)]).encode("utf-8", "surrogatepass")).hexdigest()

    def _bindings(self, imported: "Import") -> Iterator[tuple[str, str, str]]:
        """Yield (name bound, attribute it is of, or "" for a module, module that defines it) of an import."""
        if not imported.names:
            yield imported.bound, "", imported.module
        for name, bound in imported.names:
            submodule = f"{imported.module}.{name}"
            if self._module(submodule) is not None:
                yield bound, "", submodule
            else:
                yield bound, name, next(self._lazily_exported(imported.module, name), imported.module)

    def closure(self, roots: Iterable[str]) -> dict[str, str]:
        """Return {module: hash} for `roots` and all first-party modules they reach, sorted by name."""
        names = tuple(sorted(set(roots)))
        if names not in self._closures:
            self._closures[names] = self._walk(names)
        return self._closures[names]

    def _walk(self, roots: tuple[str, ...]) -> dict[str, str]:
        first_party = _first_party(roots)
        for root in roots:
            if self._module(root) is None:
                raise UserError(f"module {root} has no Python source to take a version of", where=root)
        reached: dict[str, str] = {}
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name in reached or name.partition(".")[0] not in first_party:
                continue
            module = self._module(name)
            if module is None:
                continue
            reached[name] = module.digest
            if "." in name:
                waiting.append(name.rpartition(".")[0])
            waiting.extend(self._targets(module, first_party))
        return dict(sorted(reached.items()))

    def places(self) -> set[Path]:
        """Return where the top-level packages lie, this project's and those of every module looked for until now."""
        tops = PROJECT_PACKAGES | {name.partition(".")[0] for name in self._modules}
        found = [place for top in tops for place in self._top_level(top)]
        return {place if place.is_dir() else place.with_name(place.name + ".py") for place in found}

    def _targets(self, module: "Module", first_party: frozenset[str]) -> Iterator[str]:
        for imported in module.imports:
            if imported.module.partition(".")[0] not in first_party:
                continue
            yield imported.module
            for name, _ in imported.names:
                submodule = f"{imported.module}.{name}"
                if self._module(submodule) is not None:
                    yield submodule
                else:
                    yield from self._lazily_exported(imported.module, name)

    def _lazily_exported(self, package: str, name: str) -> Iterator[str]:
        """Yield the module that defines `name` when `package` exports it lazily through its stub."""
        module = self._module(package)
        if module is not None and name in module.lazy_exports:
            yield module.lazy_exports[name]
        elif module is not None and name == "*":
            yield from module.lazy_exports.values()

    def _module(self, name: str) -> "Module | None":
        if name not in self._modules:
            path = self._source(name)
            self._modules[name] = None if path is None else self._read(name, path)
        return self._modules[name]

    def _read(self, name: str, path: Path) -> "Module":
        if self.memory is None:
            return _read_module(name, path)
        module = self.memory.find(path)
        if module is None:
            module = _read_module(name, path)
            self.memory.keep(path, module)
        return module

    def _source(self, name: str) -> Path | None:
        top, _, rest = name.partition(".")
        for package in self._top_level(top):
            base = package.joinpath(*rest.split(".")) if rest else package
            if (base / "__init__.py").is_file():
                return base / "__init__.py"
            if base.with_name(base.name + ".py").is_file():
                return base.with_name(base.name + ".py")
        return None

    def _top_level(self, name: str) -> list[Path]:
        if self.search is not None:
            return [folder / name for folder in self.search]
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.origin:
            return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
        origin = Path(spec.origin)
        return [origin.parent if origin.name == "__init__.py" else origin.with_suffix("")]


def _first_party(roots: Iterable[str]) -> frozenset[str]:
    return PROJECT_PACKAGES | {root.partition(".")[0] for root in roots}


@dataclass(frozen=True)
class Import:
    """One import: a module, and the (name, name that it is bound to) taken from it; or what the module is bound to."""

    module: str
    names: tuple[tuple[str, str], ...]
    bound: str = ""


@dataclass(frozen=True)
class Module:
    """What the source of a module says, as far as code versions depend on it.

    `digest` is of the syntax tree without the imports of first-party modules, `runs` whether anything else is in it.
    """

    digest: str
    runs: bool
    imports: tuple[Import, ...]
    lazy_exports: dict[str, str]


def _read_module(name: str, path: Path) -> Module:
    tree = _parse(path)
    is_package = path.name == "__init__.py"
    stub = path.with_suffix(".pyi")
    imports = tuple(_imports(tree, name, is_package))
    own = _Unimported(PROJECT_PACKAGES | {name.partition(".")[0]}, name, is_package).visit(tree)
    return Module(
        digest=syntax_digest(own),
        runs=bool(own.body[1:] if _has_docstring(own) else own.body) or bool(imports),
        imports=imports,
        lazy_exports=_stub_exports(_parse(stub), name) if is_package and stub.is_file() else {},
    )


class _Unimported(ast.NodeTransformer):
    """Takes the imports of first-party modules out of a syntax tree."""

    def __init__(self, first_party: frozenset[str], name: str, is_package: bool) -> None:
        self._first_party, self._name, self._is_package = first_party, name, is_package

    def visit_Import(self, node: ast.Import) -> ast.Import | None:
        others = [alias for alias in node.names if alias.name.partition(".")[0] not in self._first_party]
        return ast.Import(others) if others else None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom | None:
        return None if _absolute(node, self._name, self._is_package).partition(".")[0] in self._first_party else node


# In Python 3.11 two threads that parse at the same time fail with a SystemError.
_PARSING = Lock()


def _parse(path: Path) -> ast.Module:
    try:
        with _PARSING:
            return ast.parse(path.read_bytes(), filename=str(path))
    except SyntaxError as error:
        raise UserError(f"is not valid Python: {error.msg}", where=f"{path}, line {error.lineno}") from error


def syntax_digest(tree: ast.Module) -> str:
    """Return the sha256 of a syntax tree without docstrings and positions."""
    pieces: list[str] = []
    _spell(tree, pieces)
    return hashlib.sha256("".join(pieces).encode("utf-8", "surrogatepass")).hexdigest()


def _spell(node: object, pieces: list[str]) -> None:
    """Spell a tree out, leaving empty fields away, since Python versions differ in which of those exist."""
    if isinstance(node, ast.AST):
        pieces.append(f"({type(node).__name__}")
        for name, value in ast.iter_fields(node):
            content = value[1:] if name == "body" and _has_docstring(node) else value
            if content is None or content == [] or name in ("ctx", "kind", "type_comment"):
                continue
            pieces.append(f" {name}=")
            _spell(content, pieces)
        pieces.append(")")
    elif isinstance(node, list):
        pieces.append("[")
        for item in node:
            _spell(item, pieces)
            pieces.append(",")
        pieces.append("]")
    else:
        pieces.append(f"{type(node).__name__}:{node!r}")


def _has_docstring(node: ast.AST) -> bool:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(node, documented) or not node.body:
        return False
    first = node.body[0]
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


def _imports(tree: ast.AST, name: str, is_package: bool) -> Iterator[Import]:
    for node in _running_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), alias.asname or alias.name)
        elif isinstance(node, ast.ImportFrom):
            names = tuple((alias.name, alias.asname or alias.name) for alias in node.names)
            yield Import(_absolute(node, name, is_package), names)


def _running_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk the tree, leaving out what stands under `if TYPE_CHECKING:`."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and _is_type_checking(node.test):
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _absolute(node: ast.ImportFrom, name: str, is_package: bool) -> str:
    """Return the full name of the module that `from ... import` reads."""
    if not node.level:
        return node.module or ""
    parts = name.split(".") if is_package else name.split(".")[:-1]
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, *([node.module] if node.module else [])])


def _stub_exports(tree: ast.Module, package: str) -> dict[str, str]:
    """Return {public name: defining module} of a lazily exporting package, from its stub."""
    return {
        alias.asname or alias.name: _absolute(node, package, is_package=True)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def code_digest(closure: Mapping[str, str]) -> str:
    """Return one hash for the modules of a closure, whatever their names."""
    return hashlib.sha256("\n".join(sorted(closure.values())).encode()).hexdigest()
