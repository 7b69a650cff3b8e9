import Logs
import Queue
import SQLite

extension OpenStore {
    /// Of what SLS takes in one request, nothing would be left for others.
    static let letterBytesMax = 10 << 20

    func replace(
        _ id: Int64,
        with edit: DeadLetterEdit
    ) throws(SQLiteError) -> DeadLetterEditOutcome {
        guard let old = try database.dead.queries.letter(id) else { return .notFound }
        guard let log = Self.edited(old.letter, edit) else { return .unreadable }
        guard log.count <= Self.letterBytesMax else {
            return .tooLarge(bytesMax: Self.letterBytesMax)
        }
        let stream = old.record.stream
        if let logstore = configuration.rules(stream.destination).logstore,
            let wanted = edit.logstore, wanted != logstore
        {
            return .otherLogstore(logstore)
        }
        let record = DeadRecord(
            id: id,
            stream: StreamKey(
                destination: stream.destination,
                logstore: edit.logstore ?? stream.logstore,
                trailer: edit.trailer ?? stream.trailer
            ),
            received: old.record.received,
            died: old.record.died,
            reason: old.record.reason,
            log: log
        )
        let destination = destination(stream.destination)
        let more = record.cost - old.cost
        if more > 0, let refusal = refusal(destination, more: more, margins: false) {
            return .refused(refusal)
        }
        try database.write()
        try database.dead.replace(with: record)
        deadSums.add(
            DeadLetterSum(
                destination: stream.destination,
                code: record.reason.code,
                letters: 0,
                bytes: more,
                latest: record.died
            )
        )
        count(destination, letters: 0, cost: more)
        return .replaced(
            DeadLetter(
                id: id,
                stream: record.stream,
                received: record.received,
                died: record.died,
                reason: record.reason,
                cost: record.cost,
                log: EncodedLogs(bytes: log, count: 1)
            )
        )
    }

    private static func edited(_ letter: DeadLetter, _ edit: DeadLetterEdit) -> [UInt8]? {
        if edit.time == nil, edit.fields == nil { return letter.log?.bytes }
        let content = letter.content
        guard let time = edit.time ?? content?.time,
            let fields = edit.fields ?? content?.fields
        else { return nil }
        var log = EncodedLogs()
        log.append(time: time, fields: fields)
        return log.bytes
    }
}
