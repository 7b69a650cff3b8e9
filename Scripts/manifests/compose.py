"""Docker/compose.yaml: what its schema cannot check."""

import pathlib

import yaml

from manifests.problems import expect


def check() -> None:
    text = yaml.safe_load(pathlib.Path("Docker/compose.yaml").read_text())
    for name, service in text["services"].items():
        expect(
            service["read_only"]
            and service["cap_drop"] == ["ALL"]
            and service["user"] == "65532:65532"
            and "no-new-privileges:true" in service["security_opt"],
            f"compose.yaml: {name} has more rights than it needs",
        )
        for volume in service.get("volumes", []):
            expect(volume.split(":")[0] in text["volumes"], f"compose.yaml: {name} has an unknown volume")
        for secret in service.get("secrets", []):
            expect(secret in text["secrets"], f"compose.yaml: {name} has an unknown secret")
        for other in service.get("depends_on", []):
            expect(other in text["services"], f"compose.yaml: {name} depends on an unknown service")
    # Only these listeners are meant for other machines.
    for name in ["gateway", "sandbox"]:
        for port in text["services"][name]["ports"]:
            expect(port.startswith("127.0.0.1:"), f"compose.yaml: {name} is open to other machines")
    wanted = pathlib.Path("Docker/sluice.yaml").read_text()
    for secret in text["services"]["prod"]["secrets"]:
        expect(f"/run/secrets/{secret}}}" in wanted, f"Docker/sluice.yaml does not use the secret {secret}")
