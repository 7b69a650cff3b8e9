"""Keys and certificates of listeners."""

import pathlib
import subprocess
from collections.abc import Sequence

# Of openssl req.
NEW_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split()


def make_certificate(certificate: pathlib.Path, key: pathlib.Path, name: str, others: Sequence[str] = ()) -> None:
    """A certificate that signs itself, for one host, or for others as well."""
    words = ["openssl", "req", "-x509", *NEW_KEY, "-days", "2", "-subj", f"/CN={name}"]
    if others:
        words += ["-addext", "subjectAltName=" + ",".join(f"DNS:{host}" for host in (name, *others))]
    subprocess.run([*words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
