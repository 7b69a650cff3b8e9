import Credentials
import SLS
import System

extension CredentialStatus {
    /// Changes with the source, the credential in use and the next one. It is made of nothing but what is shown.
    var version: String {
        let parts = [
            name, source, isPushed ? "pushed" : "fetched", fingerprint ?? "none",
            next?.fingerprint ?? "none", next?.activation.rfc3339 ?? "never",
        ]
        return "\"\(Digest.sha256Hex(parts.joined(separator: "\n")).prefix(16))\""
    }
}
