import COpenSSL
import Synchronization
package import System

/// A listener's certificates and TLS settings. Listeners and threads may share it.
package final class TLSContext: Sendable {
    private let identities: Locked<TLSIdentities>
    /// Increases when the rules for clients change.
    private let generation = Atomic<Int>(0)

    /// Reads and checks the files.
    package init(_ settings: TLSSettings) throws(TLSError) {
        identities = Locked(try TLSIdentities(settings))
    }

    /// Reads and checks the files again, or others. New connections get the new certificates, and
    /// tickets with new keys, so a daily call is worthwhile even if no file has changed. Existing
    /// connections continue as before, unless the rules for clients have changed: then their next
    /// request is refused and is their last. On an error nothing changes.
    package func replace(_ settings: TLSSettings) throws(TLSError) {
        put(try TLSIdentities(settings))
    }

    private func put(_ next: TLSIdentities) {
        identities.withLock { current in
            if current.clientRules != next.clientRules {
                generation.add(1, ordering: .relaxed)
            }
            current = next
        }
    }

    /// Checks a file of certificates without keeping it.
    package static func check(certificates file: String) throws(TLSError) {
        for certificate in try TLSFiles.certificates(in: file) { X509_free(certificate) }
    }

    /// Checks a file of revocation lists without keeping it.
    package static func check(revocationLists file: String) throws(TLSError) {
        for list in try TLSFiles.revocationLists(in: file) { X509_CRL_free(list) }
    }

    /// Checks a private key without keeping it.
    package static func check(key file: String) throws(TLSError) {
        EVP_PKEY_free(try TLSFiles.key(in: file))
    }

    /// Like `replace`, with the files that another context has read.
    package func adopt(_ other: TLSContext) {
        put(other.current)
    }

    /// The certificates for new connections, in the order of the settings.
    package var certificates: [TLSCertificate] { current.certificates }

    /// The revocation lists that clients are checked against.
    package var revocationLists: [TLSRevocationList] { current.clientRules.revocationLists }

    /// Warnings for the operator about certificates and lists that fail at this time.
    package func warnings(at now: WallTime) -> [String] {
        let current = current
        return current.certificates.compactMap { $0.warning(at: now) }
            + current.clientRules.revocationLists.compactMap { $0.warning(at: now) }
            + current.neverShown.map {
                "the certificate in \($0.file) is never used: the one in \($0.instead) has"
                    + " the same names and the same kind of key; remove one of them"
            }
    }

    var current: TLSIdentities { identities.withLock { $0 } }

    /// The identities for a new session, and the generation that later tells if its client would
    /// still be admitted.
    func begin() -> (identities: TLSIdentities, generation: Int) {
        identities.withLock { ($0, generation.load(ordering: .relaxed)) }
    }

    func isOutdated(_ generation: Int) -> Bool {
        self.generation.load(ordering: .relaxed) != generation
    }
}
