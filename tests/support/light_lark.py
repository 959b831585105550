"""lark_oapi without the sixty services that nobody here calls: they are eleven thousand modules and four seconds.

Importing this makes ``import lark_oapi`` of this process quick: pytest's own does so, the forks of
``support/forking.py`` and the processes of `light_python` do. What starts as people start it, such as ``make demo``,
has the whole SDK.
"""

import re
import sys
import venv
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

__all__ = ["BEGIN", "light_python"]

BEGIN: Final = f"{Path(__file__).parents[1]}\nimport support.light_lark\n"
"""The end of a ``.pth`` file with which every process of an environment begins so."""

_LEFT_OUT: Final = re.compile(r"lark_oapi\.api\.(?!(?:application|auth|cardkit|im)(?:\.|$))(?!.*\.processor$)")
"""All but what nanobot and our tests call, and but the events, whose names the SDK's dispatcher needs."""


class _Nothing:
    """Stands for every class of a service that is left out: can be named and made, and does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None: ...


class _Empty(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing


class _LeftOut(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _LEFT_OUT.match(fullname):
            return None
        spec = ModuleSpec(fullname, self, is_package=True)
        spec.submodule_search_locations = [f"{place}/{fullname.rpartition('.')[2]}" for place in path or ()]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__all__ = []  # pyright: ignore[reportAttributeAccessIssue]


def light_python(folder: Path) -> str:
    """An interpreter in a new folder that has everything that this one has, and begins so."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "everything.pth").write_text("\n".join([*filter(None, sys.path), BEGIN]), encoding="utf-8")
    return str(folder / "bin" / "python")


sys.meta_path.insert(0, _LeftOut())
