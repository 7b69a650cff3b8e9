import Configuration
import HTTP

/// A path of the device listener that does not bring logs.
struct DevicePage: Sendable {
    let label: DeviceLabel
    var methods = DeviceMethods.look
    /// Balancers ask it.
    var tellsHealth = false
    let response: Response
    var refused: @Sendable (Refusal) -> Response = { ErrorShape.plain.response($0) }

    /// The pages, each with the dialect whose clients look at it; those of no dialect are always
    /// shown. `Stamp` adds the time to the answers.
    private static let all: [(path: StaticString, dialect: AcceptedDialects, page: DevicePage)] = [
        ("/servertime", .sls, clock), ("/healthz", [], plain("ok\n")),
        // Splunk's and Loki's clients check theirs before they send.
        ("/services/collector/health", .splunk, splunkHealth),
        ("/services/collector/health/1.0", .splunk, splunkHealth),
        ("/ready", .loki, plain("ready\n")), ("*", [], server),
    ]

    /// The clock of SLS's SDKs.
    private static let clock = DevicePage(label: .servertime, response: Response(status: 200)) {
        ErrorShape.sls.response($0)
    }
    private static let splunkHealth = DevicePage(
        label: .splunk,
        tellsHealth: true,
        response: SplunkAnswer(200, 17, "HEC is healthy").response
    )
    /// `OPTIONS *`: the server itself.
    private static let server = DevicePage(
        label: .other,
        methods: .options,
        response: Response(status: 200)
    )

    private static func plain(_ text: String) -> DevicePage {
        let response = Response(status: 200, contentType: "text/plain", text: text)
        return DevicePage(label: .healthz, tellsHealth: true, response: response)
    }

    /// nil also for a page of a dialect that is switched off.
    static func page(
        at path: UnsafeBufferPointer<UInt8>,
        _ accepted: AcceptedDialects
    ) -> DevicePage? {
        all.first { path.equals($0.path) && accepted.isSuperset(of: $0.dialect) }?.page
    }
}
