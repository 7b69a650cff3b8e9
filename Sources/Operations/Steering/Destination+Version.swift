package import Configuration
import Crypto
import JSON

extension Destination {
    /// Changes with each change of it.
    package func version(_ decided: DecidedSettings) -> String {
        var json = JSONWriter()
        json.object { $0.settings(self) }
        return "\"\(Digest.sha256Hex(json.text + decided.json).prefix(16))\""
    }
}
