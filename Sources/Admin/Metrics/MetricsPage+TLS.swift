import Net
import Operations
import System

extension MetricsPage {
    /// Of listeners that speak TLS. The files are those of the configuration, and there no one twice.
    mutating func certificates(_ listeners: [GatewayReport.Listener], now: WallTime) {
        family(
            "sluice_tls_certificate_expiry_timestamp_seconds",
            .gauge,
            "When the served certificate ends, in seconds since 1970."
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
            "1 if the served certificate should have been renewed by now."
        ) {
            for (listener, certificate) in listeners.served {
                $0.add(
                    certificate.isNearEnd(at: now),
                    ["listener": listener, "file": certificate.file]
                )
            }
        }
        family(
            "sluice_tls_crl_expiry_timestamp_seconds",
            .gauge,
            "When the first revocation list of the file ends, in seconds since 1970; clients are refused from then on."
        ) {
            for (listener, file, expires) in listeners.revocations {
                $0.add(expires.seconds, ["listener": listener, "file": file])
            }
        }
        family(
            "sluice_tls_renewal_failing",
            .gauge,
            "1 if a listener's certificate files cannot be served."
        ) {
            for listener in listeners {
                guard let certificates = listener.certificates else { continue }
                $0.add(certificates.problem != nil, ["listener": listener.name])
            }
        }
    }
}

extension [GatewayReport.Listener] {
    /// Each file of revocation lists with the first end of one.
    fileprivate var revocations: [(String, String, WallTime)] {
        flatMap { listener -> [(String, String, WallTime)] in
            let lists = listener.certificates?.revocationLists ?? []
            let ends = Dictionary(
                lists.compactMap { list in list.expires.map { (list.file, $0) } },
                uniquingKeysWith: { Swift.min($0, $1) }
            )
            return ends.sorted { $0.key < $1.key }.map { (listener.name, $0.key, $0.value) }
        }
    }

    /// Each certificate with the name of its listener.
    fileprivate var served: [(String, TLSCertificate)] {
        flatMap { listener in
            (listener.certificates?.certificates ?? []).map { (listener.name, $0) }
        }
    }
}
