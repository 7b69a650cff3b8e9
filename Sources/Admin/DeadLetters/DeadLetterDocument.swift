import Delivery
import Ingest
import JSON
import Logs
import Queue
import System

/// Dead letters as JSON.
enum DeadLetterDocument {
    /// A captured request with a log that became the letter.
    typealias CapturedRecord = (capture: String, record: Int)

    /// One letter, with the captured requests that it comes from if they are given.
    static func document(
        _ letter: DeadLetter,
        _ name: LetterName,
        _ records: [CapturedRecord]?
    ) -> [LetterPieces.Part] {
        var json = JSONWriter()
        json.object { json in
            json.deadLetter(letter, name)
            guard let records else { return }
            json.member("remedy", ErrorCode.known(letter.reason.code)?.remedy)
            json.objects("captures", records) { json, record in
                json.member("id", record.capture)
                json.member("record", record.record)
            }
        }
        let head: LetterPieces.Part = .written(json.text.dropLast() + ",\"log\":")
        return [head] + (letter.content.map(parts) ?? [.written("null")]) + [.written("}")]
    }

    /// One JSON object without a line break, with the beginning of a long log.
    static func line(_ letter: DeadLetter, _ name: LetterName) -> String {
        var json = JSONWriter()
        json.object { json in
            json.deadLetter(letter, name)
            guard let entry = letter.content else { return json.member("log", nil as String?) }
            json.object("log") { $0.log(entry.beginning) }
        }
        return json.text
    }

    /// The log as a device would send it, which is also the body of an edit.
    private static func parts(_ entry: LogEntry) -> [LetterPieces.Part] {
        var json = JSONWriter()
        json.object { $0.log(LogEntry(time: entry.time, fields: [])) }
        return [.written(json.text.dropLast()), .fields(entry.fields[...]), .written("}")]
    }
}

extension JSONWriter {
    /// A page of letters; the first one has the sums.
    mutating func letters(_ page: LetterList.Page, _ sums: [DeadLetterSum]) {
        objects("sums", sums) { json, sum in
            json.member("destination", sum.destination)
            json.member("code", sum.code)
            json.member("letters", sum.letters)
            json.member("bytes", sum.bytes)
            json.member("latest", sum.latest.rfc3339)
        }
        texts("missing", page.missing.sorted())
        array("dead_letters") { json in page.rows.texts.forEach { json.element(written: $0) } }
        letter("next", page.next)
    }

    /// A number without a cluster, and a text in one. Nil is null.
    mutating func letter(_ key: String, _ name: LetterName?) {
        guard let name, name.shard == nil else { return member(key, name?.description) }
        member(key, name.number)
    }

    /// The same in an array.
    mutating func element(_ name: LetterName) {
        if name.shard == nil { element(name.number) } else { element(name.description) }
    }

    fileprivate mutating func deadLetter(_ letter: DeadLetter, _ name: LetterName) {
        let (stream, reason) = (letter.stream, letter.reason)
        self.letter("id", name)
        member("destination", stream.destination)
        member("logstore", stream.logstore)
        member("topic", stream.trailer.topic)
        member("source", stream.trailer.source)
        object("tags") { json in
            for (key, value) in stream.trailer.tags { json.member(key, value) }
        }
        member("accepted", letter.received.rfc3339)
        member("died", letter.died.rfc3339)
        member("replays", letter.replays)
        member("last_replay", letter.lastReplay?.rfc3339)
        member("code", reason.code)
        member("message", reason.message)
        if let status = reason.status { member("status", status) }
        member("request_id", reason.requestID)
        member("bytes", letter.cost)
    }
}
