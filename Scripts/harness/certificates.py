"""Keys and certificates of listeners."""

import pathlib
import subprocess

# Of openssl req.
NEW_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split()


def make_certificate(certificate: pathlib.Path, key: pathlib.Path, name: str) -> None:
    """A certificate that signs itself."""
    words = ["openssl", "req", "-x509", *NEW_KEY, "-days", "2", "-subj", f"/CN={name}"]
    subprocess.run([*words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
