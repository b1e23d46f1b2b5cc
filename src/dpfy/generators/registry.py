"""The generator families: one line each."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from dpfy.errors import SpecError
from dpfy.generators.protocol import GeneratorFamily

FAMILIES = {
    "marginal": "dpfy.generators.tabular.marginal.sampler",
}


def family(name: str) -> GeneratorFamily:
    """Finds a family by its name.

    Raises:
        SpecError: for a name that is not registered.
    """
    if name not in FAMILIES:
        raise SpecError(f"there is no generator {name!r}.", hint=f"Known: {', '.join(FAMILIES)}.")
    return cast(GeneratorFamily, import_module(FAMILIES[name]).FAMILY)
