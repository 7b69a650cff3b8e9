import Net
import System

/// A fault that the sandbox simulates on request.
struct Fault: Sendable, Equatable {
    /// The effect on the answer; at most one for each request.
    enum Answer: Sendable, Equatable {
        case refusal(SLSRefusal)
        /// Any content, such as a captive portal's page.
        case page(status: Int, contentType: String, body: String)
        /// The connection is reset without an answer.
        case reset
        /// The answer breaks off.
        case truncate
        /// The answer waits until the fault is removed.
        case hold
        /// A resolver answers with these addresses; none: it knows none.
        case addresses([IPAddress])

        var name: String {
            switch self {
            case .refusal(let refusal): refusal.code
            case .page: "page"
            case .reset: "reset"
            case .truncate: "truncate"
            case .hold: "hold"
            case .addresses: "addresses"
            }
        }
    }

    /// What a request asks for, as far as faults choose by it.
    enum Target: Sendable, Equatable {
        case sls(project: String?, logstore: String?)
        case resolver(ResolverService)

        var resolver: ResolverService? {
            if case .resolver(let service) = self { service } else { nil }
        }
    }

    var project: String?
    var logstore: String?
    /// The resolvers that are hit; nil for SLS.
    var resolvers: [ResolverService]?
    /// The number of matching requests that pass first.
    var skip = 0
    /// The number of requests that are hit; nil for no limit.
    var count: Int?
    /// The fraction of requests that are hit, chosen at random.
    var fraction = 1.0

    var answer: Answer?
    /// The request is still carried out; only its answer is lost or wrong.
    var store = false
    /// The answer's `Retry-After`.
    var retryAfter: Duration?
    var latency: Duration?
    var clockOffset: Duration?
    var withoutRequestID = false
    /// Spaces that follow the answer's body.
    var padding = 0

    func concerns(_ target: Target) -> Bool {
        switch target {
        case .sls(let project, let logstore):
            resolvers == nil && (self.project == nil || self.project == project)
                && (self.logstore == nil || self.logstore == logstore)
        case .resolver(let service): resolvers?.contains(service) ?? false
        }
    }
}

/// The combined effect of all active faults on one request.
struct Mishap: Sendable, Equatable {
    var answer: Fault.Answer?
    /// The fault whose removal releases a held answer.
    var holder: Int?
    var store = true
    var retryAfter: Duration?
    var latency: Duration = .zero
    var clockOffset: Duration = .zero
    var withoutRequestID = false
    var padding = 0

    /// True if the request is carried out.
    var isCarriedOut: Bool { answer == nil || store }
}
