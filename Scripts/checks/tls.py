"""Checks the TLS listener for devices with testssl.sh."""

import collections
import json
import pathlib
import subprocess
import time
from typing import Any

from harness.certificates import NEW_KEY
from harness.check import Check, run_check
from harness.gateway import port_of

# A certificate as public authorities issue them. A self-made one names no OCSP responder.
EXTENSIONS = """\
subjectAltName = DNS:localhost, IP:127.0.0.1
keyUsage = digitalSignature
extendedKeyUsage = serverAuth
authorityInfoAccess = OCSP;URI:http://127.0.0.1/
"""
# WARN is a test that testssl.sh cannot run on this machine. It says nothing about the gateway.
ACCEPTED = ("OK", "INFO", "LOW", "WARN")
LEAST_FINDINGS = 100


def openssl(work: pathlib.Path, *words: str) -> None:
    with open(work / "openssl.log", "ab") as log:
        subprocess.run(["openssl", *words], cwd=work, check=True, stderr=log)


def issue_certificate(work: pathlib.Path) -> None:
    """Writes authority.pem, gateway.pem and gateway.key."""
    key = ["req", *NEW_KEY]
    authority = ["-x509", "-days", "60", "-subj", "/CN=Trial authority"]
    openssl(work, *key, "-keyout", "authority.key", *authority, "-out", "authority.pem")
    openssl(work, *key, "-keyout", "gateway.key", "-subj", "/CN=localhost", "-out", "gateway.csr")
    (work / "extensions").write_text(EXTENSIONS)
    signer = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "90"]
    openssl(work, "x509", "-req", "-in", "gateway.csr", *signer, "-extfile", "extensions", "-out", "gateway.pem")


def findings(work: pathlib.Path, port: int) -> list[dict[str, Any]]:
    words = ["--quiet", "--color", "0", "--warnings", "off", "--ip", "one"]
    words += ["--add-ca", str(work / "authority.pem"), "--jsonfile", str(work / "found.json")]
    with open(work / "testssl.log", "wb") as log:
        # Its exit code counts findings of every severity.
        command = ["testssl", *words, f"https://localhost:{port}"]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    return json.loads((work / "found.json").read_text())


def check_tls(check: Check) -> None:
    work = check.work
    issue_certificate(work)
    tls = f'tls: {{ listen: "127.0.0.1:0", certificate: {work / "gateway.pem"}, key: {work / "gateway.key"} }}'
    gateway = check.gateway("  app: { project: demo, logstore: app }", tls, sandbox=True)
    port = port_of(gateway.wait_for("TLS listener is ready")["devices-tls"])
    began = time.monotonic()
    found = findings(work, port)
    for finding in found:
        told = f"{finding['severity']}: {finding['id']}: {finding['finding']}"
        if finding["severity"] == "WARN":
            check.say(f"not tested: {finding['id']}: {finding['finding']}")
        check.expect(finding["severity"] in ACCEPTED, told)
    severities = collections.Counter(finding["severity"] for finding in found)
    took = time.monotonic() - began
    check.say(f"{', '.join(f'{count} {severity}' for severity, count in severities.items())}, after {took:.0f} s")
    protocols = [finding for finding in found if finding["id"].startswith(("cipher", "TLS1"))]
    told = (work / "testssl.log").read_text()[-2000:]
    check.require(len(found) >= LEAST_FINDINGS and protocols, f"testssl.sh ended early:\n{told}")


if __name__ == "__main__":
    run_check("check-tls", check_tls)
