import Crypto

/// `LOG {AccessKeyId}:{base64(HMAC-SHA1)}`.
package enum SignatureV1 {
    /// The value of `Authorization` for an otherwise complete request.
    package static func authorization(
        of request: SLSRequest,
        by credential: Credential
    ) -> String {
        let text = stringToSign(request)
        let code = credential.secret.withBytes { Digest.hmacSHA1(key: $0, text) }
        return "LOG \(credential.accessKeyID):\(Digest.base64(code))"
    }

    static func stringToSign(_ request: SLSRequest) -> String {
        var text = "\(request.method)\n"
        text += "\(request.header("content-md5"))\n"
        text += "\(request.header("content-type"))\n"
        text += "\(request.header("date"))\n"
        for (name, value) in canonicalHeaders(request) {
            text += "\(name):\(value)\n"
        }
        return text + canonicalResource(request)
    }

    private static func canonicalHeaders(_ request: SLSRequest) -> [(name: String, value: String)] {
        request.headers
            .map { (name: $0.name.lowercased(), value: $0.value) }
            .filter { $0.name.hasPrefix("x-log-") || $0.name.hasPrefix("x-acs-") }
            // The server uses x-log-date instead of Date and leaves it out of the signed headers.
            .filter { $0.name != "x-log-date" }
            .sorted { $0.name < $1.name }
    }

    /// The query, decoded; v4 encodes it.
    private static func canonicalResource(_ request: SLSRequest) -> String {
        guard !request.query.isEmpty else { return request.path }
        let pairs = request.query.sorted { $0.name < $1.name }.map { "\($0.name)=\($0.value)" }
        return "\(request.path)?\(pairs.joined(separator: "&"))"
    }
}
