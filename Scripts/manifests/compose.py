"""Docker/compose.yaml and compose.cluster.yaml: what their schema cannot check."""

import pathlib
from typing import Any

import yaml

from manifests.problems import expect


def check() -> None:
    text = read("compose.yaml")
    # Only these listeners are meant for other machines.
    for name in ["gateway", "sandbox"]:
        local("compose.yaml", name, text["services"][name])
    wanted = pathlib.Path("Docker/sluice.yaml").read_text()
    for secret in text["services"]["prod"]["secrets"]:
        expect(f"/run/secrets/{secret}}}" in wanted, f"Docker/sluice.yaml does not use the secret {secret}")
    for name, service in read("compose.cluster.yaml")["services"].items():
        local("compose.cluster.yaml", name, service)


def read(file: str) -> dict[str, Any]:
    """The file, after checks of its rights and references."""
    text: dict[str, Any] = yaml.safe_load(pathlib.Path("Docker", file).read_text())
    for name, service in text["services"].items():
        # The brokers' image has no user of its own, and a new volume belongs to root.
        user = "0:0" if service["image"].startswith("nats:") else "65532:65532"
        expect(
            service["read_only"]
            and service["cap_drop"] == ["ALL"]
            and service["user"] == user
            and "no-new-privileges:true" in service["security_opt"],
            f"{file}: {name} has more rights than it needs",
        )
        for volume in service.get("volumes", []):
            source, _, target = volume.partition(":")
            # One without a name goes with its container.
            expect(not target or source in text["volumes"], f"{file}: {name} has an unknown volume")
        for config in service.get("configs", []):
            known = text["configs"].get(config["source"])
            expect(
                known and pathlib.Path("Docker", known["file"]).exists(), f"{file}: {name} has an unknown configuration"
            )
        for secret in service.get("secrets", []):
            expect(secret in text["secrets"], f"{file}: {name} has an unknown secret")
        for other in service.get("depends_on", []):
            expect(other in text["services"], f"{file}: {name} depends on an unknown service")
    return text


def local(file: str, name: str, service: dict[str, Any]) -> None:
    for port in service.get("ports", []):
        expect(port.startswith("127.0.0.1:"), f"{file}: {name} is open to other machines")
