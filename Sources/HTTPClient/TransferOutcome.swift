import CCurl

/// A complete response.
package struct TransferResponse {
    package struct Head {
        package let status: Int
        /// The requested headers, names in lower case.
        package let headers: [(name: String, value: String)]

        package subscript(name: String) -> String? {
            headers.first { $0.name == name }?.value
        }
    }

    package let head: Head
    package let route: TransferRoute
    /// The bytes that `ResponseUse.Body.first` keeps; empty otherwise.
    package let body: [UInt8]
}

/// The connection that a transfer used, or tried.
package struct TransferRoute: Sendable, Equatable {
    /// The other end's address; empty if there was no connection. Behind a proxy it is the proxy's.
    package let address: String
    /// What the request told to connect to.
    package let target: ConnectTarget?
    /// From the start to the end of the TCP handshake; nil if the connection was there already, or
    /// never was.
    package let connectTime: Duration?
    /// With TLS, when the transfer ended.
    package let isConnected: Bool

    /// Most requests use a connection that is there already.
    package var triedToConnect: Bool { connectTime != nil || !isConnected }

    /// No connection was ever tried.
    package static let unknown = TransferRoute(
        address: "",
        target: nil,
        connectTime: nil,
        isConnected: false
    )
}

/// Why there is no response, or no complete one.
package struct TransferFailure {
    package let code: CurlCode
    /// Why this side ended the transfer, if it did.
    package let refusal: ResponseRefusal?
    /// What curl and OpenSSL reported about this transfer; may be empty.
    package let detail: String
    /// The head of a truncated response; status 0 if none began.
    package let head: TransferResponse.Head
    package let route: TransferRoute
    /// The proxy's status for CONNECT; 0 without one.
    package let proxyStatus: Int
    /// OpenSSL's verdict on the server's certificate; 0 means good.
    package let certificateVerdict: Int
    /// At least part of the request was sent.
    package let isSent: Bool

    /// Nothing was sent, because nobody knows an address of the host.
    package static func unresolved(_ detail: String) -> TransferFailure {
        TransferFailure(
            code: .couldNotResolveHost,
            refusal: nil,
            detail: detail,
            head: TransferResponse.Head(status: 0, headers: []),
            route: .unknown,
            proxyStatus: 0,
            certificateVerdict: 0,
            isSent: false
        )
    }
}

/// Why a response is refused while it arrives.
package enum ResponseRefusal: CustomStringConvertible {
    case headTooLarge
    case bodyTooLarge
    case lengthUnclear

    package var description: String {
        switch self {
        case .headTooLarge: "its head is too large"
        case .bodyTooLarge: "its body is too large"
        case .lengthUnclear: "its length is invalid"
        }
    }
}

package enum TransferOutcome {
    case answered(TransferResponse)
    case failed(TransferFailure)

    package var route: TransferRoute {
        switch self {
        case .answered(let response): response.route
        case .failed(let failure): failure.route
        }
    }
}

/// A curl result code. Only codes that callers distinguish have names.
package struct CurlCode: Hashable, Sendable, CustomStringConvertible {
    /// curl's number, as in "CURLE_28".
    package let number: UInt32

    init(_ code: CURLcode) {
        number = code.rawValue
    }

    /// curl's description of the code; it contains nothing of the request.
    package var description: String { String(cString: curl_easy_strerror(CURLcode(number))) }

    package static let unsupportedProtocol = CurlCode(CURLE_UNSUPPORTED_PROTOCOL)
    package static let failedInit = CurlCode(CURLE_FAILED_INIT)
    package static let malformedURL = CurlCode(CURLE_URL_MALFORMAT)
    package static let couldNotResolveProxy = CurlCode(CURLE_COULDNT_RESOLVE_PROXY)
    package static let couldNotResolveHost = CurlCode(CURLE_COULDNT_RESOLVE_HOST)
    package static let couldNotConnect = CurlCode(CURLE_COULDNT_CONNECT)
    package static let weirdServerReply = CurlCode(CURLE_WEIRD_SERVER_REPLY)
    package static let partialFile = CurlCode(CURLE_PARTIAL_FILE)
    /// This side refused the response.
    package static let writeError = CurlCode(CURLE_WRITE_ERROR)
    package static let outOfMemory = CurlCode(CURLE_OUT_OF_MEMORY)
    package static let timedOut = CurlCode(CURLE_OPERATION_TIMEDOUT)
    package static let tlsConnectError = CurlCode(CURLE_SSL_CONNECT_ERROR)
    package static let abortedByCallback = CurlCode(CURLE_ABORTED_BY_CALLBACK)
    package static let interfaceFailed = CurlCode(CURLE_INTERFACE_FAILED)
    package static let gotNothing = CurlCode(CURLE_GOT_NOTHING)
    package static let tlsEngineInitFailed = CurlCode(CURLE_SSL_ENGINE_INITFAILED)
    package static let sendError = CurlCode(CURLE_SEND_ERROR)
    package static let receiveError = CurlCode(CURLE_RECV_ERROR)
    package static let badClientCertificate = CurlCode(CURLE_SSL_CERTPROBLEM)
    package static let peerNotVerified = CurlCode(CURLE_PEER_FAILED_VERIFICATION)
    package static let badAuthoritiesFile = CurlCode(CURLE_SSL_CACERT_BADFILE)
    package static let badIssuer = CurlCode(CURLE_SSL_ISSUER_ERROR)
    package static let pinnedKeyDiffers = CurlCode(CURLE_SSL_PINNEDPUBKEYNOTMATCH)
    package static let proxyFailed = CurlCode(CURLE_PROXY)
}
