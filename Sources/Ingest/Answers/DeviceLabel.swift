/// What requests are counted under: one for each kind of client, and for each page.
package enum DeviceLabel: Int, CaseIterable, Sendable {
    /// Whatever is no route of its own.
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

    /// Whether its clients are SLS's own, and read an answer as theirs.
    var isSLS: Bool { self == .track || self == .putlogs }

    /// Of answers, by `Response.label`.
    static let names = allCases.map(\.name)
    /// Those of clients that bring logs.
    static let ofLogs: [DeviceLabel] = [.logs, .track, .putlogs, .otlp, .splunk, .elastic, .loki]
}
