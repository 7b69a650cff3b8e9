import Configuration
import HTTP

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
