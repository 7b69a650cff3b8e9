import HTTPClient

/// Why there was no answer, from curl's result code.
struct TransportProblem: Equatable {
    let result: CurlCode
    /// "CURLE_28", for looking up.
    let code: String
    let message: String
    let remedy: String

    init(_ failure: TransferFailure) {
        self.init(
            failure.code,
            detail: failure.refusal?.description ?? failure.detail,
            proxyStatus: failure.proxyStatus,
            target: failure.route.target
        )
    }

    /// `detail` is what curl wrote, or why the answer was refused. `proxyStatus` is a proxy's
    /// answer to CONNECT, or 0. `target` is where the connection went in place of the name.
    init(
        _ result: CurlCode,
        detail: String,
        proxyStatus: Int = 0,
        target: ConnectTarget? = nil
    ) {
        // curl's own sentence is about writing to a disk.
        let meaning =
            result == .writeError ? "the answer is not from SLS" : result.description
        self.result = result
        code = "CURLE_\(result.number)"
        let place = target.map { " (at \($0.address), as the resolver \($0.source) says)" } ?? ""
        message = (detail.isEmpty ? meaning : "\(meaning): \(detail)") + place
        remedy = Self.refusal(by: proxyStatus) ?? Self.meaning(of: result).remedy
    }

    private static func refusal(by proxyStatus: Int) -> String? {
        switch proxyStatus {
        case 0, 200...299: nil
        case 407: "the proxy requires authentication: check user and password in proxy"
        default:
            "the proxy refuses the connection (\(proxyStatus)): allow the gateway to reach the endpoint "
                + "through it"
        }
    }

    /// True when the connection failed before it could carry a byte of the packet.
    var isSurelyUnsent: Bool { Self.meaning(of: result).isUnsent }

    /// A name may be missing for one project only, and authorities are a setting of one
    /// destination. Everything else is taken for the endpoint's, its proxy included.
    var scope: GateScope { Self.meaning(of: result).scope }

    private struct Meaning {
        var isUnsent = true
        var scope = GateScope.endpoint
        var remedy =
            "none needed unless it lasts; then check the network on the way to the endpoint"
    }

    private static func meaning(of result: CurlCode) -> Meaning {
        known[result] ?? Meaning(isUnsent: false)
    }

    /// For this machine: nothing of the request has left it.
    private static let local = Meaning(scope: .project)

    private static let untrusted = Meaning(
        scope: .project,
        remedy:
            "check that nothing intercepts TLS; for a private authority set its certificate file"
    )

    private static let known: [CurlCode: Meaning] = [
        .couldNotResolveHost: Meaning(
            scope: .project,
            remedy: "check project and endpoint, and the host's name service"
        ),
        .couldNotResolveProxy: Meaning(
            remedy: "check the name in proxy, and the host's name service"
        ),
        .proxyFailed: Meaning(
            remedy:
                "check proxy: its scheme, its user and password, and whether it may reach the endpoint"
        ),
        .couldNotConnect: Meaning(
            remedy:
                "check the endpoint and the proxy, if there is one, and that a firewall lets the gateway reach it"
        ),
        .tlsConnectError: Meaning(
            remedy: "check that the endpoint speaks TLS 1.2 or newer on this port"
        ),
        .peerNotVerified: untrusted,
        .badIssuer: untrusted,
        .timedOut: Meaning(
            isUnsent: false,
            remedy:
                "check the network; on a slow one raise connect_timeout and send_timeout, or lower packet.bytes"
        ),
        .writeError: Meaning(
            isUnsent: false,
            remedy:
                "check the endpoint, and what stands between it and the gateway and answers in its place"
        ),
        .badAuthoritiesFile: Meaning(
            scope: .project,
            remedy: "make sure that the file of certificate authorities exists and can be read"
        ),
        .malformedURL: local,
        .unsupportedProtocol: local,
        .failedInit: local,
        .outOfMemory: local,
        .badClientCertificate: local,
        .tlsEngineInitFailed: local,
        .interfaceFailed: local,
    ]
}
