import Crypto
package import System

/// The parts of an SLS request that a signature covers. The body is passed separately.
package struct SLSRequest: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var method: String
    /// As sent; names in the path never need escaping.
    package var path: String
    /// Decoded names and values.
    package var query: [Field]
    package var headers: [Field]

    package init(method: String, path: String, query: [Field] = [], headers: [Field] = []) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
    }

    /// The value of a header, given by its lower-case name; empty when absent.
    func header(_ name: String) -> String {
        headers.first { $0.name.lowercased() == name }?.value ?? ""
    }

    /// Path and query as in the request line.
    package var target: String {
        guard !query.isEmpty else { return path }
        let pairs = query.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }
        return "\(path)?\(pairs.joined(separator: "&"))"
    }
}

extension SLSRequest {
    /// The request with date and signature. The date is valid for 15 minutes, so sign just before
    /// sending.
    package func signed(
        by credential: Credential,
        _ method: SigningMethod,
        body: [UInt8],
        at time: WallTime
    ) -> SLSRequest {
        var request = self
        if let token = credential.securityToken {
            request.headers.append(Field("x-acs-security-token", token.revealed))
        }
        switch method {
        case .v1:
            request.headers.append(Field("Date", time.httpDate))
            if !body.isEmpty {
                request.headers.append(Field("Content-MD5", Digest.md5Hex(body)))
            }
            request.headers.append(Field("x-log-signaturemethod", "hmac-sha1"))
            let value = SignatureV1.authorization(of: request, by: credential)
            request.headers.append(Field("Authorization", value))
        case .v4(let region):
            let bodyHash = Digest.sha256Hex(body)
            request.headers.append(Field("x-log-content-sha256", bodyHash))
            request.headers.append(Field("x-log-date", time.compactISO8601))
            let value = SignatureV4.authorization(
                of: request,
                bodyHash: bodyHash,
                by: credential,
                region: region
            )
            request.headers.append(Field("Authorization", value))
        }
        return request
    }
}
