import CCurl

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
