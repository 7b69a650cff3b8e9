import JSON

extension Fault {
    private static let choices = [
        "status or code", "body", "reset", "truncate", "hold", "addresses",
    ]

    /// Parses the body of `POST /faults`.
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
        // A held answer is the real one, so the request must be carried out.
        // So is one with other addresses.
        switch answer {
        case .hold, .addresses: store = true
        default: break
        }
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
            if let refusal = try refusal(status, code, message, isOfResolver) {
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
        _ isOfResolver: Bool
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

extension Fault.Answer {
    /// True if the request is carried out in any case.
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
