import Ingest
import JSON
import Logs
import Queue
import SLS
import System

/// Dead letters as text and as JSON.
enum DeadLetterText {
    /// One line per letter; the first page begins with the sums.
    static func list(_ letters: [DeadLetter], _ sums: [DeadLetterSum], isFirst: Bool) -> String {
        var lines: [String] = []
        if isFirst {
            guard !sums.isEmpty else { return "no dead letters\n" }
            lines += sums.map { sum in
                "\(sum.letters) of \(sum.destination) died of \(printable(sum.code)) "
                    + "(\(roughSize(sum.bytes)), the last \(sum.latest.rfc3339))"
            }
            lines.append("")
        }
        lines += letters.map { letter in
            "\(letter.id)  \(letter.died.rfc3339)  \(letter.stream.destination)/\(letter.stream.logstore)  "
                + "\(letter.reason.summary)"
                + (letter.replays > 0 ? " (replayed \(times(letter.replays)))" : "")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// A captured request with a log that became the letter.
    typealias CapturedRecord = (capture: String, record: Int)

    private static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }

    /// One letter with all its details.
    static func page(_ letter: DeadLetter, _ records: [CapturedRecord]) -> String {
        let (stream, reason) = (letter.stream, letter.reason)
        var lines = [
            "dead letter  \(letter.id)",
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
        lines.append(
            "log          \(logDocument(letter) ?? "damaged on disk; purge it or replace it")"
        )
        return lines.joined(separator: "\n") + "\n"
    }

    static func document(_ page: DeadLetterPage, _ sums: [DeadLetterSum]) -> String {
        var json = JSONWriter()
        json.object { json in
            json.array("sums") { json in
                for sum in sums {
                    json.object { json in
                        json.member("destination", sum.destination)
                        json.member("code", sum.code)
                        json.member("letters", sum.letters)
                        json.member("bytes", sum.bytes)
                        json.member("latest", sum.latest.rfc3339)
                    }
                }
            }
            json.array("dead_letters") { json in
                for letter in page.letters { json.object { $0.deadLetter(letter) } }
            }
            if let next = page.next {
                json.member("next", next)
            } else {
                json.member("next", nil as String?)
            }
        }
        return json.text + "\n"
    }

    /// One letter with the captured requests that it comes from.
    static func document(_ letter: DeadLetter, _ records: [CapturedRecord]) -> String {
        var json = JSONWriter()
        json.object { json in
            json.deadLetter(letter)
            json.array("captures") { json in
                for record in records {
                    json.object { json in
                        json.member("id", record.capture)
                        json.member("record", record.record)
                    }
                }
            }
        }
        return json.text + "\n"
    }

    /// One JSON object without a line break.
    static func line(_ letter: DeadLetter) -> String {
        var json = JSONWriter()
        json.object { $0.deadLetter(letter) }
        return json.text
    }

    /// The log as a device would send it, which is also the body of an edit.
    static func logDocument(_ letter: DeadLetter) -> String? {
        guard let entry = letter.content else { return nil }
        var json = JSONWriter()
        json.object { $0.log(entry) }
        return json.text
    }
}

extension DeathReason {
    /// "400 PostBodyInvalid: a log is …"
    fileprivate var summary: String {
        printable((status.map { "\($0) " } ?? "") + "\(code): \(message)")
    }
}

extension JSONWriter {
    fileprivate mutating func deadLetter(_ letter: DeadLetter) {
        let (stream, reason) = (letter.stream, letter.reason)
        member("id", letter.id)
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
        guard let entry = letter.content else { return member("log", nil as String?) }
        object("log") { $0.log(entry) }
    }
}
