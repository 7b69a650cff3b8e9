import HTTP
import Logs
import Queue
import System

extension DeviceHandler {
    /// Logs of one request that may become dead letters: each is a row of its own, in one transaction.
    private static let doomedMax = 10_000

    /// Reads the body into a batch, stores it, and answers once that is durable.
    func take(
        _ head: RequestHead,
        _ route: DeviceRoute,
        _ body: UnsafeRawBufferPointer,
        _ responder: Responder
    ) throws(Refusal) {
        let start = Moment.now
        let target = try admittedTarget(of: route, head)
        let key = shared.recognizesRepeats ? try head.idempotencyKey : nil
        defer { reader.forget() }
        let content = try reader.content(of: body, head)
        var taken = try read(content, target, timing(head), isNamed: key != nil)
        if let key { taken.name(key, content: content, target) }
        let (answers, counters, receipt) = (answers, shared.counters, shared.mint.next())
        let figures = IngestCounters.Figures(of: taken.logs, bodyBytes: content.count)
        let doomed = taken.logs.faulty.reduce(0) { $0 + $1.logs.count }
        guard doomed <= Self.doomedMax else { throw .tooManyDoomed(doomed, most: Self.doomedMax) }
        guard figures.logs > 0 else {
            counters.countAccepted(route, figures, since: start)
            return responder.send(answers.accepted(route, receipt: receipt, count: 0))
        }
        let identity = taken.identity.map {
            BatchIdentity(digest: $0, receipt: receipt, logs: figures.logs)
        }
        let batch = try taken.batch(target)
        // Mostly nobody looks, and then nothing is kept for them.
        let shown = shared.tail.flatMap { $0.isWatched ? ($0, batch) : nil }
        shared.queue.append([batch], identity: identity) { outcome in
            switch outcome {
            case .stored:
                if let (tail, batch) = shown { tail.show(batch) }
                counters.countAccepted(route, figures, since: start)
                responder.send(answers.accepted(route, receipt: receipt, count: figures.logs))
            case .repeated(let receipt, let count):
                counters.countRepeated(route, since: start)
                responder.send(answers.accepted(route, receipt: receipt, count: count))
            case .refused(let admission):
                responder.send(answers.refused(Refusal(admission), route))
            }
        }
    }

    private func read(
        _ content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target,
        _ timing: BatchTiming,
        isNamed: Bool
    ) throws(Refusal) -> TakenRequest {
        let rules = target.intake.rules
        do throws(LogDecodingError) {
            if let tag = target.tag {
                let logs = try reader.decoder.decodePlain(content, timing, rules)
                return TakenRequest(logs, tag: tag, target)
            }
            return TakenRequest(
                try reader.decoder.decodeTracking(content, timing, rules),
                target,
                content: shared.recognizesRepeats && !isNamed ? content : nil,
                foldedBytesMax: shared.limits.inflatedBytes * 2
            )
        } catch {
            throw Refusal(error)
        }
    }
}
