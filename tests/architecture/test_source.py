"""Rules that every module keeps: size, docstrings, randomness, no printing, no pickle."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.source_tree import Module, code_lines, definitions, modules, tracked_files

LONGEST_MODULE = 500
LONGEST_FUNCTION = 80

# Randomness that is not for protection: test noise, sampling from a sealed generator, subsets in the owner's report.
MAKES_RANDOMNESS = {
    "noise/source.py",
    "sealed/generator.py",
    "quality/comparison.py",
    "quality/distances.py",
    "quality/utility.py",
}
# Keys, run numbers and names of files in the making.
MAKES_SECRETS = {"schema/output.py", "noise/source.py", "ledger/workspace.py", "workflow/synth.py"}
STORES_NOTHING = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib"}
SPEAKS = {"cli/app.py", "cli/console.py", "cli/main.py"}

every_module = pytest.mark.parametrize("module", modules(), ids=lambda m: m.name)


def _imports(module: Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def _calls(module: Module) -> list[str]:
    return [ast.unparse(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call)]


def _randomness(module: Module) -> list[str]:
    return [c for c in _calls(module) if re.search(r"\brandom\.\w+|default_rng|Philox|PCG64|RandomState", c)]


def _secrets(module: Module) -> list[str]:
    return [c for c in _calls(module) if c == "os.urandom" or c.startswith("secrets.")]


def _public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


@every_module
def test_module_and_functions_are_short(module: Module) -> None:
    assert len(module.text.splitlines()) <= LONGEST_MODULE
    for name, definition in definitions(module.tree):
        if not isinstance(definition, ast.ClassDef):
            assert code_lines(definition) <= LONGEST_FUNCTION, name


@every_module
def test_public_names_have_docstrings(module: Module) -> None:
    if module.text.strip():
        assert ast.get_docstring(module.tree), "the module says nothing about itself"
    outer = {name for name, node in definitions(module.tree) if isinstance(node, ast.ClassDef)}
    for name, definition in definitions(module.tree):
        parent = name.rpartition(".")[0]
        if _public(name) and (not parent or parent in outer):
            assert ast.get_docstring(definition), f"{name} has no docstring"


@every_module
def test_randomness_is_made_in_few_places(module: Module) -> None:
    imported = _imports(module)
    assert not {name for name in imported if name.split(".")[0] == "random" or name.startswith("numpy.random")}
    assert not _randomness(module) or module.name in MAKES_RANDOMNESS, _randomness(module)
    assert not _secrets(module) or module.name in MAKES_SECRETS, _secrets(module)


def test_lists_of_exceptions_name_nothing_that_needs_none() -> None:
    assert {m.name for m in modules() if _randomness(m)} == MAKES_RANDOMNESS
    assert {m.name for m in modules() if _secrets(m)} == MAKES_SECRETS


@every_module
def test_noise_is_seeded_nowhere(module: Module) -> None:
    if module.name != "noise/source.py":
        assert "SeededSource" not in module.text


@every_module
def test_nothing_is_pickled(module: Module) -> None:
    assert {name.split(".")[0] for name in _imports(module)} & STORES_NOTHING == set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant)
            assert node.value.value is False
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.load", "np.save", "np.savez_compressed"):
            assert "allow_pickle" in {keyword.arg for keyword in node.keywords}
    assert {"eval", "exec"} & set(_calls(module)) == set()


@every_module
def test_only_the_shell_speaks(module: Module) -> None:
    said = [c for c in _calls(module) if c in ("print", "typer.echo") or c.startswith(("sys.stdout", "sys.stderr"))]
    assert "print" not in said
    assert not said or module.name in SPEAKS, said
    assert {"logging", "warnings"} & _imports(module) == set(), "a library's log could carry a cell"


@every_module
def test_module_has_a_name_of_its_own(module: Module) -> None:
    stem = module.name.rpartition("/")[2].removesuffix(".py")
    assert not re.search(r"^(utils?|helpers?|misc|common|functions|tools)$", stem)


@every_module
def test_words_are_those_of_the_design(module: Module) -> None:
    names = {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)}
    names |= {node.arg for node in ast.walk(module.tree) if isinstance(node, ast.arg)}
    assert names & {"eps", "epsilons_sum", "sigma_multiplier", "anonymous", "safe"} == set()


def test_no_tracked_file_names_a_place_on_a_machine() -> None:
    # Put together here, so that this file does not name one itself.
    places = re.compile("|".join(re.escape(f"/{name}/") for name in ("home", "root", "Users", "work", "tmp")))
    found = []
    for path in tracked_files():
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            if places.search(line) and "benchmarks/work/" not in line:
                found.append(f"{path.name}:{number}")
    assert found == []
