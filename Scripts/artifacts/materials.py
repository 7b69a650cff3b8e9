"""Prints the bill of materials of a release, in SPDX 2.3: materials FILES PROGRAM DIRECTORY VERSION

FILES is the directory of Docker/collect-files, which has dpkg's record of each Debian package in the image. PROGRAM is
not stripped, so it names the Swift that compiled it. DIRECTORY has the files of the release.
"""

import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

CREATED = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
OURS = "Apache-2.0"
SWIFT = "Apache-2.0 WITH Swift-exception"
UNKNOWN = "NOASSERTION"
DOCUMENT = "SPDXRef-DOCUMENT"


def identifier(name: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]", "-", name)


def package(name: str, version: str, purpose: str, license: str = UNKNOWN, **more: object) -> dict[str, Any]:
    return {
        "SPDXID": identifier(name),
        "name": name,
        "versionInfo": version,
        "primaryPackagePurpose": purpose,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": license,
        "copyrightText": UNKNOWN,
        **more,
    }


def file(path: pathlib.Path, version: str, purpose: str) -> dict[str, Any]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    checksums = [{"algorithm": "SHA256", "checksumValue": digest}]
    return package(path.name, version, purpose, OURS, packageFileName=path.name, checksums=checksums)


def swift(program: pathlib.Path) -> dict[str, Any]:
    found = re.search(rb"Swift version (\d[\d.]*)", program.read_bytes())
    if found is None:
        sys.exit(f"release: {program} does not name its Swift; give the program as swift build makes it, not stripped")
    version = found[1].decode()
    home = "https://github.com/swiftlang/swift"
    source = f"git+{home}@swift-{version}-RELEASE"
    return package("swift-runtime", version, "LIBRARY", SWIFT, homepage=home) | {"downloadLocation": source}


def debian(record: pathlib.Path) -> dict[str, Any]:
    fields = dict(re.findall(r"^([\w-]+): (.*)$", record.read_text(), re.M))
    name, version = fields["Package"], fields["Version"]
    purl = f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}&distro=debian-12".replace("+", "%2B")
    reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
    source = f"Debian's source package {fields.get('Source', name)}"
    return package(name, version, "LIBRARY", sourceInfo=source, externalRefs=[reference])


def related(subject: dict[str, Any], verb: str, *objects: dict[str, Any]) -> Iterator[dict[str, str]]:
    for each in objects:
        yield {"spdxElementId": subject["SPDXID"], "relationshipType": verb, "relatedSpdxElement": each["SPDXID"]}


def main(files: str, program: str, directory: str, version: str) -> None:
    made = pathlib.Path(directory)
    (deb,), (image,), (source,) = made.glob("*.deb"), made.glob("*.oci.tar"), made.glob("*.tar.gz")
    field = subprocess.run(["dpkg-deb", "--field", deb, "Depends"], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"(?:^|, )([\w.+-]+)", field))
    install = file(deb, version, "INSTALL")
    container = file(image, version, "CONTAINER")
    sources = file(source, version, "SOURCE")
    binary = file(pathlib.Path(files, "image/usr/bin/sluice"), version, "APPLICATION")
    runtime = swift(pathlib.Path(program))
    libraries = [debian(record) for record in sorted(pathlib.Path(files, "image/var/lib/dpkg/status.d").iterdir())]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": DOCUMENT,
        "name": f"sluice-{version}",
        "creationInfo": {
            "created": CREATED.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: sluice-release-{version}"],
        },
        "packages": [install, container, sources, binary, runtime, *libraries],
        "relationships": [
            *related({"SPDXID": DOCUMENT}, "DESCRIBES", install, container, sources),
            *related(install, "CONTAINS", binary),
            *related(install, "DEPENDS_ON", *(each for each in libraries if each["name"] in needed)),
            *related(container, "CONTAINS", binary, *libraries),
            *related(binary, "STATIC_LINK", runtime),
            *related(binary, "GENERATED_FROM", sources),
        ],
    }
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    document["documentNamespace"] = f"https://spdx.org/spdxdocs/sluice-{version}-{digest[:32]}"
    print(json.dumps(document, indent=1))


main(*sys.argv[1:])
