import Configuration
import HTTP

/// What devices ask for besides bringing logs.
enum DevicePage {
    /// The clock of SLS's SDKs.
    case serverTime
    case health
    /// What Splunk's clients look at before they send.
    case splunkHealth
    case elastic(ElasticPage)
    /// What agents ask Loki before they send.
    case ready
    /// `OPTIONS *`: the server as such.
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

    /// A page of a dialect that is switched off is not there.
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
        // What is asked for is in the stamp.
        case .serverTime, .server: Response(status: 200)
        }
    }
}
