package import Crypto
import System

extension SealingKey {
    /// By which gateways of a cluster see that they have the same key. Other servers see it, so a passphrase, which can be
    /// guessed, has none.
    package var clusterMark: String? {
        guard !isPassphrase else { return nil }
        let bytes = plainBytes.withBytes { Array($0) } + Array("sluice cluster".utf8)
        return hex(Digest.sha256(bytes).prefix(8))
    }
}
