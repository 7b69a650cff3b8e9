/// The kinds of clients that a gateway takes: `devices.accept`. The paths of all others are as unknown as any.
package struct AcceptedDialects: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `/logs/{tag}`.
    package static let json = AcceptedDialects(rawValue: 1)
    /// PutLogs, web tracking, and the clock that SLS's SDKs ask for.
    package static let sls = AcceptedDialects(rawValue: 2)
    package static let otlp = AcceptedDialects(rawValue: 4)
    package static let elastic = AcceptedDialects(rawValue: 8)
    package static let splunk = AcceptedDialects(rawValue: 16)
    package static let loki = AcceptedDialects(rawValue: 32)

    static let names: KeyValuePairs<String, AcceptedDialects> = [
        "json": .json, "sls": .sls, "otlp": .otlp, "elastic": .elastic, "splunk": .splunk,
        "loki": .loki,
    ]

    package static let all = AcceptedDialects(names.map(\.value))
}
