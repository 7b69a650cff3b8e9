"""Whether what others run (Docker/) fits its schemas, its own parts, and the program."""

import sys

from manifests import adapter, compose, kubernetes, libraries, samples
from manifests.problems import problems

samples.check()
libraries.check()
adapter.check()
if not problems:
    # These rely on configurations that are right.
    kubernetes.check()
    compose.check()
for problem in problems:
    print(f"check-manifests: {problem}", file=sys.stderr)
sys.exit(1 if problems else 0)
