"""The compose files, and the files of a cluster, with the brokers' Helm values."""

import json
import os
import pathlib
import re
import shutil
import tempfile
from typing import Any

import yaml

from manifests.kubernetes import BASE, CLUSTER, fits, number
from manifests.problems import expect, passes, sluice_takes


def check_compose() -> None:
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
        rights = service["read_only"], service["cap_drop"], service["user"], service["security_opt"]
        least = True, ["ALL"], user, ["no-new-privileges:true"]
        expect(rights == least, f"{file}: {name} has more rights than it needs: {rights}")
        for volume in service.get("volumes", []):
            source, _, target = volume.partition(":")
            # One without a name goes with its container.
            expect(not target or source in text["volumes"], f"{file}: {name} has an unknown volume")
        for config in service.get("configs", []):
            known = text["configs"].get(config["source"])
            expect(known and pathlib.Path("Docker", known["file"]).exists(), f"{file}: {name} has an unknown config")
        for secret in service.get("secrets", []):
            expect(secret in text["secrets"], f"{file}: {name} has an unknown secret")
        for other in service.get("depends_on", []):
            expect(other in text["services"], f"{file}: {name} depends on an unknown service")
    return text


def local(file: str, name: str, service: dict[str, Any]) -> None:
    for port in service.get("ports", []):
        expect(port.startswith("127.0.0.1:"), f"{file}: {name} is open to other machines")


BROKER = pathlib.Path("Docker/cluster/nats.conf")
BALANCER = pathlib.Path("Docker/cluster/haproxy.cfg")
COMPOSED = pathlib.Path("Docker/cluster/sluice.yaml")
SETTINGS = CLUSTER / "sluice.yaml"
VALUES = CLUSTER / "nats-values.yaml"
GIB = 1 << 30
# Streams beside those of shards: decisions (256 MiB) and registers (16 MiB).
OTHER_STREAMS = 272 << 20


def check_cluster() -> None:
    services = yaml.safe_load(pathlib.Path("Docker/compose.cluster.yaml").read_text())["services"]
    gateways = {name for name, service in services.items() if "SLUICE_CONFIG" in service.get("environment", {})}
    brokers = {name for name, service in services.items() if service["image"].startswith("nats:")}
    text = BROKER.read_text()
    accepts(BROKER, text)
    subjects(BROKER, text)
    expect("sync_interval: always" in text, f"{BROKER} does not sync before it confirms")
    expect('server_tags: ["sync:always"]' in text, f"{BROKER} lacks the tag sync:always")
    room(BROKER, re.findall(r"max_file_store: (\w+)", text)[0], COMPOSED, len(gateways))
    for place, found in [
        (BROKER, re.findall(r"nats://(\w+):6222", text)),
        (COMPOSED, re.findall(r"nats://(\w+):4222", COMPOSED.read_text())),
    ]:
        expect(set(found) == brokers, f"{place} names {found}, the brokers are {sorted(brokers)}")
    balancer(gateways)
    values()
    # Without kubectl only the overlay's files are checked.
    if shutil.which("kubectl"):
        overlay()


def accepts(path: pathlib.Path, text: str) -> None:
    """The real server reads the configuration."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(text)
        file.flush()
        passes(path, os.environ["NATS_SERVER"], "-t", "-c", file.name)


def subjects(path: pathlib.Path, text: str) -> None:
    """The permissions are those of the page, no more and no less."""
    wanted = permissions(pathlib.Path("docs/cluster.md").read_text())
    found = permissions(text)
    expect(wanted and found == wanted, f"{path}: the permissions are {found}, docs/cluster.md has {wanted}")


def permissions(text: str) -> list[list[str]]:
    lists = re.findall(r"\b(?:publish|subscribe): \[(.*?)\]", text, re.S)
    return [re.findall(r'"([^"]+)"', subjects) for subjects in lists]


def room(path: pathlib.Path, size: str, settings: pathlib.Path, gateways: int) -> None:
    """The brokers can reserve the logs of all gateways and of two shards more."""
    shard = 5 * number(yaml.safe_load(settings.read_text())["queue"]["max_bytes"]) + GIB
    wanted = (gateways + 2) * shard + OTHER_STREAMS
    expect(number(size) >= wanted, f"{path}: {size} is less than {wanted / GIB:.1f} GiB for {gateways} gateways")


def balancer(gateways: set[str]) -> None:
    passes(BALANCER, "haproxy", "-c", "-f", BALANCER)
    text = BALANCER.read_text()
    behind = re.findall(r"^ +server \S+ (\w+):8080$", text, re.M)
    expect(set(behind) == gateways, f"{BALANCER} sends to {behind}, the gateways are {sorted(gateways)}")
    expect("option httpchk GET /healthz" in text, f"{BALANCER} does not check /healthz")


def values() -> None:
    text = VALUES.read_text()
    config = yaml.safe_load(text)["config"]
    accepts(VALUES, json.dumps(rendered(config, public_key())))
    subjects(VALUES, text)
    expect(config["jetstream"]["merge"]["sync_interval"] == "always", f"{VALUES}: brokers confirm before they sync")
    expect("sync:always" in config["merge"]["server_tags"], f"{VALUES} lacks the tag sync:always")
    gateways = yaml.safe_load((BASE / "statefulset.yaml").read_text())["spec"]["replicas"]
    room(VALUES, config["jetstream"]["fileStore"]["pvc"]["size"], SETTINGS, gateways)
    servers = yaml.safe_load(SETTINGS.read_text())["queue"]["jetstream"]["servers"]
    pods = [f"nats://nats-{broker}.nats-headless.nats:4222" for broker in range(config["cluster"]["replicas"])]
    expect(servers == pods, f"{SETTINGS} names {servers}, the brokers are {pods}")


def public_key() -> str:
    """The key that an operator makes, and puts into the values. nats-server checks it, and the gateway its seed."""
    with tempfile.TemporaryDirectory() as directory:
        seed = pathlib.Path(directory, "nats.nk")
        key = passes("make-nkey", CLUSTER / "make-nkey", seed)
        expect(seed.exists() and seed.stat().st_mode & 0o777 == 0o600, "make-nkey: others can read the seed")
        settings = pathlib.Path(directory, "sluice.yaml")
        queue = f"engine: jetstream, jetstream: {{ servers: ['nats://127.0.0.1:1'], node: one, nkey: {seed} }}"
        settings.write_text(f"queue: {{ {queue} }}\ndestinations: {{ app: {{ kind: file, path: /nonexistent }} }}\n")
        sluice_takes("the gateway refuses the seed", settings)
    return key.strip()


def rendered(config: dict[str, Any], key: str) -> dict[str, Any]:
    """The configuration that the chart makes of its values, as far as these change it."""
    accounts = json.dumps(config["merge"]["accounts"]).replace('"nkey": "REPLACE"', f'"nkey": "{key}"')
    jetstream = {"store_dir": "/data", "max_memory_store": 0, **config["jetstream"]["merge"]}
    cluster = {"name": "nats", "port": 6222, "no_advertise": True, "routes": ["nats://nats-0.nats-headless:6222"]}
    server = {"server_name": "nats-0", "port": 4222, "jetstream": jetstream, "cluster": cluster}
    return {**server, **config["merge"], "accounts": json.loads(accounts)}


def overlay() -> None:
    """What kustomize makes of base for a cluster."""
    if not (built := passes(f"{CLUSTER} cannot be built", "kubectl", "kustomize", CLUSTER)):
        return
    specs = {}
    for resource in yaml.safe_load_all(built):
        fits(resource, CLUSTER)
        specs[resource["kind"]] = resource.get("spec", {})
    stateful = specs["StatefulSet"]
    expect("volumeClaimTemplates" not in stateful, f"{CLUSTER}: the gateways have volumes that must survive")
    pod = stateful["template"]["spec"]
    (container,) = pod["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    settings = yaml.safe_load(SETTINGS.read_text())
    expect(settings["data_dir"] == mounts["queue"], f"{CLUSTER}: data_dir is not on its volume")
    if expect(set(volumes) == set(mounts), f"{CLUSTER}: volumes {sorted(volumes)} are mounted as {sorted(mounts)}"):
        scratch, queue = volumes["queue"]["emptyDir"]["sizeLimit"], settings["queue"]["max_bytes"]
        told = f"{CLUSTER}: {scratch} is too little for adopted queues of {queue}"
        expect(number(scratch) >= 4 * number(queue), told)
    expect("HOSTNAME" in {variable["name"] for variable in container["env"]}, f"{CLUSTER}: the gateways have no names")
    opened = {port["port"] for rule in specs["NetworkPolicy"]["egress"] for port in rule["ports"]}
    for server in settings["queue"]["jetstream"]["servers"]:
        expect(int(server.split(":")[-1]) in opened, f"{CLUSTER}: the NetworkPolicy keeps gateways from {server}")
