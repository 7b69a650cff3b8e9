package import Crypto
import System

/// Which of SLS's two signatures a destination uses.
package enum SignatureVersion: String, Sendable, CaseIterable {
    case v1, v4
}

/// A signature version with the values it needs besides the credential.
package enum SigningMethod: Sendable, Equatable {
    case v1
    case v4(region: String)

    /// Chooses the method for all endpoints of a destination. The operator's region wins over the
    /// one in the endpoints' names. If only some names show a region, as beside an accelerated
    /// endpoint, it holds for all, because a project lives in one region.
    package init(
        _ version: SignatureVersion,
        region: String?,
        endpoints: [Endpoint]
    ) throws(EndpointError) {
        let shown = Set(endpoints.compactMap(\.region)).sorted()
        if region == nil, shown.count > 1 {
            throw EndpointError(
                "the endpoints are in different regions (\(shown.joined(separator: ", "))), but a "
                    + "project is in one: list only endpoints of that region, or set region if the "
                    + "names mislead"
            )
        }
        let region = region ?? shown.first
        if let region, let problem = NamePattern.region.problem(with: region) {
            throw EndpointError(problem)
        }
        // The disaster-recovery regions refuse v1; the Go and Java SDKs switch to v4 by themselves
        // too.
        let mustBeV4 = region?.contains("-acdr-ut-") ?? false
        guard version == .v4 || mustBeV4 else {
            self = .v1
            return
        }
        guard let region else {
            let names = endpoints.map { "'\($0)'" }.joined(separator: ", ")
            throw EndpointError(
                "signature v4 needs a region, and the endpoint \(names) does not show one: "
                    + "set region (for example cn-hangzhou), or use signature v1"
            )
        }
        self = .v4(region: region)
    }
}

/// `SLS4-HMAC-SHA256 Credential={AccessKeyId}/{scope},Signature={hex}`.
///
/// The signing key is derived for each request. Four HMACs cost about 3 µs beside a packet of
/// hundreds of kilobytes, and a key that is not cached cannot outlive its secret's rotation.
package enum SignatureV4 {
    /// The value of `Authorization` for an otherwise complete request, which must have
    /// `x-log-date`.
    package static func authorization(
        of request: SLSRequest,
        bodyHash: String,
        by credential: Credential,
        region: String
    ) -> String {
        let day = String(request.header("x-log-date").prefix(8))
        let scope = "\(day)/\(region)/sls/aliyun_v4_request"
        let key = signingKey(secret: credential.secret, day: day, region: region)
        let text = stringToSign(request, bodyHash: bodyHash, scope: scope)
        let signature = hex(Digest.hmacSHA256(key: key, text))
        return
            "SLS4-HMAC-SHA256 Credential=\(credential.accessKeyID)/\(scope),Signature=\(signature)"
    }

    package static func signingKey(secret: Secret, day: String, region: String) -> [UInt8] {
        keyChain(secret: secret, day: day, region: region)[3]
    }

    /// The keys of date, region, service and signing.
    static func keyChain(secret: Secret, day: String, region: String) -> [[UInt8]] {
        var chain = [secret.withKey(before: "aliyun_v4") { Digest.hmacSHA256(key: $0, day) }]
        for step in [region, "sls", "aliyun_v4_request"] {
            chain.append(Digest.hmacSHA256(key: chain[chain.count - 1], step))
        }
        return chain
    }

    static func stringToSign(_ request: SLSRequest, bodyHash: String, scope: String) -> String {
        let canonical = Digest.sha256Hex(canonicalRequest(request, bodyHash: bodyHash))
        return "SLS4-HMAC-SHA256\n\(request.header("x-log-date"))\n\(scope)\n\(canonical)"
    }

    static func canonicalRequest(_ request: SLSRequest, bodyHash: String) -> String {
        let headers = canonicalHeaders(request)
        var text = "\(request.method)\n\(request.path)\n\(canonicalQuery(request))\n"
        for (name, value) in headers {
            text += "\(name):\(value)\n"
        }
        text += "\n\(headers.map(\.name).joined(separator: ";"))\n\(bodyHash)"
        return text
    }

    /// The server rebuilds this list from the received headers: the request carries no list of
    /// signed names.
    private static func canonicalHeaders(_ request: SLSRequest) -> [(name: String, value: String)] {
        request.headers
            .map { (name: trimmed($0.name).lowercased(), value: trimmed($0.value)) }
            .filter { isSigned($0.name) }
            .sorted { $0.name < $1.name }
    }

    private static func isSigned(_ name: String) -> Bool {
        if name == "content-type" || name == "host" { return true }
        return (name.hasPrefix("x-log-") || name.hasPrefix("x-acs-"))
            && !name.hasPrefix("x-log-meta-")
    }

    /// Names unencoded, values encoded, no `=` before an empty value.
    private static func canonicalQuery(_ request: SLSRequest) -> String {
        request.query
            .sorted { $0.name < $1.name }
            .map { $0.value.isEmpty ? $0.name : "\($0.name)=\(percentEncoded($0.value))" }
            .joined(separator: "&")
    }

    private static func trimmed(_ text: String) -> String {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        let start = text.drop(while: isBlank)
        guard let last = start.lastIndex(where: { !isBlank($0) }) else { return "" }
        return String(start[...last])
    }
}

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
