"""Writes the image of a release as an OCI archive, which podman and docker load: image FILES ARCHIVE NAME=VALUE…

FILES is the directory of Docker/collect-files. The settings are those of the last stage of Docker/Dockerfile, with the
named build arguments. The same input gives the same bytes, which the layers of a build do not.
"""

import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shlex
import sys
import tarfile
from collections.abc import Callable
from typing import Any

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
CREATED = datetime.datetime.fromtimestamp(EPOCH, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
OCI = "application/vnd.oci.image"
VOLUME_OWNER = 65532


def health_check(rest: str) -> dict[str, Any]:
    """Docker's field; OCI has none, but docker reads it here too."""
    options = {name: int(value) for name, value in re.findall(r"--([a-z-]+)=(\d+)", rest)}
    times = {"Interval": "interval", "Timeout": "timeout", "StartPeriod": "start-period"}
    nanoseconds = {field: options[name] * 10**9 for field, name in times.items()}
    return {"Test": ["CMD", *json.loads(rest[rest.index("[") :])], **nanoseconds, "Retries": options["retries"]}


# How each instruction of the Dockerfile becomes a field of the image's configuration.
FIELDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "LABEL": ("Labels", lambda rest: dict(label.split("=", 1) for label in shlex.split(rest))),
    "ENV": ("Env", shlex.split),
    "USER": ("User", str),
    "WORKDIR": ("WorkingDir", str),
    "VOLUME": ("Volumes", lambda rest: {rest: {}}),
    "EXPOSE": ("ExposedPorts", lambda rest: {f"{port}/tcp": {} for port in rest.split()}),
    "STOPSIGNAL": ("StopSignal", str),
    "HEALTHCHECK": ("Healthcheck", health_check),
    "ENTRYPOINT": ("Entrypoint", json.loads),
    "CMD": ("Cmd", json.loads),
}


def settings(arguments: dict[str, str]) -> dict[str, Any]:
    """The configuration that the last stage of the Dockerfile describes."""
    text = re.sub(r"\\\n *", "", re.sub(r"^#.*\n", "", pathlib.Path("Docker/Dockerfile").read_text(), flags=re.M))
    stage = re.split(r"^FROM .*\n", text, flags=re.M)[-1]
    found: dict[str, Any] = {}
    for line in stage.splitlines():
        word, _, rest = re.sub(r"\$\{(\w+)\}", lambda name: arguments[name[1]], line).partition(" ")
        if word in FIELDS:
            field, read = FIELDS[word]
            found[field] = read(rest)
        elif word not in ("ARG", "COPY"):  # The arguments are given, and the layer has the files.
            sys.exit(f"release: FIELDS in Scripts/artifacts/image.py lacks {word} of Docker/Dockerfile; add it")
    return found


def member(name: str, size: int = 0) -> tarfile.TarInfo:
    """A file's header without traces of this machine."""
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = size, EPOCH, 0o644
    return info


def layer(files: pathlib.Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for top, prefix, owner in [("image", "", 0), ("volume", "var/lib/", VOLUME_OWNER)]:
            for path in sorted((files / top).rglob("*")):
                info = member(prefix + path.relative_to(files / top).as_posix())
                info.mode, info.uid, info.gid = path.stat().st_mode & 0o777, owner, owner
                if path.is_dir():
                    info.type = tarfile.DIRTYPE
                    archive.addfile(info)
                else:
                    info.size = path.stat().st_size
                    archive.addfile(info, io.BytesIO(path.read_bytes()))
    return buffer.getvalue()


def main(files: str, target: str, *pairs: str) -> None:
    arguments = dict(pair.split("=", 1) for pair in pairs)
    name, version, architecture = "sluice", arguments["VERSION"], arguments["ARCHITECTURE"]
    content: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}

    def add(kind: str, blob: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(blob).hexdigest()
        content[f"blobs/sha256/{digest}"] = blob
        return {"mediaType": f"{OCI}.{kind}", "digest": f"sha256:{digest}", "size": len(blob)}

    def add_json(kind: str, value: object) -> dict[str, Any]:
        return add(kind, json.dumps(value, sort_keys=True).encode())

    files_layer = layer(pathlib.Path(files))
    packed = add("layer.v1.tar+gzip", gzip.compress(files_layer, mtime=0))
    config = add_json(
        "config.v1+json",
        {
            "architecture": architecture,
            "os": "linux",
            "created": CREATED,
            "config": settings(arguments),
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(files_layer).hexdigest()}"]},
            "history": [{"created": CREATED, "created_by": "Docker/collect-files"}],
        },
    )
    kind = "manifest.v1+json"
    manifest = add_json(kind, {"schemaVersion": 2, "mediaType": f"{OCI}.{kind}", "config": config, "layers": [packed]})
    manifest["platform"] = {"architecture": architecture, "os": "linux"}
    manifest["annotations"] = {
        "io.containerd.image.name": f"docker.io/library/{name}:{version}",
        "org.opencontainers.image.ref.name": f"{name}:{version}",
    }
    index = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": [manifest]}
    content["index.json"] = json.dumps(index, sort_keys=True).encode()
    # Docker without containerd's image store reads this file instead.
    paths = ["blobs/" + part["digest"].replace(":", "/") for part in (config, packed)]
    entry = {"Config": paths[0], "RepoTags": [f"{name}:{version}"], "Layers": paths[1:]}
    content["manifest.json"] = json.dumps([entry]).encode()
    with tarfile.open(target, "w") as archive:
        for path, blob in sorted(content.items()):
            archive.addfile(member(path, len(blob)), io.BytesIO(blob))


main(*sys.argv[1:])
