import Configuration
import HTTP

/// The meaning of a request's path. Dialects that are switched off have no paths.
enum DeviceRoute {
    case logs(any LogDialect)
    indirect case page(DevicePage)
    /// No path of the gateway. The refusal has SLS's form at a path like SLS's.
    case unknown(isSLSPath: Bool)

    init(_ head: RequestHead, _ accepted: AcceptedDialects) {
        self = head.bytes.withUnsafeBufferPointer { bytes in
            let path = UnsafeBufferPointer(rebasing: bytes[head.path])
            if let dialect = Self.dialect(path, head, accepted) { return .logs(dialect) }
            if let page = DevicePage.page(at: path, accepted) { return .page(page) }
            if accepted.contains(.elastic), let page = DevicePage.elastic(path, head) {
                return .page(page)
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
        _ head: RequestHead,
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
