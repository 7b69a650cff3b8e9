import Delivery
import Ingest
import JSON
import Logs
import Queue
import System

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

/// Writes dead letters in pieces, cut inside long values: an answer holds one piece at a time.
final class LetterPieces: Sendable {
    enum Part {
        /// Text as it is.
        case written(Substring)
        /// The content of a JSON string.
        case content(Substring)
        /// Members of an object that has one already.
        case fields(ArraySlice<(key: String, value: String)>)
        /// A JSON line.
        case letter(DeadLetter, LetterName)
    }

    /// The text that is escaped at a time. A control character becomes six bytes.
    private static let bytesMax = 64 << 10

    /// The next one is the last.
    private let parts: Locked<[Part]>

    init(_ parts: [Part]) {
        self.parts = Locked(parts.reversed())
    }

    /// nil: all is written.
    func next() -> [UInt8]? {
        parts.withLock { parts in
            var piece: [UInt8] = []
            while piece.count < Self.bytesMax, let part = parts.popLast() {
                switch part {
                case .written(let text):
                    let (beginning, rest) = Self.cut(text)
                    piece += beginning.utf8
                    if !rest.isEmpty { parts.append(.written(rest)) }
                case .content(let text):
                    let (beginning, rest) = Self.cut(text)
                    var escaped = beginning
                    escaped.withUTF8 { appendJSONEscaped(UnsafeRawBufferPointer($0), to: &piece) }
                    if !rest.isEmpty { parts.append(.content(rest)) }
                case .fields(let fields):
                    guard let (key, value) = fields.first else { continue }
                    parts += [
                        .fields(fields.dropFirst()), .written("\""), .content(value[...]),
                        .written("\":\""), .content(key[...]), .written(",\""),
                    ]
                case .letter(let letter, let name):
                    parts.append(.written("\n"))
                    parts += DeadLetterDocument.document(letter, name, nil).reversed()
                }
            }
            return piece.isEmpty ? nil : piece
        }
    }

    /// Everything at once; nil where that is longer.
    func all(atMost bytesMax: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while let piece = next() {
            bytes += piece
            guard bytes.count <= bytesMax else { return nil }
        }
        return bytes
    }

    private static func cut(_ text: Substring) -> (Substring, Substring) {
        guard text.utf8.count > bytesMax else { return (text, "") }
        var end = text.utf8.index(text.startIndex, offsetBy: bytesMax)
        while text.utf8[end] & 0xC0 == 0x80 { end = text.utf8.index(before: end) }
        return (text[..<end], text[end...])
    }
}
