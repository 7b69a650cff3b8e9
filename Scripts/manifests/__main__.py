"""Checks that the files in Docker/ match their schemas, each other, and the program."""

import sys

from manifests.cluster import check_cluster, check_compose
from manifests.files import check_samples
from manifests.kubernetes import check_adapter, check_kubernetes
from manifests.problems import problems
from manifests.schema import check_schema

check_schema()
check_samples()
check_adapter()
if not problems:
    # These checks rely on valid configurations.
    check_kubernetes()
    check_compose()
    check_cluster()
for problem in problems:
    print(f"check-manifests: {problem}", file=sys.stderr)
sys.exit(1 if problems else 0)
