import HTTP

/// What a device asks for, by the path alone.
enum DeviceRoute: Equatable {
    /// Plain JSON; the tag as it stands in the path.
    case logs(tag: Range<Int>)
    /// SLS web tracking.
    case track(logstore: Range<Int>)
    /// The clock of SLS's SDKs.
    case serverTime
    case health
    /// `OPTIONS *`: the server as such.
    case server
    /// Nothing of ours.
    case unknown

    init(_ head: borrowing RequestHead) {
        self = head.bytes.withUnsafeBufferPointer { bytes in
            Self.match(UnsafeBufferPointer(rebasing: bytes[head.path]), at: head.path.lowerBound)
        }
    }

    private static func match(_ path: UnsafeBufferPointer<UInt8>, at offset: Int) -> DeviceRoute {
        if path.begins(with: "/logstores/") {
            let suffix: StaticString = "/track"
            let name = "/logstores/".utf8.count..<max(11, path.count - suffix.utf8CodeUnitCount)
            guard !name.isEmpty, path.ends(with: suffix), !path[name].contains(UInt8(ascii: "/"))
            else { return .unknown }
            return .track(logstore: name.lowerBound + offset..<name.upperBound + offset)
        }
        if path.begins(with: "/logs/") {
            let tag = "/logs/".utf8.count..<path.count
            guard !tag.isEmpty, !path[tag].contains(UInt8(ascii: "/")) else { return .unknown }
            return .logs(tag: tag.lowerBound + offset..<tag.upperBound + offset)
        }
        if path.equals("/servertime") { return .serverTime }
        if path.equals("/healthz") { return .health }
        if path.equals("*") { return .server }
        return .unknown
    }

    /// What the path answers to.
    var methods: [RequestHead.Method] {
        switch self {
        case .logs, .track: [.post, .options]
        case .serverTime, .health: [.get, .head, .options]
        case .server: [.options]
        case .unknown: []
        }
    }

    /// As `Allow` and its cousin of CORS have it.
    var methodNames: String {
        switch self {
        case .logs, .track: "POST, OPTIONS"
        case .serverTime, .health: "GET, HEAD, OPTIONS"
        case .server, .unknown: "GET, HEAD, POST, OPTIONS"
        }
    }

    /// What answers are counted under; the first for whatever is no route of its own.
    static let labels = ["other", "logs", "track", "servertime", "healthz"]

    var label: Int {
        switch self {
        case .server, .unknown: 0
        case .logs: 1
        case .track: 2
        case .serverTime: 3
        case .health: 4
        }
    }

    /// For metrics.
    var name: String { Self.labels[label] }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func equals(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && begins(with: text)
    }

    fileprivate func begins(with text: StaticString) -> Bool {
        text.withUTF8Buffer { starts(with: $0) }
    }

    fileprivate func ends(with text: StaticString) -> Bool {
        text.withUTF8Buffer { self.suffix($0.count).elementsEqual($0) }
    }
}
