"""Maps the stage folders at the repository's root to one installed name, `scriptc`. Metadata is in pyproject.toml."""

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    sys.exit("scriptc does not run on Windows, whose C compiler takes no GNU C; install it in the Windows Subsystem for Linux")

from setuptools import find_packages, setup  # noqa: E402  after the message for Windows, where these imports may fail
from setuptools.command.build_ext import build_ext  # noqa: E402

FOLDERS = {
    "scriptc": "scriptc",
    "scriptc.frontend": "frontend",
    "scriptc.ir": "ir",
    "scriptc.backend_c": "backend_c",
    "scriptc.runtime": "runtime",
}
PACKAGE_DATA = {
    "scriptc": ["py.typed"],
    "scriptc.ir": ["grammar.lark"],
    "scriptc.backend_c": ["templates/*"],
    "scriptc.runtime": ["include/**/*.h", "include/*.inc", "src/**/*.c", "src/**/*.h", "src/**/*.inc", "src/**/*.cu"],
}
BRIDGE = "runtime/build_bridge.py"


class BuildBridge(build_ext):
    """Build the bridge, and remove builds of it for one version of Python: that version would load them instead."""

    def run(self) -> None:
        super().run()
        for folder in Path("runtime"), Path(self.build_lib, "scriptc", "runtime"):
            for stale in folder.glob("_bridge.cpython-*.so"):
                stale.unlink()


packages = [
    name
    for package, folder in FOLDERS.items()
    for name in [package, *(f"{package}.{sub}" for sub in find_packages(folder))]
]

setup(
    packages=packages,
    package_dir=FOLDERS,
    package_data=PACKAGE_DATA,
    include_package_data=False,
    cmdclass={"build_ext": BuildBridge},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},  # one wheel for each Python from 3.10 on
    cffi_modules=[f"{BRIDGE}:ffibuilder"] if os.path.exists(BRIDGE) else [],
)
