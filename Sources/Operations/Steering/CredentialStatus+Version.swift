package import Credentials
import Crypto
import System

extension CredentialStatus {
    /// Generations are counted anew in each life of the process.
    private static let life = hex(randomBytes(4))

    /// Changes with what operators decide, and with nothing that a source does. It is made of nothing secret.
    package var version: String {
        let parts = [name, source, "\(generation)", Self.life]
        return "\"\(Digest.sha256Hex(parts.joined(separator: "\n")).prefix(16))\""
    }
}
