import Crypto
import SLS
import System

/// Removes secrets from a server's answer, in every encoding. When STS refuses a signature, it
/// repeats the signed text, encoded, with the caller's token in it.
struct SecretMask {
    private var secrets: [Secret] = []

    mutating func add(_ secret: Secret?) {
        if let secret, secret.byteCount > 0 { secrets.append(secret) }
    }

    mutating func add(_ credential: Credential?) {
        add(credential?.secret)
        add(credential?.securityToken)
    }

    /// Returns one line of bounded length, with dots in place of secrets.
    func shown(_ text: String, bytesMax: Int) -> String {
        var clear = text
        for secret in secrets {
            let plain = secret.revealed
            let once = percentEncoded(plain)
            for form in [percentEncoded(once), once, plain] {
                clear = clear.replacing(form, with: "•••")
            }
        }
        var kept = ""
        for scalar in TerminalText.line(clear).unicodeScalars {
            guard kept.utf8.count < bytesMax else { return kept + "…" }
            kept.unicodeScalars.append(scalar)
        }
        return kept
    }
}
