import HTTP

/// What a device asks for, by the path alone.
enum DeviceRoute {
    case logs(any LogDialect)
    case page(DevicePage)
    /// Nothing of ours, at a path like SLS's or not.
    case unknown(isSLSPath: Bool)

    init(_ head: borrowing RequestHead) {
        let offset = head.path.lowerBound
        self = head.bytes.withUnsafeBufferPointer { bytes in
            let path = UnsafeBufferPointer(rebasing: bytes[head.path])
            // An index may be called `logs`.
            if let dialect = ElasticDialect(path, head) { return .logs(dialect) }
            if let dialect = PlainDialect(path, at: offset) { return .logs(dialect) }
            if let dialect = TrackDialect(path, at: offset) { return .logs(dialect) }
            if let dialect = PutLogsDialect(path, at: offset) { return .logs(dialect) }
            if let dialect = OTLPDialect(path, head) { return .logs(dialect) }
            if let dialect = SplunkDialect(path, head) { return .logs(dialect) }
            if let dialect = LokiDialect(path, head) { return .logs(dialect) }
            if let page = DevicePage(path) { return .page(page) }
            if let page = ElasticPage(path, head) { return .page(.elastic(page)) }
            let isSLSPath = path.begins(with: "/logstores/") || path.equals("/logstores")
            return .unknown(isSLSPath: isSLSPath)
        }
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
