"""The sample configurations, and examples in the documentation, against the schema that editors use."""

import json
import pathlib
import re
from typing import Any

import jsonschema
import yaml

from manifests.files import SAMPLES
from manifests.problems import expect

SCHEMA = pathlib.Path("docs/sluice.schema.json")
EXAMPLE = re.compile(r"^```yaml\n(.*?)^```", re.M | re.S)
WRONG = [
    "listn: :8080",
    "queue: { max_bytes: much }",
    "log: { level: loud }",
    "destinations: { app: { endpont: https://cn-hangzhou.log.aliyuncs.com } }",
    "filters: [{ match: '**', steps: [{ when: { fild: a }, drop: true }] }]",
]


def check_schema() -> None:
    schema = json.loads(SCHEMA.read_text())
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)

    def mistakes(configuration: Any) -> list[str]:
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(configuration)]

    # The package's sample is not yet a configuration for the program.
    for sample in [*SAMPLES, "Docker/debian/sluice.yaml"]:
        found = mistakes(yaml.safe_load(pathlib.Path(sample).read_text()))
        expect(not found, f"{SCHEMA} refuses {sample}: {found}")
    examples = 0
    for page in sorted(pathlib.Path("docs").rglob("*.md")):
        for text in EXAMPLE.findall(page.read_text()):
            example = yaml.safe_load(text) or {}
            # Others are of other programs.
            if set(example) & set(schema["properties"]):
                examples += 1
                found = mistakes(example)
                expect(not found, f"{SCHEMA} refuses an example of {page}: {found}")
    expect(examples > 20, f"only {examples} examples of the configuration were found in docs")
    for text in WRONG:
        expect(mistakes(yaml.safe_load(text)), f"{SCHEMA} takes {text}")
