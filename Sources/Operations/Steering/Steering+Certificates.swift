import Configuration
import Net
import System

extension Steering {
    /// Certificates that were read and are not served yet.
    struct ReadCertificates {
        fileprivate let watch: CertificateWatch
        fileprivate let settings: TLSSettings
        fileprivate let context: TLSContext
        fileprivate let seen: [FileStamp?]

        func adopt() { watch.adopt(settings, context, seen: seen) }
    }

    /// Reads those of listeners whose settings become others.
    func readCertificates(
        _ before: GatewayConfiguration,
        _ after: GatewayConfiguration
    ) throws(TLSError) -> [ReadCertificates] {
        var all: [ReadCertificates] = []
        for watch in certificates {
            guard let settings = after.tls(of: watch.listener),
                settings != before.tls(of: watch.listener)
            else { continue }
            let seen = CertificateWatch.stamps(settings)
            let context = try TLSContext(settings)
            all.append(
                ReadCertificates(watch: watch, settings: settings, context: context, seen: seen)
            )
        }
        return all
    }
}
