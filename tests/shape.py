"""The shape of the product in figures: ``python -m tests.shape``."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("flows", "tasks", "reports")
MOST_PARAMETERS = 7


def modules() -> Iterator[tuple[str, str, ast.Module]]:
    """Dotted name, text and tree of every module of the product."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts), text, ast.parse(text)


def mutual_imports() -> list[tuple[str, str]]:
    """Pairs of folders whose modules import each other, a folder's subfolders apart."""
    folders = {name: name.rpartition(".")[0] for name, _, _ in modules()}
    imports: defaultdict[str, set[str]] = defaultdict(set)
    for name, _, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                named = {f"{node.module}.{one.name}" for one in node.names} | {str(node.module)}
                imports[folders[name]] |= {folders[one] for one in named & folders.keys()}
    return [(one, other) for one in sorted(imports) for other in imports[one] if one < other and one in imports[other]]


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Parameters that a caller gives."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return sum(one.arg not in ("self", "cls") for one in given)


def main() -> None:
    """Print lines, statements, folders that import each other, long signatures and shared class names."""
    lines, statements, lengths = 0, 0, []
    classes: Counter[str] = Counter()
    long = 0
    for _, text, tree in modules():
        lengths.append(text.count("\n"))
        lines += lengths[-1]
        for node in ast.walk(tree):
            statements += isinstance(node, ast.stmt)
            if isinstance(node, ast.ClassDef):
                classes[node.name] += 1
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                long += parameters(node) > MOST_PARAMETERS
    print(f"modules: {len(lengths)}, median {sorted(lengths)[len(lengths) // 2]} lines")
    print(f"lines: {lines:,}; statements: {statements:,}")
    print(f"pairs of folders that import each other: {len(mutual_imports())}")
    print(f"functions with more than {MOST_PARAMETERS} parameters: {long}")
    print(f"classes that share a name with another: {sum(count for count in classes.values() if count > 1)}")


if __name__ == "__main__":
    main()
