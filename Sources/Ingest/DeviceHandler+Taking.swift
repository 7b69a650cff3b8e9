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
    /// Logs that a body of any size may have. Beyond them even equal lines do not shrink to a byte each.
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
            LogRequest(
                head: head,
                content: content,
                target: target,
                table: tables.routing,
                queue: shared.queue,
                timing: timing(head, for: target.destination),
                limits: shared.limits,
                repeatedBytesMax: repeatedBytesMax,
                recognizesContent: shared.recognizesRepeats && key == nil,
                hidesKey: request.sender != nil,
                damage: request.damage,
                plainStatus: tables.access.plainStatus
            ),
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
        // Logs may name their own targets.
        for part in dispatched.parts {
            try request.sender?.check(part.target.destination, dialect.label)
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
        let isStamped = dispatched.parts.contains {
            !$0.target.intake.stamps.isEmpty || $0.target.site.sourceNamesClient
        }
        if isStamped {
            let facts = SenderFacts(head, request.proven, tables.access.proxies, receipt: receipt)
            let room = repeatedBytesMax * dispatched.destinations
            shared.counters.count(.claimsRemoved, facts.stamp(&dispatched.parts, atMost: room))
        }
        let bodyBytes = max(content.count, decoder.inflatedBytes - before)
        let origin = Origin(
            sender: request.sender,
            receipt: receipt,
            sentBytes: body.count,
            bodyBytes: bodyBytes,
            isRepaired: decoder.json.repairs != repairs,
            start: start,
            readers: tables.crossOrigin(head)
        )
        try store(taken, dispatched, of: dialect, head, origin, &draft, responder)
        // The queue answers it.
        draft = nil
    }

    /// The time of logs that bring none, and the skew of the device's clock. Both are measured at the arrival of the
    /// head: a large body may take minutes, and then wait for a worker.
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

    /// What counters and the answer need of a request.
    private struct Origin {
        let sender: DeviceSender?
        let receipt: [UInt8]
        /// The size of the body as it arrived, and inflated.
        let sentBytes: Int
        let bodyBytes: Int
        let isRepaired: Bool
        let start: Moment
        let readers: CrossOrigin
    }

    private func store(
        _ taken: TakenLogs,
        _ dispatched: DispatchedLogs,
        of dialect: any LogDialect,
        _ head: RequestHead,
        _ origin: Origin,
        _ draft: inout CaptureDraft?,
        _ responder: Responder
    ) throws(Refusal) {
        let (start, readers, keyCounter) = (origin.start, origin.readers, origin.sender?.counter)
        let figures = IngestCounters.Figures(
            of: taken.groups,
            bodyBytes: origin.bodyBytes,
            isRepaired: origin.isRepaired
        )
        let (answers, counters) = (answers, shared.counters)
        let receipt = String(decoding: origin.receipt, as: UTF8.self)
        let answerOfDialect = taken.answer
        // Before anything is stored: after that the answer is owed.
        if taken.answerBytes > 0 {
            let bytes = taken.answerBytes + HTTPServer.Limits.answerHeadBytes
            let largest = shared.limits.http.largestAnswerBytes
            guard responder.reserve(answerBytes: bytes, largest: largest) else {
                throw .tooManyAnswers
            }
        }
        let answer = {
            @Sendable
            (receipt: String, logs: Int, draft: CaptureDraft?, end: CaptureDraft.End) in
            let acceptance = Acceptance(receipt: receipt, logs: logs)
            let response = answers.accepted(
                answerOfDialect(acceptance),
                dialect.label,
                acceptance,
                readers
            )
            draft?.answered(response, end)
            responder.send(response)
        }
        let identity = taken.identity.map {
            BatchIdentity(digest: $0, receipt: origin.receipt, logs: figures.logs)
        }
        // Filters and routes may leave nothing. The queue remembers such a request if a repetition can be recognised,
        // so that its logs count once; otherwise nothing has to be written.
        let isStored = dispatched.parts.contains { $0.logs.count > 0 }
        guard isStored || identity != nil && figures.logs > 0 else {
            // A question without logs is answered while the gateway drains.
            let hasLogs = figures.logs > 0
            guard !hasLogs || shared.intake.enter() else { throw .draining }
            defer { if hasLogs { shared.intake.leave() } }
            counters.countAccepted(dialect.label, figures, since: start)
            counters.countRouted(dispatched.counts)
            let tally = dispatched.tally(of: figures.logs, [])
            if tally.received > 0 { shared.queue.count(tally) }
            keyCounter?.countAccepted(figures)
            return answer(receipt, figures.logs, draft, .nothingToStore)
        }
        var batches: [Batch] = []
        for part in dispatched.parts where part.logs.count > 0 { batches.append(try part.batch()) }
        // The inflated batches wait for the commit, and count like the body.
        let inflated = batches.reduce(0) { $0 + $1.heldBytes }
        guard responder.hold(inflated - origin.sentBytes) else { throw .tooMuchInFlight }
        // So does what a capture keeps, but no request is refused for its sake.
        if let bytes = draft?.heldBytes, !responder.hold(bytes, isNeeded: false) {
            draft?.missed()
            draft = nil
        }
        draft?.track(&batches)
        // Without a viewer, which is the usual case, the batches are not kept.
        let shown = shared.tail.flatMap { $0.isWatched ? ($0, batches) : nil }
        let (intake, sender) = (shared.intake, origin.sender?.name)
        let (queue, refused) = (shared.queue, shared.refusedRequests)
        // A filter redacts, so a refusal is noted without what may be part of a log.
        let hidesLogs = tables.routing.redacts
        let counts = dispatched.counts
        let waiting = draft.map { WaitingDraft($0) }
        guard intake.enter() else { throw .draining }
        let tally = dispatched.tally(of: figures.logs, batches)
        // A capture must have its record before the queue tells what became of the logs, which follows the answers of
        // the queue's own thread.
        let isTracked = batches.contains { $0.track != nil }
        let destination = batches.first?.stream.destination
        let destinations =
            batches.count > 1
            ? batches.compactMap { $0.isRequired ? $0.stream.destination : nil } : []
        let thread = isTracked ? nil : responder.thread
        queue.append(
            batches,
            identity: identity,
            sender: sender,
            tally: tally,
            on: thread
        ) { outcome in
            defer { intake.leave() }
            switch outcome {
            case .stored:
                if let (tail, batches) = shown { for batch in batches { tail.show(batch) } }
                counters.countAccepted(dialect.label, figures, since: start)
                counters.countRouted(counts)
                keyCounter?.countAccepted(figures)
                answer(receipt, figures.logs, waiting?.draft, .stored(receipt: receipt))
            case .repeated(let first, let count):
                let receipt = String(decoding: first, as: UTF8.self)
                counters.countRepeated(dialect.label, since: start)
                answer(receipt, count, waiting?.draft, .repeated(receipt: receipt))
            case .refused(let admission):
                let full = destinations.first {
                    queue.admission(forDestination: $0) == .destinationFull
                }
                let refusal = Refusal(
                    admission,
                    of: destinations.isEmpty ? destination : full
                )
                let response = answers.refused(refusal, .logs(dialect), readers)
                refused.note(
                    head,
                    refusal,
                    as: response.status,
                    key: sender,
                    hidesLogs: hidesLogs
                )
                waiting?.draft.answered(response, .refused(refusal))
                responder.send(response)
            }
        }
    }
}

extension Batch {
    /// The memory that the batch takes until it is stored.
    fileprivate var heldBytes: Int {
        dead.reduce(logs.bytes.count + stream.trailer.bytes.count) { $0 + $1.logs.bytes.count }
    }
}
