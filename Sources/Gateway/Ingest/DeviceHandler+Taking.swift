import HTTP
import Logs
import Queue
import System

extension DeviceHandler {
    /// Reads the body into a batch, stores it, and answers once that is durable.
    func take(
        _ head: RequestHead,
        _ route: DeviceRoute,
        _ body: UnsafeRawBufferPointer,
        _ responder: Responder
    ) throws(Refusal) {
        let target = try admittedTarget(of: route, head)
        defer { reader.forget() }
        let content = try reader.content(of: body, head)
        let (logs, trailer) = try read(content, target)
        let (answers, counters, bodyBytes) = (answers, shared.counters, content.count)
        let (count, receipt) = (logs.count, shared.mint.next())
        guard count > 0 else {
            counters.countAccepted(route, logs: 0, bodyBytes: bodyBytes)
            return responder.send(answers.accepted(route, receipt: receipt, count: 0))
        }
        let stream = StreamKey(
            destination: target.destination,
            logstore: target.logstore,
            trailer: trailer
        )
        shared.queue.append([Batch(stream: stream, logs: logs)]) { outcome in
            switch outcome {
            case .stored:
                counters.countAccepted(route, logs: count, bodyBytes: bodyBytes)
                responder.send(answers.accepted(route, receipt: receipt, count: count))
            case .repeated(let receipt, let count):
                counters.countAccepted(route, logs: 0, bodyBytes: bodyBytes)
                responder.send(answers.accepted(route, receipt: receipt, count: count))
            case .refused(let admission):
                responder.send(answers.refused(Refusal(admission), route))
            }
        }
    }

    private func read(
        _ content: UnsafeRawBufferPointer,
        _ target: RoutingTable.Target
    ) throws(Refusal) -> (EncodedLogs, GroupTrailer) {
        guard let tag = target.tag else {
            let tracked = try decoded { () throws(LogDecodingError) in
                try reader.decoder.decodeTracking(content, arrival: .now)
            }
            return (tracked.logs, target.labels.trailer(of: tracked))
        }
        let logs = try decoded { () throws(LogDecodingError) in
            try reader.decoder.decodePlain(content, arrival: .now)
        }
        return (logs, target.labels.trailer(tag: tag))
    }

    private func decoded<Result>(
        _ decode: () throws(LogDecodingError) -> Result
    ) throws(Refusal) -> Result {
        do throws(LogDecodingError) {
            return try decode()
        } catch {
            throw Refusal(error)
        }
    }
}
