"""Docker/kubernetes: each resource against its schema, references between them, the autoscaler's metric."""

import json
import pathlib
import re
import tempfile
from typing import Any

import kubernetes_validate
import yaml

from manifests.problems import expect, passes, problems

# By kind and name.
Resources = dict[tuple[str, str], dict[str, Any]]

FOLDER = pathlib.Path("Docker/kubernetes")
BASE = FOLDER / "base"
CLUSTER = FOLDER / "cluster"
# The oldest supported version, and the newest with a schema.
VERSIONS = ["1.29", kubernetes_validate.latest_version()]
# Files that hold no Kubernetes resource.
OTHERS = {"kustomization.yaml", "sluice.yaml", "adapter.yaml", "nats-values.yaml"}


def check_kubernetes() -> None:
    resources = {}
    for path in sorted(FOLDER.rglob("*.yaml")):
        if path.name not in OTHERS:
            for resource in yaml.safe_load_all(path.read_text()):
                fits(resource, path)
                # Its secret takes the place of the one in base.
                if path.parent != CLUSTER:
                    resources[resource["kind"], resource["metadata"]["name"]] = resource
    for folder in [BASE, FOLDER / "monitoring", FOLDER / "rrsa", CLUSTER]:
        kustomization(folder)
    pods(resources)
    services(resources)
    scaling(resources)


def fits(resource: dict[str, Any], path: pathlib.Path) -> None:
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(resource, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            where = "/".join(str(part) for part in error.path)
            problems.append(f"{path}: {resource['kind']} {where}: {error.message} (Kubernetes {version})")
        except kubernetes_validate.SchemaNotFoundError:
            # Resources of operators have their schemas elsewhere.
            expect(resource["kind"] == "ServiceMonitor", f"{path}: there is no schema for a {resource['kind']}")


def kustomization(folder: pathlib.Path) -> None:
    """Every file is used, and every used file exists."""
    text = yaml.safe_load((folder / "kustomization.yaml").read_text())
    used = set(text["resources"])
    for generator in text.get("configMapGenerator", []):
        used |= set(generator["files"])
    for name in used:
        expect((folder / name).exists(), f"{folder}/kustomization.yaml names {name}, which does not exist")
        # kustomize takes that for a cycle.
        is_above = (folder / name).resolve() in folder.resolve().parents
        expect(not is_above, f"{folder}/kustomization.yaml names a folder above it")
    there = {path.name for path in folder.glob("*.yaml")} - {"secret.example.yaml", *OTHERS - {"sluice.yaml"}}
    for name in there - used:
        problems.append(f"{folder}/{name} is in no kustomization")


def pods(resources: Resources) -> None:
    stateful = resources["StatefulSet", "sluice"]["spec"]
    pod = stateful["template"]["spec"]
    (container,) = pod["containers"]
    rights = pod["securityContext"]
    expect(rights["runAsNonRoot"] and rights["runAsUser"] == 65532, "the pod does not run as the image's user")
    expect(rights["seccompProfile"]["type"] == "RuntimeDefault", "the pod has no seccomp profile")
    rights, least = container["securityContext"], {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False}
    expect({**rights, **least, "capabilities": {"drop": ["ALL"]}} == rights, "the container has too many rights")
    expect(("ServiceAccount", pod["serviceAccountName"]) in resources, "the pod's service account does not exist")
    expect(not pod["automountServiceAccountToken"], "the pod has a Kubernetes token")
    expect(("Service", stateful["serviceName"]) in resources, "the StatefulSet's service does not exist")
    volumes = {volume["name"] for volume in pod["volumes"]}
    volumes |= {claim["metadata"]["name"] for claim in stateful["volumeClaimTemplates"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    expect(set(mounts) == volumes, f"volumes {sorted(volumes)} are mounted as {sorted(mounts)}")

    settings = yaml.safe_load((BASE / "sluice.yaml").read_text())
    expect(settings["data_dir"] == mounts["queue"], "the queue is not on its volume")
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    for name, address in [("devices", settings["listen"]), ("admin", settings["admin"]["listen"])]:
        expect(str(ports[name]) == address.split(":")[-1], f"the port {name} differs from sluice.yaml")
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"]:
        request = container[probe]["httpGet"]
        expect(request["port"] in ports and request["path"] == "/healthz", f"the {probe} has no valid target")
        # The kubelet checks no certificate.
        scheme = "HTTPS" if request["port"] == "admin" else "HTTP"
        expect(request.get("scheme", "HTTP") == scheme, f"the {probe} does not speak {scheme}")
    for_queue = stateful["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"]
    expect(number(for_queue) > number(settings["queue"]["max_bytes"]), "the volume is not larger than queue.max_bytes")
    stop = container["lifecycle"]["preStop"]["exec"]["command"]
    expect(stop[:3] == ["sluice", "drain", "--timeout"], f"preStop is {stop}")
    time = int(stop[3]) + number(settings["drain_timeout"])
    expect(pod["terminationGracePeriodSeconds"] > time, f"draining and stopping may take {time} s")
    secrets(mounts["secrets"], pod, resources)

    shell = resources["Pod", "shell"]["spec"]
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in shell["volumes"]]
    is_same = shell["securityContext"] == pod["securityContext"] and claims == ["queue-sluice-0"]
    expect(is_same, "the shell runs as another user than the gateway, or without its volume")


def secrets(place: str, pod: dict[str, Any], resources: Resources) -> None:
    """Each file that a configuration names is in the secret of its folder, or else of base. The admin listener uses TLS."""
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == "secrets"]
    files = set()
    for source in volume["projected"]["sources"]:
        content = resources["Secret", source["secret"]["name"]]["stringData"]
        for item in source["secret"].get("items", []):
            expect(item["key"] in content, f"the secret {source['secret']['name']} lacks {item['key']}")
            files.add(item["path"])
    for path in FOLDER.rglob("sluice.yaml"):
        example = path.with_name("secret.example.yaml")
        text = (example if example.exists() else BASE / example.name).read_text()
        known = files.union(next(yaml.safe_load_all(text))["stringData"])
        for name in re.findall(re.escape(place) + r"/([\w.-]+)", path.read_text()):
            expect(name in known, f"{path} names {name}, which the secret lacks")
        expect("tls" in yaml.safe_load(path.read_text())["admin"], f"{path}: tokens for admin travel unencrypted")
    (monitor,) = resources["ServiceMonitor", "sluice"]["spec"]["endpoints"]
    expect(monitor.get("scheme") == "https", "Prometheus does not speak TLS with the gateways")
    trusted = monitor["tlsConfig"]["ca"]["secret"]
    is_there = trusted["key"] in resources["Secret", trusted["name"]]["stringData"]
    expect(is_there, "Prometheus trusts a certificate that does not exist")


def services(resources: Resources) -> None:
    labels = resources["StatefulSet", "sluice"]["spec"]["template"]["metadata"]["labels"]
    (container,) = resources["StatefulSet", "sluice"]["spec"]["template"]["spec"]["containers"]
    ports = {port["name"] for port in container["ports"]}
    for (kind, name), resource in resources.items():
        spec = resource.get("spec", {})
        if kind == "Service":
            expect(spec["selector"].items() <= labels.items(), f"the service {name} selects no pod")
            for port in spec["ports"]:
                expect(port["targetPort"] in ports, f"the service {name} has no target port")
        if kind in ("PodDisruptionBudget", "NetworkPolicy", "StatefulSet"):
            chosen = spec.get("selector", spec.get("podSelector"))["matchLabels"]
            expect(chosen.items() <= labels.items(), f"the {kind} selects no pod")
    policy = resources["NetworkPolicy", "sluice"]["spec"]["ingress"]
    for rule in policy:
        is_admin = any(port["port"] == "admin" for port in rule["ports"])
        expect(not is_admin or rule.get("from"), "the NetworkPolicy opens the admin listener to everybody")


def scaling(resources: Resources) -> None:
    pages = "".join(page.read_text() for page in pathlib.Path("docs").glob("metrics*.md"))
    known = set(re.findall(r"^\| `([a-z_]+)` \|", pages, re.M))
    scaler = resources["HorizontalPodAutoscaler", "sluice"]["spec"]
    scaled = scaler["scaleTargetRef"]
    expect((scaled["kind"], scaled["name"]) in resources, "the autoscaler scales nothing")
    adapter = (FOLDER / "monitoring/adapter.yaml").read_text()
    wanted = {metric["pods"]["metric"]["name"] for metric in scaler["metrics"]}
    for name in wanted | set(re.findall(r"\bsluice_[a-z_]+", adapter)):
        expect(name in known, f"there is no metric {name}")
    for metric in scaler["metrics"]:
        target = metric["pods"]["target"]["averageValue"]
        is_neutral = f" {target} * (" in adapter and f", {target})" in adapter
        expect(is_neutral, f"the adapter's neutral age is not the target, {target}")
    for name in wanted:
        expect(f"seriesQuery: '{name}{{" in adapter, f"the adapter lacks {name}")
    monitor = resources["ServiceMonitor", "sluice"]["spec"]
    labels = monitor["selector"]["matchLabels"].items()
    known_services = [service for (kind, _), service in resources.items() if kind == "Service"]
    watched = [each for each in known_services if labels <= each["metadata"].get("labels", {}).items()]
    for endpoint in monitor["endpoints"]:
        is_open = len(watched) == 1 and endpoint["port"] in {port["name"] for port in watched[0]["spec"]["ports"]}
        expect(is_open, "the ServiceMonitor matches no port or several services")
        key = endpoint["authorization"]["credentials"]
        is_there = key["key"] in resources["Secret", key["name"]]["stringData"]
        expect(is_there, "the ServiceMonitor's token does not exist")


def number(text: str) -> int:
    """Bytes (20Gi, 16GiB, and NATS's 16GB, which is the same) or seconds (20s)."""
    ((digits, unit),) = re.findall(r"^(\d+)(\w*)$", text)
    return int(digits) * {"": 1, "s": 1, "m": 60, "M": 1 << 20, "G": 1 << 30}[re.sub("i?B?$", "", unit)]


PLACE = 'namespace="sluice",pod="sluice-0",destination="app"'
# Values of each series by minute, and the metric in the eleventh minute.
OLD, FINE = "60+60x10", "1 0 1 0 1 0 1 0 1 0 1"
OLD_THOUGH_TAKEN = {"queue_oldest_seconds": OLD, "delivery_failing": "0x10"}
CASES = {
    "logs grow old although SLS takes them": (OLD_THOUGH_TAKEN, 660),
    "all is well": ({"queue_oldest_seconds": FINE, "delivery_failing": "0x10"}, 1),
    "all is well, and the queue was emptied": ({"queue_oldest_seconds": "1x9 0", "delivery_failing": "0x10"}, 0),
    "SLS refuses": ({"queue_oldest_seconds": OLD, "delivery_failing": "1x10"}, 20),
    "the project's quota paces": (OLD_THOUGH_TAKEN | {"delivery_rate": "5x10"}, 20),
    "a logstore's quota paces": (OLD_THOUGH_TAKEN | {'logstore_rate{logstore="a"}': "5x10"}, 20),
    "an outage is just over": ({"queue_oldest_seconds": OLD, "delivery_failing": "1x9 0"}, 20),
    "a backlog goes out": ({"queue_oldest_seconds": "60+600x5 2800-400x4", "delivery_failing": "1x5 0x4"}, 20),
    "a quota paced an hour ago": (OLD_THOUGH_TAKEN | {"delivery_rate": "5x4 stale"}, 660),
}


def check_adapter() -> None:
    (rule,) = yaml.safe_load(pathlib.Path("Docker/kubernetes/monitoring/adapter.yaml").read_text())["rules"]
    query = rule["metricsQuery"].replace("<<.GroupBy>>", "pod").replace("<<.LabelMatchers>>", 'namespace="sluice"')
    tests = [
        {
            "name": name,
            "interval": "1m",
            "input_series": [{"series": series(metric), "values": values} for metric, values in metrics.items()],
            "promql_expr_test": [
                {"expr": query, "eval_time": "10m", "exp_samples": [{"labels": '{pod="sluice-0"}', "value": told}]}
            ],
        }
        for name, (metrics, told) in CASES.items()
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump({"evaluation_interval": "1m", "tests": tests}, file)
        file.flush()
        passes("adapter.yaml", "promtool", "test", "rules", file.name)


def series(metric: str) -> str:
    name, _, labels = metric.partition("{")
    return f"sluice_{name}{{{PLACE}{',' + labels if labels else '}'}"
