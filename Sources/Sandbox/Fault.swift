import JSON
import Net
import System

struct Fault: Sendable, Equatable {
    /// The effect on the answer; at most one for each request.
    enum Answer: Sendable, Equatable {
        case refusal(SLSRefusal)
        /// Any content, such as a captive portal's page.
        case page(status: Int, contentType: String, body: String)
        /// The connection is reset without an answer.
        case reset
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

    private static let choices = [
        "status or code", "body", "reset", "truncate", "hold", "addresses",
    ]

    init(_ fields: inout ControlFields) throws(SLSRefusal) {
        project = try fields.text("project")
        logstore = try fields.text("logstore")
        resolvers = try Self.resolvers(try fields.text("resolver"))
        guard resolvers == nil || project == nil && logstore == nil else {
            throw .badParameter("a resolver has no project and no logstore.")
        }
        skip = try fields.integer("skip", in: 0...1_000_000_000) ?? 0
        count = try fields.integer("count", in: 1...1_000_000_000)
        fraction = try fields.number("fraction", in: 0...1) ?? 1
        guard fraction > 0 else { throw .badParameter("fraction is 0: it would never happen.") }
        answer = try Self.answer(&fields, isOfResolver: resolvers != nil)
        store = try fields.flag("store") ?? false
        retryAfter = try fields.integer("retry_after_s", in: 0...86_400).map { .seconds($0) }
        latency = try fields.integer("latency_ms", in: 1...600_000).map { .milliseconds($0) }
        clockOffset = try fields.integer("clock_offset_s", in: -315_360_000...315_360_000)
            .map { .seconds($0) }
        withoutRequestID = try fields.flag("without_request_id") ?? false
        padding = try fields.integer("pad_bytes", in: 0...64 << 20) ?? 0
        try fields.refuseUnknown()
        guard padding == 0 || resolvers != nil else { throw .badParameter(Self.onlyResolver) }
        guard
            answer != nil || padding > 0 || latency != nil || clockOffset != nil || withoutRequestID
        else {
            throw .badParameter(
                "The fault has no effect: give one of \(Self.choices.joined(separator: ", ")), "
                    + "or latency_ms, clock_offset_s, without_request_id."
            )
        }
        guard answer != nil || !store else {
            throw .badParameter("store needs a faulty answer, such as \"reset\": true.")
        }
        guard retryAfter == nil || answer?.hasHead == true else {
            throw .badParameter("retry_after_s needs a status, a code or a body.")
        }
        if answer?.isReal == true { store = true }
    }

    private static let onlyResolver =
        "addresses and pad_bytes are for \"resolver\": \"any\", \"alibaba\", \"tencent\" or \"doh\"."

    private static func resolvers(_ text: String?) throws(SLSRefusal) -> [ResolverService]? {
        guard let text else { return nil }
        if text == "any" { return ResolverService.allCases }
        guard let service = ResolverService(rawValue: text) else {
            throw .badParameter("resolver is \(text), any, alibaba, tencent or doh is expected.")
        }
        return [service]
    }

    private static func answer(
        _ fields: inout ControlFields,
        isOfResolver: Bool
    ) throws(SLSRefusal) -> Answer? {
        let status = try fields.integer("status", in: 200...599)
        let code = try fields.text("code")
        let message = try fields.text("message", bytesMax: 4096)
        let body = try fields.text("body", bytesMax: 65_536)
        let type = try fields.text("content_type")
        var answers: [Answer] = []
        if let body {
            guard code == nil, message == nil else {
                throw .badParameter("body replaces the whole answer: give no code and no message.")
            }
            answers.append(
                .page(status: status ?? 200, contentType: type ?? "text/html", body: body)
            )
        } else {
            guard type == nil else { throw .badParameter("content_type needs a body.") }
            if let refusal = try refusal(status, code, message, isOfResolver: isOfResolver) {
                answers.append(.refusal(refusal))
            }
        }
        if try fields.flag("reset") == true { answers.append(.reset) }
        if try fields.flag("truncate") == true { answers.append(.truncate) }
        if try fields.flag("hold") == true { answers.append(.hold) }
        if let addresses = try fields.addresses("addresses") {
            guard isOfResolver else { throw .badParameter(onlyResolver) }
            answers.append(.addresses(addresses))
        }
        guard answers.count <= 1 else {
            throw .badParameter("Only one of \(choices.joined(separator: ", ")) can happen.")
        }
        return answers.first
    }

    private static func refusal(
        _ status: Int?,
        _ code: String?,
        _ message: String?,
        isOfResolver: Bool
    ) throws(SLSRefusal) -> SLSRefusal? {
        guard status != nil || code != nil else {
            guard message == nil else { throw .badParameter("message needs a status or a code.") }
            return nil
        }
        guard let status = status ?? code.flatMap({ KnownCode.status(of: $0, isOfResolver) }) else {
            throw .badParameter("The code \(code ?? "") needs a status.")
        }
        guard let code = code ?? (isOfResolver ? "InternalError" : KnownCode.usual(for: status))
        else {
            throw .badParameter("The status \(status) needs a code, or a body.")
        }
        return SLSRefusal(status, code, message ?? "The sandbox was asked to answer \(code).")
    }

    /// Writes the fault's members for `GET /faults`, with the remaining counts.
    func write(to json: inout JSONWriter) {
        if let resolvers {
            json.member("resolver", resolvers.count > 1 ? "any" : resolvers[0].rawValue)
        }
        if let project { json.member("project", project) }
        if let logstore { json.member("logstore", logstore) }
        if skip > 0 { json.member("skip", skip) }
        if let count { json.member("count", count) }
        if fraction < 1 { json.member("fraction", number: "\(fraction)") }
        switch answer {
        case .refusal(let refusal):
            json.member("status", refusal.status)
            json.member("code", refusal.code)
            json.member("message", refusal.message)
        case .page(let status, let type, let body):
            json.member("status", status)
            json.member("content_type", type)
            json.member("body", body)
        case .reset: json.member("reset", true)
        case .truncate: json.member("truncate", true)
        case .hold: json.member("hold", true)
        case .addresses(let addresses): json.addresses("addresses", addresses)
        case nil: break
        }
        if padding > 0 { json.member("pad_bytes", padding) }
        if store, answer?.isReal != true { json.member("store", true) }
        if let retryAfter { json.member("retry_after_s", retryAfter.components.seconds) }
        if let latency { json.member("latency_ms", Int(latency / .milliseconds(1))) }
        if let clockOffset { json.member("clock_offset_s", clockOffset.components.seconds) }
        if withoutRequestID { json.member("without_request_id", true) }
    }
}

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

    var isCarriedOut: Bool { answer == nil || store }

    fileprivate mutating func add(_ fault: Fault, _ id: Int) {
        if let answer = fault.answer {
            self.answer = answer
            store = fault.store
            retryAfter = fault.retryAfter
            if answer == .hold { holder = id }
        }
        padding += fault.padding
        if let latency = fault.latency { self.latency += latency }
        if let offset = fault.clockOffset { clockOffset += offset }
        if fault.withoutRequestID { withoutRequestID = true }
    }
}

struct FaultPlan: Sendable {
    struct Entry: Sendable {
        let id: Int
        var fault: Fault
        var hits = 0
    }

    private(set) var entries: [Entry] = []
    private(set) var lastID = 0
    let capacity: Int

    /// Adds a fault and returns its number; nil when there are too many.
    mutating func add(_ fault: Fault) -> Int? {
        guard entries.count < capacity else { return nil }
        lastID += 1
        entries.append(Entry(id: lastID, fault: fault))
        return lastID
    }

    /// Removes one fault, or all for nil; returns the removed numbers.
    mutating func remove(_ id: Int?) -> [Int] {
        let removed = entries.map(\.id).filter { id == nil || $0 == id }
        entries.removeAll { id == nil || $0.id == id }
        return removed
    }

    /// Applies the faults that match a request. At most one decides the answer. A second one waits
    /// for its turn, so that the counts of faults run one after the other.
    mutating func applyFaults(
        to target: Fault.Target,
        random: inout SeededRandom
    ) -> Mishap {
        var mishap = Mishap()
        for index in entries.indices where entries[index].fault.concerns(target) {
            let fault = entries[index].fault
            if fault.count == 0 { continue }
            if fault.answer != nil, mishap.answer != nil { continue }
            if fault.skip > 0 {
                entries[index].fault.skip -= 1
                continue
            }
            guard fault.fraction >= 1 || random.fraction() < fault.fraction else { continue }
            if let count = fault.count { entries[index].fault.count = count - 1 }
            entries[index].hits += 1
            mishap.add(fault, entries[index].id)
        }
        // A used-up fault that holds answers stays until it is removed.
        entries.removeAll { $0.fault.count == 0 && $0.fault.answer != .hold }
        return mishap
    }
}

extension Fault.Answer {
    /// True if the request is carried out in any case: only its answer is held, or has other
    /// addresses.
    fileprivate var isReal: Bool {
        switch self {
        case .hold, .addresses: true
        case .refusal, .page, .reset, .truncate: false
        }
    }

    /// True if the fault has its own answer with visible header fields.
    fileprivate var hasHead: Bool {
        switch self {
        case .refusal, .page: true
        case .reset, .truncate, .hold, .addresses: false
        }
    }
}

extension Sandbox {
    func listFaults() -> Answer {
        let entries = state.withLock { $0.faults.entries }
        return .json { json in
            json.objects("faults", entries) { json, entry in
                json.member("id", entry.id)
                json.member("hits", entry.hits)
                entry.fault.write(to: &json)
            }
        }
    }

    func addFault(_ request: ReceivedRequest) throws(SLSRefusal) -> Answer {
        var fields = try ControlFields(request.body)
        let fault = try Fault(&fields)
        guard let id = state.withLock({ $0.faults.add(fault) }) else {
            throw .badParameter(
                "\(configuration.capacity.faultsMax) faults are active: remove some first."
            )
        }
        return .json { $0.member("id", id) }
    }

    func removeFaults(_ id: Int?) throws(SLSRefusal) -> Answer {
        let removed = state.withLock { $0.faults.remove(id) }
        if let id, removed.isEmpty {
            throw .notFound("ParameterInvalid", "There is no fault \(id).")
        }
        removed.forEach(late.release(fault:))
        return .json { $0.member("removed", removed.count) }
    }
}
