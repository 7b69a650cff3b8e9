import JSON
import Logs
import Queue
import System

/// A log as an event of the tail. It fits into what a stream may hold, so of a large log it has the
/// beginning of each field, with a mark that tells the field's size.
enum TailEvent {
    /// A stream holds 256 KiB at most. The rest is for the notices between logs.
    static let bytesMax = 224 << 10
    /// The most that escaping makes of one byte: "\u001b".
    private static let escapedMax = 6

    /// `size` is the number of bytes that the encoded log has.
    static func bytes(_ stored: LogEntry, size: Int, of key: StreamKey) -> [UInt8] {
        let entry = masked(stored)
        var json = JSONWriter()
        json.object { json in
            json.stream(key)
            // What is written so far, and some for the names and numbers of the rest.
            let budget = Self.bytesMax - json.bytes.count - 256
            guard size > budget / Self.escapedMax,
                let cut = CutLog(entry, of: stored, budget: budget)
            else {
                return json.object("log") { $0.log(entry) }
            }
            json.object("cut") { json in
                json.member("bytes", size)
                json.member("fields", cut.fieldsLeftOut)
            }
            json.object("log") { $0.log(cut.entry) }
        }
        // Our JSON has no line breaks, so it is one line of an event.
        return Array("data: ".utf8) + json.bytes + Array("\n\n".utf8)
    }

    /// The log without known secrets. What of a value no event has room for is left out before, so
    /// that masking is bounded.
    private static func masked(_ stored: LogEntry) -> LogEntry {
        let fields = stored.fields.map { name, value in
            let isCut = value.utf8.count > bytesMax
            let shown = Mask.hidingKnownSecrets(in: value.prefix(bytes: bytesMax), isCut: isCut)
            return (
                key: Mask.hidingKnownSecrets(in: name),
                value: isCut ? CutLog.marked(shown, of: value.utf8.count) : shown
            )
        }
        return LogEntry(time: stored.time, fields: fields)
    }
}

/// The beginning of each field of a log that is too large to be shown.
struct CutLog {
    let entry: LogEntry
    /// Fields left out because the event has no room for any part of them.
    let fieldsLeftOut: Int

    private static let nameBytesMax = 256
    /// So much of each field is shown, or the field is left out.
    private static let beginning = 64
    /// For what follows a cut text.
    private static let markBytes = 48
    /// Quotes, colon and comma of a field.
    private static let frameBytes = 6

    /// nil when the log as JSON fits into the budget as it is. `stored` is the log before it was
    /// masked.
    init?(_ entry: LogEntry, of stored: LogEntry, budget: Int) {
        let sizes = entry.fields.map {
            (name: $0.key.quotedSize(upTo: budget), value: $0.value.quotedSize(upTo: budget))
        }
        let whole = sizes.reduce(0) { $0 + $1.name + $1.value + Self.frameBytes }
        guard whole > budget else { return nil }
        var (room, kept) = (budget, 0)
        for size in sizes {
            let least =
                Self.least(size.name, Self.nameBytesMax) + Self.frameBytes
                + Self.least(size.value, Self.beginning)
            guard least <= room else { break }
            room -= least
            kept += 1
        }
        let names = sizes.prefix(kept).reduce(0) {
            $0 + Self.least($1.name, Self.nameBytesMax) + Self.frameBytes
        }
        let share = Self.share(sizes.prefix(kept).map(\.value), of: budget - names)
        let fields = zip(entry.fields, stored.fields).prefix(kept).map { shown, stored in
            (
                key: Self.cut(
                    shown.key,
                    of: stored.key.utf8.count,
                    to: Self.nameBytesMax + Self.markBytes
                ),
                value: Self.cut(shown.value, of: stored.value.utf8.count, to: share)
            )
        }
        self.entry = LogEntry(time: entry.time, fields: fields)
        fieldsLeftOut = entry.fields.count - kept
    }

    /// What a text of this size takes at least.
    private static func least(_ size: Int, _ shown: Int) -> Int { min(size, shown + markBytes) }

    /// The most that one value may take: short ones are whole and leave their room to the long
    /// ones.
    private static func share(_ sizes: [Int], of room: Int) -> Int {
        var (room, left) = (room, sizes.count)
        for size in sizes.sorted() {
            guard size <= room / left else { return room / left }
            room -= size
            left -= 1
        }
        return .max
    }

    private static func cut(_ text: String, of size: Int, to bytes: Int) -> String {
        guard text.quotedSize(upTo: bytes) > bytes else { return text }
        var room = bytes - markBytes
        let beginning = text.unicodeScalars.prefix { scalar in
            room -= scalar.quotedSize
            return room >= 0
        }
        return marked(String(beginning), of: size)
    }

    /// The beginning of a text with a mark that tells the size of the whole.
    static func marked(_ beginning: String, of size: Int) -> String {
        "\(beginning)… [cut, \(size) bytes]"
    }
}

extension String {
    /// The bytes that the text takes in JSON, without its quotes. Stops counting above `most`.
    fileprivate func quotedSize(upTo most: Int) -> Int {
        var size = 0
        for scalar in unicodeScalars {
            size += scalar.quotedSize
            if size > most { break }
        }
        return size
    }
}

extension Unicode.Scalar {
    /// As `JSONWriter` escapes it.
    fileprivate var quotedSize: Int {
        switch self {
        case "\"", "\\", "\n", "\r", "\t": 2
        case ..<" ", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200E}"..."\u{200F}",
            "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}":
            6
        default: UTF8.width(self)
        }
    }
}
