import CCurl

extension TransportProblem {
    /// Whether the connection that failed cannot have carried a byte of the packet.
    var isSurelyUnsent: Bool {
        isLocal || Self.beforeRequest.contains(result.rawValue)
    }

    /// A name may be missing for one project only, and certificate authorities are a setting of one
    /// destination; everything else is taken for the way's, proxy included.
    var scope: GateScope {
        isLocal || Self.ofDestination.contains(result.rawValue) ? .project : .region
    }

    private var isLocal: Bool { Self.local.contains(result.rawValue) }

    private static let beforeRequest = numbers(
        CURLE_COULDNT_RESOLVE_PROXY,
        CURLE_COULDNT_RESOLVE_HOST,
        CURLE_COULDNT_CONNECT,
        CURLE_SSL_CONNECT_ERROR,
        CURLE_PEER_FAILED_VERIFICATION,
        CURLE_SSL_ISSUER_ERROR,
        CURLE_PROXY
    )

    private static let ofDestination = numbers(
        CURLE_COULDNT_RESOLVE_HOST,
        CURLE_PEER_FAILED_VERIFICATION,
        CURLE_SSL_ISSUER_ERROR
    )

    private static let local = numbers(
        CURLE_URL_MALFORMAT,
        CURLE_UNSUPPORTED_PROTOCOL,
        CURLE_FAILED_INIT,
        CURLE_OUT_OF_MEMORY,
        CURLE_SSL_CACERT_BADFILE,
        CURLE_SSL_CERTPROBLEM,
        CURLE_SSL_ENGINE_INITFAILED,
        CURLE_INTERFACE_FAILED
    )

    private static func numbers(_ codes: CURLcode...) -> Set<UInt32> {
        Set(codes.map(\.rawValue))
    }
}
