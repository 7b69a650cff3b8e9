"""The metric that Docker/kubernetes/monitoring/adapter.yaml gives to the autoscaler."""

import json
import pathlib
import tempfile

import yaml

from manifests.problems import passes

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


def check() -> None:
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
