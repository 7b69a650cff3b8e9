import Configuration
import HTTP

/// The meaning of a request's path. Dialects that are switched off have no paths.
enum DeviceRoute {
    case logs(any LogDialect)
    case page(DevicePage)
    /// No path of the gateway. The refusal has SLS's form at a path like SLS's.
    case unknown(isSLSPath: Bool)

    init(_ head: borrowing RequestHead, _ accepted: AcceptedDialects) {
        self = head.bytes.withUnsafeBufferPointer { bytes in
            let path = UnsafeBufferPointer(rebasing: bytes[head.path])
            if let dialect = Self.dialect(path, head, accepted) { return .logs(dialect) }
            if let page = DevicePage(path), page.isShown(accepted) { return .page(page) }
            if accepted.contains(.elastic), let page = ElasticPage(path, head) {
                return .page(.elastic(page))
            }
            let isSLSPath = path.begins(with: "/logstores/") || path.equals("/logstores")
            return .unknown(isSLSPath: isSLSPath && accepted.contains(.sls))
        }
    }

    var isForLogs: Bool {
        if case .logs = self { true } else { false }
    }

    private static func dialect(
        _ path: UnsafeBufferPointer<UInt8>,
        _ head: borrowing RequestHead,
        _ accepted: AcceptedDialects
    ) -> (any LogDialect)? {
        let offset = head.path.lowerBound
        // Elasticsearch first: an index may be called `logs`.
        if accepted.contains(.elastic) {
            if let dialect = ElasticDialect(path, head) { return dialect }
            if let dialect = ElasticDocument(path, head) { return dialect }
        }
        if accepted.contains(.json), let dialect = PlainDialect(path, at: offset) { return dialect }
        if accepted.contains(.sls) {
            if let dialect = TrackDialect(path, at: offset) { return dialect }
            if let dialect = PutLogsDialect(path, at: offset) { return dialect }
        }
        if accepted.contains(.otlp), let dialect = OTLPDialect(path, head) { return dialect }
        if accepted.contains(.splunk), let dialect = SplunkDialect(path, head) { return dialect }
        if accepted.contains(.loki), let dialect = LokiDialect(path, head) { return dialect }
        return nil
    }

    var methods: DeviceMethods {
        switch self {
        case .logs(let dialect): dialect.methods
        case .page(let page): page.methods
        case .unknown: .none
        }
    }

    var label: DeviceLabel {
        switch self {
        case .logs(let dialect): dialect.label
        case .page(let page): page.label
        case .unknown: .other
        }
    }

    func refused(_ refusal: Refusal) -> Response {
        switch self {
        case .logs(let dialect): dialect.refused(refusal)
        case .page(let page): page.refused(refusal)
        case .unknown(let isSLSPath):
            (isSLSPath ? ErrorShape.sls : .plain).response(refusal)
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    func equals(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && begins(with: text)
    }

    func begins(with text: StaticString) -> Bool {
        text.withUTF8Buffer { starts(with: $0) }
    }
}

/// The paths of the device listener that do not bring logs.
enum DevicePage {
    /// The clock of SLS's SDKs.
    case serverTime
    case health
    /// Splunk's clients check it before they send.
    case splunkHealth
    case elastic(ElasticPage)
    /// Loki's agents check it before they send.
    case ready
    /// `OPTIONS *`: the server itself.
    case server

    init?(_ path: UnsafeBufferPointer<UInt8>) {
        if path.equals("/servertime") {
            self = .serverTime
        } else if path.equals("/healthz") {
            self = .health
        } else if path.equals("/services/collector/health")
            || path.equals("/services/collector/health/1.0")
        {
            self = .splunkHealth
        } else if path.equals("/ready") {
            self = .ready
        } else if path.equals("*") {
            self = .server
        } else {
            return nil
        }
    }

    var label: DeviceLabel {
        switch self {
        case .serverTime: .servertime
        case .health, .ready: .healthz
        case .splunkHealth: .splunk
        case .elastic: .elastic
        case .server: .other
        }
    }

    var methods: DeviceMethods {
        switch self {
        case .serverTime, .health, .ready, .splunkHealth, .elastic: .look
        case .server: .options
        }
    }

    /// False for a page of a dialect that is switched off.
    func isShown(_ accepted: AcceptedDialects) -> Bool {
        if case .ready = self { accepted.contains(.loki) } else { accepted.covers(label) }
    }

    func refused(_ refusal: Refusal) -> Response {
        switch self {
        case .serverTime: ErrorShape.sls.response(refusal)
        case .health, .ready, .splunkHealth, .server: ErrorShape.plain.response(refusal)
        case .elastic(let page): page.refused(refusal)
        }
    }

    var response: Response {
        switch self {
        case .health: Response(status: 200, contentType: "text/plain", text: "ok\n")
        case .splunkHealth: SplunkAnswer(200, 17, "HEC is healthy").response
        case .elastic(let page): page.response
        case .ready: Response(status: 200, contentType: "text/plain", text: "ready\n")
        // `Stamp` adds the time.
        case .serverTime, .server: Response(status: 200)
        }
    }
}
