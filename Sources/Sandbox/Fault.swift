import System

/// Something that goes wrong on request.
struct Fault: Sendable, Equatable {
    /// What happens to the answer itself; at most one for a request.
    enum Answer: Sendable, Equatable {
        case refusal(SLSRefusal)
        /// Anything, like the page of a captive portal.
        case page(status: Int, contentType: String, body: String)
        /// The connection is reset without an answer.
        case reset
        /// The answer breaks off.
        case truncate
        /// The answer waits until the fault is removed.
        case hold

        var name: String {
            switch self {
            case .refusal(let refusal): refusal.code
            case .page: "page"
            case .reset: "reset"
            case .truncate: "truncate"
            case .hold: "hold"
            }
        }
    }

    var project: String?
    var logstore: String?
    /// So many requests that match are let through first.
    var skip = 0
    /// So many requests are hit; nil is without end.
    var count: Int?
    /// The part of the requests that is hit, by chance.
    var fraction = 1.0

    var answer: Answer?
    /// The request is carried out all the same, and only its answer is lost or wrong.
    var store = false
    /// What the answer asks for with `Retry-After`.
    var retryAfter: Duration?
    var latency: Duration?
    var clockOffset: Duration?
    var withoutRequestID = false

    func concerns(_ project: String?, _ logstore: String?) -> Bool {
        (self.project == nil || self.project == project)
            && (self.logstore == nil || self.logstore == logstore)
    }
}

/// What the active faults do to one request, together.
struct Mishap: Sendable, Equatable {
    var answer: Fault.Answer?
    /// The fault whose removal lets a held answer go.
    var holder: Int?
    var store = true
    var retryAfter: Duration?
    var latency: Duration = .zero
    var clockOffset: Duration = .zero
    var withoutRequestID = false

    /// Whether the request is carried out.
    var isCarriedOut: Bool { answer == nil || store }
}
