import Configuration
import HTTP
import Logs
import Net
import Queue
import Routing
import System

extension DeviceHandler {
    /// The most dead letters from one request: each is a row of its own, all in one transaction.
    private static let doomedMax = 10_000
    /// Logs that a body of any size may have. Beyond them even equal lines do not shrink to a byte
    /// each.
    private static let freeLogs = 16_384
    /// What a log costs of a budget of bytes, however little of the body it takes.
    private static let logBytesMin = 16

    /// Reads the body into batches, stores them, and answers when they are durable.
    func take(
        _ head: RequestHead,
        _ request: AdmittedLogs,
        _ body: UnsafeRawBufferPointer,
        _ draft: inout CaptureDraft?,
        _ responder: Responder
    ) throws(Refusal) {
        let start = Moment.now
        try decoder.checkNotLost(body, head)
        try tables.prove(request, body)
        let (dialect, target) = (request.dialect, request.target)
        // An idempotency key names a body.
        let hasBody = head.method == .post || head.method == .put
        let isNamed = shared.recognizesRepeats && hasBody
        let key = isNamed ? try head.idempotencyKey : nil
        try request.budget.takeDeclared(dialect.label, at: shared.clock)
        let (before, repairs) = (decoder.inflatedBytes, decoder.json.repairs)
        var logCount = 0
        // Also for a body that turns out to be unreadable: reading it cost the same.
        defer {
            let bytes = max(body.count, decoder.inflatedBytes - before)
            request.budget.settle(max(bytes, logCount * Self.logBytesMin), at: shared.clock)
        }
        try request.reader.check(head, body)
        let content = try decoder.content(of: body, head, dialect.coding)
        // What is refused is kept as it is.
        let isCompressed = content.baseAddress != body.baseAddress
        defer { draft?.keep(body, content, isCompressed: isCompressed) }
        let repeatedBytesMax = decoder.limit.repeating(for: body.count)
        var taken = try request.reader.read(
            question(head, request, content, repeatedBytesMax, isNamed: key != nil),
            decoder
        )
        logCount = taken.groups.reduce(0) { $0 + $1.logs.count }
        let logsMax = max(Self.freeLogs, body.count)
        guard logCount <= logsMax else { throw .tooManyLogs(logCount, most: logsMax) }
        // The client's own name for the request takes precedence over its content.
        if let key {
            let outcome = taken.outcome
            taken.identity = RequestIdentity.named(key, content: content, target, outcome: outcome)
        }
        let receipt = shared.mint.next()
        let plans = dispatch.plans(tables.routing)
        draft?.read(taken, plans, body, content, isCompressed: isCompressed)
        let trace: FilterTrace? =
            draft?.wantsAccepted == true
            ? FilterTrace(bytesMax: CaptureDraft.traceBytesMax, logsMax: CapturedLogs.logsMax)
            : nil
        dispatch.trace = trace
        defer { dispatch.trace = nil }
        var dispatched =
            tables.routing.router == nil
            ? dispatch.parts(of: taken.groups, repeatedBytesMax: repeatedBytesMax)
            : try dispatch.dispatch(
                taken.groups,
                routing(head, request, receipt, repeatedBytesMax)
            )
        logCount += dispatched.counts.added
        let light = logCount - max(body.count, 1)
        if light > 0 {
            let counter = request.sender?.counter ?? shared.keyless
            try counter.takeLight(light, dialect.label, at: shared.clock())
        }
        if let trace { draft?.dispatched(taken.groups, dispatched, trace, plans) }
        try check(dispatched, request)
        stamp(&dispatched, head, request, receipt, atMost: repeatedBytesMax)
        let pending = QueuedRequest(
            head: head,
            dialect: dialect,
            sender: request.sender,
            receipt: receipt,
            figures: IngestCounters.Figures(
                of: taken.groups,
                bodyBytes: max(content.count, decoder.inflatedBytes - before),
                isRepaired: decoder.json.repairs != repairs
            ),
            start: start,
            readers: tables.crossOrigin(head),
            response: taken.answer,
            answers: answers,
            counters: shared.counters,
            responder: responder
        )
        try store(taken, dispatched, sentBytes: body.count, pending, &draft)
        // The queue answers it.
        draft = nil
    }

    private func question(
        _ head: RequestHead,
        _ request: AdmittedLogs,
        _ content: UnsafeRawBufferPointer,
        _ repeatedBytesMax: Int,
        isNamed: Bool
    ) -> LogRequest {
        LogRequest(
            head: head,
            content: content,
            target: request.target,
            table: tables.routing,
            queue: shared.queue,
            timing: timing(head, for: request.target.destination),
            limits: shared.limits,
            repeatedBytesMax: repeatedBytesMax,
            recognizesContent: shared.recognizesRepeats && !isNamed,
            hidesKey: request.sender != nil,
            damage: request.damage,
            plainStatus: tables.access.plainStatus
        )
    }

    /// Throws when not all logs may be stored.
    private func check(
        _ dispatched: DispatchedLogs,
        _ request: AdmittedLogs
    ) throws(Refusal) {
        // Logs may name their own targets.
        for part in dispatched.parts {
            try request.sender?.check(part.target.destination, request.dialect.label)
        }
        for part in dispatched.parts where part.logs.unreadable > 0 {
            guard shared.queue.keepsUnreadable(for: part.target.destination) else {
                throw .unreadable(part.logs)
            }
        }
        let doomed = dispatched.parts.reduce(0) {
            $0 + $1.logs.faulty.reduce(0) { $0 + $1.logs.count }
        }
        guard doomed <= Self.doomedMax else { throw .tooManyDoomed(doomed, most: Self.doomedMax) }
        let streamsMax = 2 * shared.limits.json.batches * dispatched.destinations
        guard dispatched.parts.count <= streamsMax else { throw .tooManyStreams(most: streamsMax) }
    }

    private func stamp(
        _ dispatched: inout DispatchedLogs,
        _ head: RequestHead,
        _ request: AdmittedLogs,
        _ receipt: [UInt8],
        atMost repeatedBytesMax: Int
    ) {
        let isStamped = dispatched.parts.contains {
            !$0.target.intake.stamps.isEmpty || $0.target.site.sourceNamesClient
        }
        guard isStamped else { return }
        let facts = SenderFacts(head, request.proven, tables.access.proxies, receipt: receipt)
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

    private func routing(
        _ head: RequestHead,
        _ request: AdmittedLogs,
        _ receipt: [UInt8],
        _ repeatedBytesMax: Int
    ) -> DispatchRequest {
        let table = tables.routing
        return DispatchRequest(
            table: table,
            allows: { request.sender?.maySend(to: $0) ?? true },
            checkRight: { name throws(Refusal) in
                try request.sender?.check(name, request.dialect.label)
            },
            sender: table.hasFilters
                ? SenderText(
                    clientIP: head.clientAddress(behind: tables.access.proxies)?.description ?? "",
                    key: request.sender?.name ?? "",
                    receipt: String(decoding: receipt, as: UTF8.self),
                    part: { AskedRequest(head).text(of: $0) }
                ) : SenderText(),
            repeatedBytesMax: repeatedBytesMax,
            retarget: { tag throws(Refusal) in
                try table.target(
                    host: head.field("host"),
                    project: head.field("x-log-project"),
                    .tag(tag)
                )
            },
            applyRules: { [decoder, shared] logs, target throws(Refusal) in
                try decoder.decode(logs, shared.timing(target, head.arrival), target.intake.rules)
            }
        )
    }
}
