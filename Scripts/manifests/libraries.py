"""Compares the packages that docs/deployment.md lists for a machine without a build with what the program links."""

import os
import pathlib
import re
import subprocess

from manifests.problems import expect, problems

# Not a library.
OTHERS = {"ca-certificates"}


def check() -> None:
    page = pathlib.Path("docs/deployment.md").read_text()
    (command,) = re.findall(r"`apt-get install -y ([^`]+)`", page)
    listed = set(command.split())
    wanted = packages()
    # Their dependencies are installed with them.
    brought = {name for package in listed for name in needs(package)}
    for name in wanted - listed - brought:
        problems.append(f"docs/deployment.md: the program links {name}, which is not in the list to install")
    for name in listed - wanted - OTHERS:
        problems.append(f"docs/deployment.md: the program does not link {name}, which is in the list to install")


def packages() -> set[str]:
    """The packages of the libraries that the program names itself."""
    program = os.environ["SLUICE"]
    named = set(re.findall(r"\(NEEDED\).*\[(.+)\]", said("readelf", "--dynamic", "--wide", program)))
    found = {}
    for name, path in re.findall(r"^\s*(\S+) => (/\S+)", said("ldd", program), re.M):
        if name in named:
            found[name] = path
    missing = named - set(found) - {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    expect(not missing, f"ldd does not find {sorted(missing)}")
    # Swift's own libraries are in no package; a release links them statically.
    return {name for path in found.values() if (name := owner(path))}


def owner(path: str) -> str | None:
    for name in [path, "/usr" + path]:
        run = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True)
        if run.returncode == 0:
            return run.stdout.split(":")[0]
    return None


def needs(package: str) -> list[str]:
    run = subprocess.run(["dpkg-query", "--show", "--showformat=${Depends}", package], capture_output=True, text=True)
    expect(run.returncode == 0, f"docs/deployment.md: no package {package} is installed here")
    return re.findall(r"(?:^|[,|] )([a-z0-9][a-z0-9+.-]*)", run.stdout)


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
