package import System

/// How the bytes of a LogGroup are packed for the wire.
package enum Compression: String, Sendable, CaseIterable {
    /// A raw LZ4 block.
    case lz4
    /// A zlib stream.
    case deflate
    /// A zstd frame.
    case zstd
    case none
}

/// PutLogs: stores one LogGroup in a logstore.
package struct PutLogsRequest: Sendable {
    /// Which shard takes the logs.
    package enum Route: Sendable, Equatable {
        /// SLS chooses.
        case balanced
        /// The shard that owns this point of the MD5 range (32 lower hex digits); with a sequence
        /// number SLS stores the request once however often it is repeated.
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

    /// Where to and with which headers the body is posted.
    ///
    /// The body is given as it goes over the wire, already compressed; `rawBytes` is how long it is
    /// when decompressed (SLS refuses any other number).
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
