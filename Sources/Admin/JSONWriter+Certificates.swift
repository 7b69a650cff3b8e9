import JSON
import Net
import Operations
import System

extension JSONWriter {
    /// How a listener speaks TLS; nothing where it does not.
    mutating func certificates(_ status: CertificateWatch.Status?, now: WallTime) {
        guard let status else { return member("tls", nil as String?) }
        object("tls") { json in
            json.array("certificates") { json in
                for certificate in status.certificates {
                    json.object { json in
                        json.member("file", certificate.file)
                        json.array("names") { json in
                            certificate.names.forEach { json.element($0) }
                        }
                        json.member("expires", certificate.expires.rfc3339)
                        json.member("expiring", certificate.isNearEnd(at: now))
                    }
                }
            }
            json.array("revocation_lists") { json in
                for list in status.revocationLists {
                    json.object { json in
                        json.member("file", list.file)
                        json.member("issuer", list.issuer)
                        json.member("revoked", list.revokedCount)
                        json.member("expires", list.expires?.rfc3339)
                        json.member("expired", list.isExpired(at: now))
                    }
                }
            }
            json.member("problem", status.problem)
        }
    }
}

extension GatewayReport {
    /// What is not well with certificates of listeners, for people.
    var certificateLines: [String] {
        let texts = listeners.flatMap { listener -> [String] in
            guard let status = listener.certificates else { return [] }
            let warnings =
                status.certificates.compactMap { $0.warning(at: now) }
                + status.revocationLists.compactMap { $0.warning(at: now) }
            let failure = status.problem.map { "cannot be renewed: \($0)" }
            return (warnings + [failure].compactMap(\.self)).map { "\(listener.name): \($0)" }
        }
        return zip(["certificate  "] + Array(repeating: "             ", count: texts.count), texts)
            .map { $0 + $1 }
    }
}
