import Net
import System

extension MetricsPage {
    /// Of listeners that speak TLS. The files are those of the configuration, and there no one twice.
    mutating func certificates(_ listeners: [GatewayReport.Listener], now: WallTime) {
        family(
            "sluice_tls_certificate_expiry_timestamp_seconds",
            .gauge,
            "When the certificate that is served ends, in seconds since 1970."
        ) {
            for (listener, certificate) in listeners.served {
                $0.add(
                    certificate.expires.seconds,
                    ["listener": listener, "file": certificate.file]
                )
            }
        }
        family(
            "sluice_tls_certificate_expiring",
            .gauge,
            "Whether the certificate that is served should have been renewed by now."
        ) {
            for (listener, certificate) in listeners.served {
                $0.add(
                    certificate.isNearEnd(at: now),
                    ["listener": listener, "file": certificate.file]
                )
            }
        }
        family(
            "sluice_tls_renewal_failing",
            .gauge,
            "Whether the files of a listener's certificates cannot be served as they are now."
        ) {
            for listener in listeners {
                guard let certificates = listener.certificates else { continue }
                $0.add(certificates.problem != nil, ["listener": listener.name])
            }
        }
    }
}

extension [GatewayReport.Listener] {
    /// Each certificate with the name of its listener.
    fileprivate var served: [(String, TLSCertificate)] {
        flatMap { listener in
            (listener.certificates?.certificates ?? []).map { (listener.name, $0) }
        }
    }
}
