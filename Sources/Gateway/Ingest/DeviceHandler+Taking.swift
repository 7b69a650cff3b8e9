import HTTP
import Logs
import Queue
import System

extension DeviceHandler {
    /// Logs of one request that may become dead letters: each is a row of its own, in one transaction.
    private static let doomedMax = 10_000

    /// Reads the body into batches, stores them, and answers once that is durable.
    func take(
        _ head: RequestHead,
        _ dialect: some LogDialect,
        _ body: UnsafeRawBufferPointer,
        _ responder: Responder
    ) throws(Refusal) {
        let start = Moment.now
        let request = try admittedRequest(head, dialect)
        try access { () throws(AccessProblem) in try request.proven?.prove(body) }
        let target = request.target
        // A key stands for a body.
        let isNamed = shared.recognizesRepeats && head.method == .post
        let key = isNamed ? try head.idempotencyKey : nil
        defer { reader.forget() }
        try takeDeclared(request, head, dialect.label)
        let before = reader.inflatedBytes
        // Also of what turns out to be unreadable: to find out has cost the same.
        defer { settle(max(body.count, reader.inflatedBytes - before), request, head) }
        try dialect.check(head, body)
        let content = try reader.content(of: body, head, dialect.coding(head))
        var taken = try dialect.read(
            LogRequest(
                head: head,
                content: content,
                target: target,
                table: routes.value,
                queue: shared.queue,
                timing: timing(head, for: target.destination),
                limits: shared.limits,
                repeatedBytesMax: reader.limit.repeating(for: body.count),
                recognizesContent: shared.recognizesRepeats && key == nil,
                hidesKey: request.sender != nil || !keys.value.isOpen
            ),
            reader
        )
        // The client's own name for the request counts more than what is in it.
        if let key {
            let outcome = taken.outcome
            taken.identity = RequestIdentity.named(key, content: content, target, outcome: outcome)
        }
        // Logs may tell themselves where they belong.
        for part in taken.parts {
            try request.sender?.check(part.target.destination, dialect.label)
        }
        let doomed = taken.parts.reduce(0) { $0 + $1.logs.faulty.reduce(0) { $0 + $1.logs.count } }
        guard doomed <= Self.doomedMax else { throw .tooManyDoomed(doomed, most: Self.doomedMax) }
        let streamsMax = 2 * shared.limits.json.batches
        guard taken.parts.count <= streamsMax else { throw .tooManyStreams(most: streamsMax) }
        let bodyBytes = max(content.count, reader.inflatedBytes - before)
        let origin = Origin(sender: request.sender, bodyBytes: bodyBytes, start: start)
        try store(taken, of: dialect, origin, crossOrigin(head), responder)
    }

    /// What is counted when the logs are stored.
    private struct Origin {
        let sender: DeviceSender?
        let bodyBytes: Int
        let start: Moment
    }

    private func store(
        _ taken: TakenLogs,
        of dialect: some LogDialect,
        _ origin: Origin,
        _ readers: CrossOrigin,
        _ responder: Responder
    ) throws(Refusal) {
        let (start, keyCounter) = (origin.start, origin.sender?.counter)
        let figures = IngestCounters.Figures(of: taken.parts, bodyBytes: origin.bodyBytes)
        let (answers, counters, receipt) = (answers, shared.counters, shared.mint.next())
        let accepted = taken.accepted
        let answer = { @Sendable (receipt: [UInt8], logs: Int) in
            let acceptance = Acceptance(
                receipt: String(decoding: receipt, as: UTF8.self),
                logs: logs
            )
            let response = accepted?(acceptance) ?? dialect.accepted(acceptance)
            responder.send(answers.accepted(response, dialect.label, acceptance, readers))
        }
        guard figures.logs > 0 else {
            counters.countAccepted(dialect.label, figures, since: start)
            keyCounter?.countAccepted(figures)
            return answer(receipt, 0)
        }
        let identity = taken.identity.map {
            BatchIdentity(digest: $0, receipt: receipt, logs: figures.logs)
        }
        var batches: [Batch] = []
        for part in taken.parts where part.logs.count > 0 { batches.append(try part.batch()) }
        // Mostly nobody looks, and then nothing is kept for them.
        let shown = shared.tail.flatMap { $0.isWatched ? ($0, batches) : nil }
        let intake = shared.intake
        guard intake.enter() else { throw .draining }
        shared.queue.append(batches, identity: identity) { outcome in
            defer { intake.leave() }
            switch outcome {
            case .stored:
                if let (tail, batches) = shown { for batch in batches { tail.show(batch) } }
                counters.countAccepted(dialect.label, figures, since: start)
                keyCounter?.countAccepted(figures)
                answer(receipt, figures.logs)
            case .repeated(let receipt, let count):
                counters.countRepeated(dialect.label, since: start)
                answer(receipt, count)
            case .refused(let admission):
                responder.send(answers.refused(Refusal(admission), .logs(dialect), readers))
            }
        }
    }
}
