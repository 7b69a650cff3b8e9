"""Checks that the files in Docker/ match their schemas, each other, and the program."""

import sys

from manifests import adapter, cluster, compose, kubernetes, libraries, samples
from manifests.problems import problems

samples.check()
libraries.check()
adapter.check()
if not problems:
    # These checks rely on valid configurations.
    kubernetes.check()
    compose.check()
    cluster.check()
for problem in problems:
    print(f"check-manifests: {problem}", file=sys.stderr)
sys.exit(1 if problems else 0)
