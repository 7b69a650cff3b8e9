import Configuration
import HTTP

/// The label of a request in metrics: one for each kind of client and each page.
package enum DeviceLabel: Int, CaseIterable, Sendable {
    /// All paths without a label of their own.
    case other
    case logs
    case track
    case putlogs
    case otlp
    case splunk
    case elastic
    case loki
    case servertime
    case healthz

    package var name: String { "\(self)" }

    /// True: the clients are SLS's SDKs, and expect SLS's answers.
    var isSLS: Bool { self == .track || self == .putlogs }

    /// Indexed by `Response.label`.
    static let names = allCases.map(\.name)
    /// The labels of requests that bring logs.
    static let ofLogs: [DeviceLabel] = [.logs, .track, .putlogs, .otlp, .splunk, .elastic, .loki]
}

struct DeviceMethods: Sendable {
    let all: [RequestHead.Method]
    /// For `Allow`, and for its counterpart in CORS.
    let names: String

    static let post = DeviceMethods(all: [.post, .options], names: "POST, OPTIONS")
    static let bulk = DeviceMethods(all: [.post, .put, .options], names: "POST, PUT, OPTIONS")
    static let track = DeviceMethods(
        all: [.get, .head, .post, .options],
        names: "GET, HEAD, POST, OPTIONS"
    )
    static let look = DeviceMethods(all: [.get, .head, .options], names: "GET, HEAD, OPTIONS")
    static let options = DeviceMethods(all: [.options], names: "GET, HEAD, POST, OPTIONS")
    static let none = DeviceMethods(all: [], names: "GET, HEAD, POST, OPTIONS")
}

extension AcceptedDialects {
    /// The paths that accept logs, for the answer to an unknown path. In the order of the
    /// documentation.
    private static let paths: [(dialect: AcceptedDialects, path: String)] = [
        (.json, "/logs/{tag}"), (.sls, "/logstores/{logstore}/track"),
        (.sls, "/logstores/{logstore}/shards/lb"), (.otlp, "/v1/logs"), (.elastic, "/_bulk"),
        (.loki, "/loki/api/v1/push"), (.splunk, "/services/collector"),
    ]

    var unknownPath: Refusal {
        let known = Self.paths.filter { contains($0.dialect) }.map(\.path)
        let last = known.last ?? ""
        let list = known.count < 2 ? last : known.dropLast().joined(separator: ", ") + " or \(last)"
        return Refusal(404, "PathNotExist", "no such path; logs are posted to \(list)")
    }

    func covers(_ label: DeviceLabel) -> Bool {
        label.dialect.map { contains($0) } ?? true
    }
}

extension DeviceLabel {
    /// nil: the label belongs to no dialect.
    fileprivate var dialect: AcceptedDialects? {
        switch self {
        case .logs: .json
        case .track, .putlogs, .servertime: .sls
        case .otlp: .otlp
        case .splunk: .splunk
        case .elastic: .elastic
        case .loki: .loki
        case .other, .healthz: nil
        }
    }
}
