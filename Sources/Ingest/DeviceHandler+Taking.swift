import Configuration
import HTTP
import Logs
import Net
import Queue
import Routing
import System

/// A request with logs, from the arrival of its body to its answer.
struct IncomingLogs: Sendable {
    let head: RequestHead
    let admitted: AdmittedLogs
    let receipt: [UInt8]
    let responder: Responder
    /// nil: no capture wants it.
    let draft: CaptureDraft?
    let start = Moment.now

    var dialect: any LogDialect { admitted.dialect }
    var sender: DeviceSender? { admitted.sender }
}

extension DeviceHandler {
    /// The most dead letters from one request: each is a row of its own, all in one transaction.
    private static let doomedMax = 10_000
    /// Logs that a body of any size may have. Beyond them even equal lines do not shrink to a byte
    /// each.
    private static let freeLogs = 16_384
    /// What a log costs of a budget of bytes, however little of the body it takes.
    private static let logBytesMin = 16

    /// Reads the body into batches, stores them, and answers when they are durable.
    func take(_ request: IncomingLogs, _ body: UnsafeRawBufferPointer) throws(Refusal) {
        let (head, admitted, draft) = (request.head, request.admitted, request.draft)
        try decoder.checkNotLost(body, head)
        try tables.prove(admitted, body)
        // An idempotency key names a body.
        let hasBody = head.method == .post || head.method == .put
        let key = shared.recognizesRepeats && hasBody ? try head.idempotencyKey : nil
        try admitted.budget.takeDeclared(request.dialect.label, at: shared.clock)
        let (before, repairs) = (decoder.inflatedBytes, decoder.json.repairs)
        var logCount = 0
        var isSettled = false
        func settle() {
            guard !isSettled, admitted.budget.isBounded else { return }
            isSettled = true
            let bytes = max(body.count, decoder.inflatedBytes - before)
            admitted.budget.settle(max(bytes, logCount * Self.logBytesMin), at: shared.clock)
        }
        // Also for a body that turns out to be unreadable: reading it cost the same.
        defer { settle() }
        try admitted.reader.check(head, body)
        let content = try decoder.content(of: body, head, request.dialect.coding)
        // What is refused is kept as it is.
        let isCompressed = content.baseAddress != body.baseAddress
        var isQueued = false
        defer { if !isQueued { draft?.keep(body, content, isCompressed: isCompressed) } }
        let repeatedBytesMax = decoder.limit.repeating(for: body.count)
        let taken = try read(request, content, named: key, repeatedBytesMax: repeatedBytesMax)
        logCount = taken.logCount
        let logsMax = max(Self.freeLogs, body.count)
        guard logCount <= logsMax else { throw .tooManyLogs(logCount, most: logsMax) }
        let plans = dispatch.plans(tables.routing)
        draft?.read(taken, plans, body, content: content, isCompressed: isCompressed)
        var dispatched =
            tables.routing.router == nil
            ? dispatch.parts(of: taken.groups, repeatedBytesMax: repeatedBytesMax)
            : try dispatch.dispatch(taken.groups, routing(request, repeatedBytesMax))
        logCount += dispatched.counts.added
        let light = logCount - max(body.count, 1)
        if light > 0 {
            let counter = request.sender?.counter ?? shared.keyless
            try counter.takeLight(light, request.dialect.label, at: shared.clock())
        }
        draft?.dispatched(taken.groups, dispatched, plans)
        try check(dispatched, request)
        stamp(&dispatched, request, atMost: repeatedBytesMax)
        let figures = IngestCounters.Figures(
            of: taken.groups,
            bodyBytes: max(content.count, decoder.inflatedBytes - before),
            isRepaired: decoder.json.repairs != repairs
        )
        // Before the answer, after which the client's next request may come on another thread.
        settle()
        try store(taken, dispatched, of: request, counting: figures, sentBytes: body.count)
        // The draft is the queue's now.
        isQueued = true
    }

    private func read(
        _ request: IncomingLogs,
        _ content: UnsafeRawBufferPointer,
        named key: String?,
        repeatedBytesMax: Int
    ) throws(Refusal) -> TakenLogs {
        let (head, target) = (request.head, request.admitted.target)
        var rules = tables.routing.rules(for: target)
        rules.damage = request.admitted.damage
        let question = LogRequest(
            head: head,
            body: LogBody(content, timing(head, for: target.destination), rules),
            target: target,
            table: tables.routing,
            queue: shared.queue,
            limits: shared.limits,
            repeatedBytesMax: repeatedBytesMax,
            recognizesContent: shared.recognizesRepeats && key == nil,
            hidesKey: request.sender != nil,
            plainStatus: tables.access.plainStatus
        )
        let reader = request.admitted.reader
        // Returned as it is made: a copy would count each of its references.
        guard let key else { return try reader.read(question, decoder) }
        var taken = try reader.read(question, decoder)
        // The client's own name for the request takes precedence over its content.
        let (marks, outcome) = ([target.tag ?? "", key], taken.outcome)
        taken.identity = RequestIdentity.named.digest(marks, content, target, outcome: outcome)
        return taken
    }

    /// Throws when not all logs may be stored.
    private func check(
        _ dispatched: DispatchedLogs,
        _ request: IncomingLogs
    ) throws(Refusal) {
        let parts = dispatched.parts
        if let sender = request.sender {
            // Logs may name their own targets.
            for part in parts { try sender.check(part.target.destination, request.dialect.label) }
        }
        var doomed = 0
        for index in parts.indices where !parts[index].logs.faulty.isEmpty {
            let part = parts[index]
            if part.logs.unreadable > 0,
                !shared.queue.keepsUnreadable(for: part.target.destination)
            {
                throw .unreadable(part.logs)
            }
            doomed += part.logs.faulty.reduce(0) { $0 + $1.logs.count }
        }
        guard doomed <= Self.doomedMax else { throw .tooManyDoomed(doomed, most: Self.doomedMax) }
        let streamsMax = 2 * shared.limits.json.batches * dispatched.destinations
        guard parts.count <= streamsMax else { throw .tooManyStreams(most: streamsMax) }
    }

    private func stamp(
        _ dispatched: inout DispatchedLogs,
        _ request: IncomingLogs,
        atMost repeatedBytesMax: Int
    ) {
        let parts = dispatched.parts
        guard parts.indices.contains(where: { parts[$0].target.site.isStamped }) else { return }
        let facts = SenderFacts(
            request.head,
            request.admitted.proven,
            tables.access.proxies,
            receipt: request.receipt
        )
        let room = repeatedBytesMax * dispatched.destinations
        shared.counters.count(.claimsRemoved, facts.stamp(&dispatched.parts, atMost: room))
    }

    /// The time of logs that bring none, and the skew of the device's clock. Both are measured at
    /// the arrival of the head: a large body may take minutes, and then wait for a worker.
    func timing(_ head: RequestHead, for destination: String) -> BatchTiming {
        var timing = BatchTiming(arrival: head.arrival, offset: shared.clockOffset(destination))
        guard let shown = head.field("x-log-client-time") else { return timing }
        if let skew = ClockSkew(clientTime: shown, received: head.arrival) {
            timing.skew = skew
        } else {
            shared.counters.count(.clockUnusable)
        }
        return timing
    }

    private func routing(_ request: IncomingLogs, _ repeatedBytesMax: Int) -> DispatchRequest {
        let (table, head, sender) = (tables.routing, request.head, request.sender)
        return DispatchRequest(
            table: table,
            allows: { sender?.maySend(to: $0) ?? true },
            checkRight: { name throws(Refusal) in
                try sender?.check(name, request.dialect.label)
            },
            sender: table.hasFilters
                ? SenderText(
                    clientIP: head.clientAddress(behind: tables.access.proxies)?.description ?? "",
                    key: sender?.name ?? "",
                    receipt: String(decoding: request.receipt, as: UTF8.self),
                    part: { AskedRequest(head).text(of: $0) }
                ) : SenderText(),
            repeatedBytesMax: repeatedBytesMax,
            retarget: { tag throws(Refusal) in try table.target(of: head, .tag(tag)) },
            applyRules: { [decoder, shared] logs, target throws(Refusal) in
                try decoder.decode(logs, shared.timing(target, head.arrival), target.rules)
            },
            trace: request.draft?.trace
        )
    }
}
