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
                "no certificate can be read from what is to be trusted (\(said)); it wants a file in "
                + "PEM form (-----BEGIN CERTIFICATE-----)"
        case .badClientCertificate:
            return
                "the certificate to show to the gateway cannot be used (\(said)); --admin-cert and "
                + "--admin-key want a pair in PEM form, the key without a passphrase"
        default: return refusedByGateway ?? (isNoTLS ? notTLS : nobody)
        }
    }

    /// The gateway's TLS alert about the client's certificate, or about its absence.
    private var refusedByGateway: String? {
        if has("certificate required") || has("handshake failure") && access.tls?.certificate == nil
        {
            return
                "the gateway at \(access.address) wants a certificate of its clients; show yours with "
                + "--admin-cert FILE --admin-key FILE"
        }
        let isRefused = [
            "unknown ca", "bad certificate", "certificate expired", "certificate unknown",
        ]
        .contains { has("alert \($0)") }
        guard isRefused, access.tls?.certificate != nil else { return nil }
        return "the gateway at \(access.address) does not take the certificate that it was shown "
            + "(\(said)); it wants one that an authority in its admin.tls.client_ca has signed"
    }

    private func distrust(_ tls: AdminTLS) -> String {
        let start = "the certificate of the gateway at \(access.address)"
        if has("subject name") {
            return "\(start) is made for another name (\(said)); connect by a name of its, with "
                + "--admin-listen https://NAME:\(access.address.port)"
        }
        switch verdict {
        // X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
        case 9: return "\(start) is not valid yet; check the clocks of both machines"
        case 10: return "\(start) has expired; put a renewed one in its place, the gateway notices"
        default: break
        }
        switch tls.trust {
        case .certificate: return otherKey(tls)
        case .system:
            return
                "\(start) is of an authority that this machine does not know (\(said)); name the "
                + "authority's certificate with --admin-ca FILE"
        case .authorities(let file):
            return "\(start) is not of an authority in \(file) (\(said)); name the right one with "
                + "--admin-ca FILE"
        }
    }

    private func otherKey(_ tls: AdminTLS) -> String {
        let file = if case .certificate(let file) = tls.trust { file } else { "the file" }
        return
            "the gateway at \(access.address) shows another certificate than that in \(file); if that "
            + "was renewed just now try again in a few seconds, and for another gateway say "
            + "--admin-listen https://NAME:PORT"
    }

    private var isNoTLS: Bool {
        code == .tlsConnectError
            && ["wrong version number", "packet length too long", "http request", "unexpected eof"]
                .contains(where: has)
    }

    private var notTLS: String {
        "what listens at \(access.address) speaks no TLS; say --admin-listen http://\(access.address), or "
            + "restart the gateway if it was given admin.tls while it ran"
    }

    private var plain: String {
        // A TLS listener sends an alert, or closes, where an HTTP client expects an answer.
        let isOther =
            code == .unsupportedProtocol || code == .weirdServerReply
            || code == .gotNothing || code == .receiveError
        guard isOther else { return nobody }
        return
            "what listens at \(access.address) does not answer in plain HTTP (\(said)); if it speaks TLS "
            + "name the gateway's configuration with --config, or say --admin-listen "
            + "https://\(access.address)"
    }

    private var nobody: String {
        "no gateway answers at \(access.address) (\(reason)); start it, or say "
            + "where its admin listener is with --admin-listen ADDRESS"
    }

    private var reason: String { code.description }
    private var said: String { details.isEmpty ? reason : details }

    private func has(_ words: String) -> Bool { details.contains(words) }
}
