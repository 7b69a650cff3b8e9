package import Crypto
import System

extension SealingKey {
    /// By this gateways of a cluster see that they have the same key. The servers of the engine can
    /// read it, so there is none for a passphrase, which could be guessed from it.
    package var clusterFingerprint: String? {
        guard !isPassphrase else { return nil }
        let bytes = plainBytes.withBytes { Array($0) } + Array("sluice cluster".utf8)
        return hex(Digest.sha256(bytes).prefix(8))
    }
}
