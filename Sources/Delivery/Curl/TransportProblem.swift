import CCurl

/// Why there was no answer, from curl's result.
struct TransportProblem: Equatable {
    let result: CURLcode
    /// "CURLE_28", for looking up.
    let code: String
    let message: String
    let remedy: String

    /// `detail` is what curl wrote about this transfer, or why its answer was not taken; empty when there is nothing. `proxyStatus` is
    /// what a proxy said to being asked for a connection; 0 when none was.
    init(_ result: CURLcode, detail: String, proxyStatus: Int = 0) {
        // curl says that it could not write to a disk.
        let meaning =
            result == CURLE_WRITE_ERROR
            ? "the answer is not one of SLS's" : String(cString: curl_easy_strerror(result))
        self.result = result
        code = "CURLE_\(result.rawValue)"
        message = detail.isEmpty ? meaning : "\(meaning): \(detail)"
        remedy = Self.refusal(by: proxyStatus) ?? Self.remedy(for: result)
    }

    private static func refusal(by proxyStatus: Int) -> String? {
        switch proxyStatus {
        case 0, 200...299: nil
        case 407: "the proxy wants to know who asks: check user and password in proxy"
        default:
            "the proxy refuses the connection (\(proxyStatus)): have it let the gateway reach the "
                + "endpoint"
        }
    }

    private static func remedy(for result: CURLcode) -> String {
        switch result {
        case CURLE_COULDNT_RESOLVE_HOST:
            "check project and endpoint, and the host's name service"
        case CURLE_COULDNT_RESOLVE_PROXY:
            "check the name in proxy, and the host's name service"
        case CURLE_PROXY:
            "check proxy: its scheme, its user and password, and whether it may reach the endpoint"
        case CURLE_COULDNT_CONNECT:
            "check the endpoint and the proxy, if there is one, and that a firewall lets the gateway reach it"
        case CURLE_OPERATION_TIMEDOUT:
            "check the network; on a slow one raise connect_timeout and send_timeout, or lower packet.bytes"
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR:
            "check that nothing intercepts TLS; for a private authority set its certificate file"
        case CURLE_WRITE_ERROR:
            "check the endpoint, and what stands between it and the gateway and answers in its place"
        case CURLE_SSL_CACERT_BADFILE:
            "make sure that the file of certificate authorities exists and can be read"
        case CURLE_SSL_CONNECT_ERROR:
            "check that the endpoint speaks TLS 1.2 or newer on this port"
        default:
            "none needed unless it lasts; then check the network on the way to the endpoint"
        }
    }
}
