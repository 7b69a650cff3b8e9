import Configuration
import Net
import System

/// Replaces the certificates of listeners when a reload names other files.
package struct CertificateReload: Sendable {
    /// Certificates that were read and are not served yet.
    struct Candidate {
        fileprivate let watch: CertificateWatch
        fileprivate let settings: TLSSettings
        fileprivate let context: TLSContext
        fileprivate let seen: [FileStamp?]

        func adopt() { watch.adopt(settings, context, seen: seen) }
    }

    /// One for each listener that speaks TLS.
    package let watches: [CertificateWatch]

    package init(_ watches: [CertificateWatch]) {
        self.watches = watches
    }

    /// Reads the certificates of listeners whose settings differ.
    func candidates(
        _ before: GatewayConfiguration,
        _ after: GatewayConfiguration
    ) throws(TLSError) -> [Candidate] {
        var all: [Candidate] = []
        for watch in watches {
            guard let settings = after.tls(of: watch.listener),
                settings != before.tls(of: watch.listener)
            else { continue }
            // Before the files are read, so that no change is missed.
            let seen = CertificateWatch.stamps(settings)
            let context = try TLSContext(settings)
            all.append(Candidate(watch: watch, settings: settings, context: context, seen: seen))
        }
        return all
    }

    /// Reads all files again, changed or not.
    func readAgain() {
        for watch in watches { watch.readAgain() }
    }
}
