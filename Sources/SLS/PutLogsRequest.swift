package import System

/// The compression of a LogGroup in a request.
package enum Compression: String, Sendable, CaseIterable {
    /// A raw LZ4 block.
    case lz4
    /// A zlib stream.
    case deflate
    /// A zstd frame.
    case zstd
    case none
}

/// A PutLogs request, which stores one LogGroup in a logstore.
package struct PutLogsRequest: Sendable {
    /// Selects the shard for the logs.
    package enum Route: Sendable, Equatable {
        /// SLS chooses.
        case balanced
        /// The shard that owns this point of the MD5 range (32 lower-case hex digits). With a
        /// sequence number, SLS stores the request only once, however often it is repeated.
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
        body: [UInt8],
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
