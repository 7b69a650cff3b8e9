import Delivery
import Ingest
import JSON
import Logs
import Queue
import System

/// Dead letters as text and as JSON.
enum DeadLetterText {
    /// One line per letter; the first page begins with the sums.
    static func list(_ page: LetterList.Page, _ sums: [DeadLetterSum], isFirst: Bool) -> String {
        var lines: [String] = []
        if isFirst {
            lines += page.missing.sorted().map {
                "\($0) did not answer; its dead letters are not listed"
            }
            guard !sums.isEmpty else {
                return (lines + ["no dead letters"]).map { $0 + "\n" }.joined()
            }
            lines += sums.map { sum in
                "\(sum.letters) of \(sum.destination) died of \(printable(sum.code)) "
                    + "(\(roughSize(sum.bytes)), the last \(sum.latest.rfc3339))"
            }
            lines.append("")
        }
        return (lines + page.rows.texts).map { $0 + "\n" }.joined()
    }

    /// One letter in one line.
    static func row(_ letter: DeadLetter, _ name: LetterName) -> String {
        "\(name)  \(letter.died.rfc3339)  \(letter.stream.destination)/\(letter.stream.logstore)  "
            + "\(letter.reason.summary)"
            + (letter.replays > 0 ? " (replayed \(times(letter.replays)))" : "")
    }

    /// A captured request with a log that became the letter.
    typealias CapturedRecord = (capture: String, record: Int)

    private static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }

    /// One letter with all its details.
    static func page(
        _ letter: DeadLetter,
        _ name: LetterName,
        _ records: [CapturedRecord]
    ) -> [LetterPieces.Part] {
        let (stream, reason) = (letter.stream, letter.reason)
        var lines = [
            "dead letter  \(name)",
            "for          \(stream.destination)/\(stream.logstore)",
            letter.lastReplay.map {
                "replayed     \(times(letter.replays)), last at \($0.rfc3339)"
            } ?? "accepted     \(letter.received.rfc3339)",
            "died         \(letter.died.rfc3339)",
            "of           \(reason.summary)",
        ]
        lines += records.map { "captured     capture \($0.capture), record \($0.record)" }
        if let id = reason.requestID { lines.append("request id   \(id)") }
        if let code = ErrorCode.known(reason.code) { lines.append("remedy       \(code.remedy)") }
        lines.append("log          ")
        let head: LetterPieces.Part = .written(lines.joined(separator: "\n")[...])
        guard let entry = letter.content else {
            return [head, .written("damaged on disk; purge it or replace it")]
        }
        return [head] + parts(entry)
    }

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

extension DeathReason {
    /// "400 PostBodyInvalid: a log is …"
    fileprivate var summary: String {
        printable((status.map { "\($0) " } ?? "") + "\(code): \(message)")
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
