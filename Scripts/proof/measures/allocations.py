"""Counts what a program allocates, from outside and without changing it."""

import pathlib
import shutil
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_suffix(".c")
COMPILERS = ("cc", "clang", "gcc")


class Missing(Exception):
    """There is no C compiler."""


class AllocationCount:
    """`environment` is for the program to count. Its count starts with the program and never goes down."""

    def __init__(self, work: pathlib.Path) -> None:
        compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
        if compiler is None:
            raise Missing(f"none of {', '.join(COMPILERS)} is installed")
        self.library, self.file = work / "allocations.so", work / "allocations"
        words = [compiler, "-O2", "-shared", "-fPIC", "-o", str(self.library), str(SOURCE)]
        subprocess.run(words, check=True, capture_output=True)
        self.file.write_bytes(bytes(8))

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.library), "SLUICE_ALLOCATIONS": str(self.file)}

    @property
    def now(self) -> int:
        (count,) = struct.unpack("=Q", self.file.read_bytes())
        return int(count)
