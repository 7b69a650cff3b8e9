import COpenSSL
package import System

/// The certificates of a listener and how it speaks TLS. It may be shared by listeners and threads.
package final class TLSContext: Sendable {
    private let identities: Locked<TLSIdentities>

    /// Reads and checks the files.
    package init(_ settings: TLSSettings) throws(TLSError) {
        identities = Locked(try TLSIdentities(settings))
    }

    /// Reads and checks the files again, or others. Connections go on as they began, new ones get
    /// what was read, and tickets of new keys: worth a call a day even where no file has changed.
    /// After an error all is as it was.
    package func replace(_ settings: TLSSettings) throws(TLSError) {
        let next = try TLSIdentities(settings)
        identities.withLock { $0 = next }
    }

    /// Whether certificates of clients can be checked with what the file holds.
    package static func check(authorities file: String) throws(TLSError) {
        for certificate in try TLSFiles.certificates(in: file) { X509_free(certificate) }
    }

    /// As `replace`, with what another context has read already.
    package func adopt(_ other: TLSContext) {
        let next = other.current
        identities.withLock { $0 = next }
    }

    /// Those that new connections get, in the order of the settings.
    package var certificates: [TLSCertificate] { current.certificates }

    /// What an operator should know: certificates that clients refuse at this time.
    package func warnings(at now: WallTime) -> [String] {
        certificates.compactMap { $0.warning(at: now) }
    }

    var current: TLSIdentities { identities.withLock { $0 } }
}
