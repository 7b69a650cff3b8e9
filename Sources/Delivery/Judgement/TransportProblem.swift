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
        remedy = Self.refusal(by: proxyStatus) ?? Self.remedy(for: result)
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

    private static func remedy(for result: CurlCode) -> String {
        switch result {
        case .couldNotResolveHost:
            "check project and endpoint, and the host's name service"
        case .couldNotResolveProxy:
            "check the name in proxy, and the host's name service"
        case .proxyFailed:
            "check proxy: its scheme, its user and password, and whether it may reach the endpoint"
        case .couldNotConnect:
            "check the endpoint and the proxy, if there is one, and that a firewall lets the gateway reach it"
        case .timedOut:
            "check the network; on a slow one raise connect_timeout and send_timeout, or lower packet.bytes"
        case .peerNotVerified, .badIssuer:
            "check that nothing intercepts TLS; for a private authority set its certificate file"
        case .writeError:
            "check the endpoint, and what stands between it and the gateway and answers in its place"
        case .badAuthoritiesFile:
            "make sure that the file of certificate authorities exists and can be read"
        case .tlsConnectError:
            "check that the endpoint speaks TLS 1.2 or newer on this port"
        default:
            "none needed unless it lasts; then check the network on the way to the endpoint"
        }
    }
}

extension TransportProblem {
    /// True when the connection failed before it could carry a byte of the packet.
    var isSurelyUnsent: Bool {
        isLocal || Self.beforeRequest.contains(result)
    }

    /// A name may be missing for one project only, and authorities are a setting of one
    /// destination. Everything else is taken for the endpoint's, its proxy included.
    var scope: GateScope {
        isLocal || Self.ofDestination.contains(result) ? .project : .endpoint
    }

    private var isLocal: Bool { Self.local.contains(result) }

    private static let beforeRequest: Set<CurlCode> = [
        .couldNotResolveProxy,
        .couldNotResolveHost,
        .couldNotConnect,
        .tlsConnectError,
        .peerNotVerified,
        .badIssuer,
        .proxyFailed,
    ]

    private static let ofDestination: Set<CurlCode> = [
        .couldNotResolveHost,
        .peerNotVerified,
        .badIssuer,
    ]

    private static let local: Set<CurlCode> = [
        .malformedURL,
        .unsupportedProtocol,
        .failedInit,
        .outOfMemory,
        .badAuthoritiesFile,
        .badClientCertificate,
        .tlsEngineInitFailed,
        .interfaceFailed,
    ]
}
