import Configuration

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
