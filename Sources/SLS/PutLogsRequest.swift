import Crypto
package import System

/// The compression of a LogGroup in a request.
package enum Compression: String, Sendable, CaseIterable {
    /// A raw LZ4 block.
    case lz4
    case deflate
    case zstd
    case none
}

/// A PutLogs request, which stores one LogGroup in a logstore.
package struct PutLogsRequest: Sendable {
    /// Selects the shard for the logs.
    package enum Route: Sendable, Equatable {
        /// SLS chooses.
        case balanced
        /// The shard that owns this point of the MD5 range (32 hex digits). With a sequence number,
        /// SLS stores the request only once.
        case hash(key: String, sequence: Int64? = nil)
    }

    package var endpoint: Endpoint
    package var project: String
    package var logstore: String
    package var route: Route
    package var compression: Compression
    package var userAgent: String

    package init(
        endpoint: Endpoint,
        project: String,
        logstore: String,
        route: Route = .balanced,
        compression: Compression,
        userAgent: String
    ) {
        self.endpoint = endpoint
        self.project = project
        self.logstore = logstore
        self.route = route
        self.compression = compression
        self.userAgent = userAgent
    }

    /// The URL and the signed headers for posting the body.
    ///
    /// The body is passed as sent, already compressed; `rawBytes` is its size when decompressed.
    /// SLS refuses any other number.
    package func signed(
        body: [ArraySlice<UInt8>],
        rawBytes: Int,
        by credential: Credential,
        _ method: SigningMethod,
        at time: WallTime
    ) -> (url: String, headers: [SLSRequest.Field]) {
        let request = unsigned(rawBytes: rawBytes).signed(
            by: credential,
            method,
            body: body,
            at: time
        )
        let origin = "\(endpoint.scheme.rawValue)://\(endpoint.authority(forProject: project))"
        return (origin + request.target, request.headers)
    }

    func unsigned(rawBytes: Int) -> SLSRequest {
        var request = SLSRequest(method: "POST", path: "/logstores/\(logstore)/shards/lb")
        if case .hash(let key, let sequence) = route {
            request.path = "/logstores/\(logstore)/shards/route"
            request.query = [.init("key", key)]
            if let sequence { request.query.append(.init("seqid", "\(sequence)")) }
        }
        request.headers = [
            .init("Host", endpoint.authority(forProject: project)),
            .init("Content-Type", "application/x-protobuf"),
            .init("User-Agent", userAgent),
            .init("x-log-apiversion", "0.6.0"),
            .init("x-log-bodyrawsize", "\(rawBytes)"),
        ]
        if compression != .none {
            request.headers.append(.init("x-log-compresstype", compression.rawValue))
        }
        if endpoint.hostIsAddress {
            request.headers.append(.init("x-log-project", project))
        }
        return request
    }
}

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

    /// The request with date and signature. The date is valid for 15 minutes, so sign just before
    /// sending.
    package func signed(
        by credential: Credential,
        _ method: SigningMethod,
        body: [ArraySlice<UInt8>],
        at time: WallTime
    ) -> SLSRequest {
        var request = self
        if let token = credential.securityToken {
            request.headers.append(Field("x-acs-security-token", token.revealed))
        }
        switch method {
        case .v1:
            request.headers.append(Field("Date", time.httpDate))
            if !body.allSatisfy(\.isEmpty) {
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
