import COpenSSL
import Synchronization
package import System

/// The certificates of a listener and how it speaks TLS. It may be shared by listeners and threads.
package final class TLSContext: Sendable {
    private let identities: Locked<TLSIdentities>
    /// Rises when other clients are to be let in than before.
    private let generation = Atomic<Int>(0)

    /// Reads and checks the files.
    package init(_ settings: TLSSettings) throws(TLSError) {
        identities = Locked(try TLSIdentities(settings))
    }

    /// Reads and checks the files again, or others. New connections get what was read, and tickets of
    /// new keys: worth a call a day even where no file has changed. Others go on as they began, unless
    /// the rules for clients have changed: then their next request is the last, and is refused.
    /// After an error all is as it was.
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

    /// Reads a file of certificates and keeps nothing of it.
    package static func check(certificates file: String) throws(TLSError) {
        for certificate in try TLSFiles.certificates(in: file) { X509_free(certificate) }
    }

    /// The same for lists of revoked certificates.
    package static func check(revocationLists file: String) throws(TLSError) {
        for list in try TLSFiles.revocationLists(in: file) { X509_CRL_free(list) }
    }

    /// The same for a private key.
    package static func check(key file: String) throws(TLSError) {
        EVP_PKEY_free(try TLSFiles.key(in: file))
    }

    /// As `replace`, with what another context has read already.
    package func adopt(_ other: TLSContext) {
        put(other.current)
    }

    /// Those that new connections get, in the order of the settings.
    package var certificates: [TLSCertificate] { current.certificates }

    /// Those by which clients are checked.
    package var revocationLists: [TLSRevocationList] { current.clientRules.revocationLists }

    /// What an operator should know: certificates that clients refuse at this time.
    package func warnings(at now: WallTime) -> [String] {
        let current = current
        return current.certificates.compactMap { $0.warning(at: now) }
            + current.clientRules.revocationLists.compactMap { $0.warning(at: now) }
            + current.neverShown.map {
                "the certificate in \($0.file) is shown to nobody: the one in \($0.instead) is for"
                    + " the same names and has the same kind of key; take one of them out"
            }
    }

    var current: TLSIdentities { identities.withLock { $0 } }

    /// What a new session takes, and what tells later whether its client would still be let in.
    func begin() -> (identities: TLSIdentities, generation: Int) {
        identities.withLock { ($0, generation.load(ordering: .relaxed)) }
    }

    func isOutdated(_ generation: Int) -> Bool {
        self.generation.load(ordering: .relaxed) != generation
    }
}
