"""The sample configurations as the program reads them, and the versions."""

import json
import pathlib
import re
import tempfile

import yaml

from harness.certificates import make_certificate
from harness.sources import swift_source
from manifests.problems import expect, sluice_takes

SAMPLES = [
    "Docker/sluice.yaml",
    "Docker/cluster/sluice.yaml",
    "Docker/kubernetes/base/sluice.yaml",
    "Docker/kubernetes/cluster/sluice.yaml",
    "Docker/kubernetes/rrsa/sluice.yaml",
]
SETTINGS = {
    "ALIBABA_CLOUD_ACCESS_KEY_ID": "LTAIexample",
    "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "example",
    "ALIBABA_CLOUD_ROLE_ARN": "acs:ram::1234567890123456:role/sluice",
    "ALIBABA_CLOUD_OIDC_PROVIDER_ARN": "acs:ram::1234567890123456:oidc-provider/ack",
    "ALIBABA_CLOUD_OIDC_TOKEN_FILE": "/nonexistent",
    "ENCRYPTION_KEY": "0f" * 32,
    "HOSTNAME": "sluice-0",
}

# The seed of a user's nkey, from the documentation of NATS.
SEED = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"


def check_samples() -> None:
    for sample in SAMPLES:
        configuration(sample)
    variables()
    version()


def configuration(sample: str) -> None:
    text = pathlib.Path(sample).read_text()
    with tempfile.TemporaryDirectory() as directory:
        # Each secret is made up.
        certificate, key = (pathlib.Path(directory, name) for name in ("made.pem", "made.key"))
        make_certificate(certificate, key, "sample")
        for place, name in re.findall(r"(/run/secrets(?:/sluice)?)/([\w.-]+)", text):
            content = {
                ".json": json.dumps({"AccessKeyId": "LTAIexample", "AccessKeySecret": "example"}),
                ".nk": SEED,
                ".crt": certificate.read_text(),
                ".key": key.read_text(),
            }.get(pathlib.Path(name).suffix, name + "x" * 32)
            pathlib.Path(directory, name).write_text(content)
            text = text.replace(f"{place}/{name}", f"{directory}/{name}")
        file = pathlib.Path(directory, "sluice.yaml")
        file.write_text(text)
        sluice_takes(sample, file, env=SETTINGS)


def variables() -> None:
    """Each variable that is set for the gateway is documented."""
    pages = ["configuration", "destinations", "listeners", "credentials"]
    text = "".join(pathlib.Path(f"docs/{page}.md").read_text() for page in pages)
    folder = pathlib.Path("Docker")
    for path in [*folder.rglob("*.yaml"), *folder.glob("systemd/*"), folder / "Dockerfile"]:
        for name in set(re.findall(r"\b(?:SLUICE|ALIBABA_CLOUD)_[A-Z_]+", path.read_text())):
            expect(name in text, f"{path}: docs/{pages} have no variable {name}")


def version() -> None:
    (current,) = re.findall(r'current = "([^"]+)"', swift_source("Version.swift"))
    (image,) = yaml.safe_load(pathlib.Path("Docker/kubernetes/base/kustomization.yaml").read_text())["images"]
    expect(image["newTag"] == current, f"kustomization.yaml: the image is {image['newTag']}, this is {current}")
    (label,) = re.findall(r"^ARG VERSION=(.*)$", pathlib.Path("Docker/Dockerfile").read_text(), re.M)
    expect(label == current, f"Dockerfile: the label says version {label}, this is {current}")
