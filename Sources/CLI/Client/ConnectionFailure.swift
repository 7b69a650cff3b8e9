import Configuration
import HTTPClient
import Net

/// Why the connection to a gateway failed, in one sentence with the remedy.
struct ConnectionFailure: CustomStringConvertible {
    let code: CurlCode
    /// Further text of curl and OpenSSL.
    let details: String
    /// OpenSSL's verdict on the gateway's certificate; 0 means good.
    let verdict: Int
    let access: AdminAccess

    var description: String {
        guard let tls = access.tls else { return plain }
        switch code {
        case .peerNotVerified, .badIssuer: return distrust(tls)
        case .pinnedKeyDiffers: return otherKey(tls)
        case .badAuthoritiesFile:
            return
                "the file of trusted certificates cannot be read (\(said)); it must be in "
                + "PEM form (-----BEGIN CERTIFICATE-----)"
        case .badClientCertificate:
            return
                "the client certificate cannot be used (\(said)); --admin-cert and "
                + "--admin-key must name a pair in PEM form, the key without a passphrase"
        default: return refusedByGateway ?? (isNoTLS ? notTLS : nobody)
        }
    }

    /// The gateway's TLS alert about the client's certificate, or about its absence.
    private var refusedByGateway: String? {
        if has("certificate required") || has("handshake failure") && access.tls?.certificate == nil
        {
            return
                "the gateway at \(access.address) requires a client certificate; set it with "
                + "--admin-cert FILE --admin-key FILE"
        }
        let isRefused = [
            "unknown ca", "bad certificate", "certificate expired", "certificate unknown",
        ]
        .contains { has("alert \($0)") }
        guard isRefused, access.tls?.certificate != nil else { return nil }
        return "the gateway at \(access.address) refuses the client certificate "
            + "(\(said)); use one signed by an authority in its admin.tls.client_ca"
    }

    private func distrust(_ tls: AdminTLS) -> String {
        let start = "the certificate of the gateway at \(access.address)"
        if has("subject name") {
            return "\(start) is for another name (\(said)); connect by a name in it, with "
                + "--admin-listen https://NAME:\(access.address.port)"
        }
        switch verdict {
        // X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
        case 9: return "\(start) is not valid yet; check the clocks of both machines"
        case 10:
            return
                "\(start) has expired; replace its file with a renewed one, which the gateway loads by itself"
        default: break
        }
        switch tls.trust {
        case .certificate: return otherKey(tls)
        case .system:
            return
                "\(start) was signed by an authority that this machine does not trust (\(said)); name the "
                + "authority's certificate with --admin-ca FILE"
        case .authorities(let file):
            return
                "\(start) was not signed by an authority in \(file) (\(said)); name the right one with "
                + "--admin-ca FILE"
        }
    }

    private func otherKey(_ tls: AdminTLS) -> String {
        let file = if case .certificate(let file) = tls.trust { file } else { "the file" }
        return
            "the gateway at \(access.address) has another certificate than \(file); if it "
            + "was renewed just now, retry in a few seconds; for another gateway, use "
            + "--admin-listen https://NAME:PORT"
    }

    private var isNoTLS: Bool {
        code == .tlsConnectError
            && ["wrong version number", "packet length too long", "http request", "unexpected eof"]
                .contains(where: has)
    }

    private var notTLS: String {
        "the server at \(access.address) does not speak TLS; use --admin-listen http://\(access.address), or "
            + "restart the gateway if admin.tls was added while it ran"
    }

    private var plain: String {
        // A TLS listener sends an alert, or closes, where an HTTP client expects an answer.
        let isOther =
            code == .unsupportedProtocol || code == .weirdServerReply
            || code == .gotNothing || code == .receiveError
        guard isOther else { return nobody }
        return
            "the server at \(access.address) does not answer in plain HTTP (\(said)); if it speaks TLS, "
            + "name the gateway's configuration with --config, or use --admin-listen "
            + "https://\(access.address)"
    }

    private var nobody: String {
        "no gateway answers at \(access.address) (\(reason)); start it, or name "
            + "its admin listener with --admin-listen ADDRESS"
    }

    private var reason: String { code.description }
    private var said: String { details.isEmpty ? reason : details }

    private func has(_ words: String) -> Bool { details.contains(words) }
}
