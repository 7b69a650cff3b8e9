import Logs
import Queue
import System

@testable import SQLiteQueue

/// A log as the model knows it: where it is, and nothing of how it came there.
struct ModelLog {
    enum Place: Equatable {
        case unknown
        case queued
        case delivered
        case dead
        case expired
        case discarded
    }

    let number: Int
    var stream: StreamKey
    var filling: Int
    /// The time that it says it is of.
    var stamp: Int64
    /// As it was sent, or as it must be after it was rewritten.
    var bytes: [UInt8]
    /// How often that was.
    var revision = 0
    var place = Place.unknown
    /// Logs of a stream leave in this order.
    var order = 0
    var received = WallTime(nanoseconds: 0)
    var died = WallTime(nanoseconds: 0)
    /// The packet that it is in, and the one it was in before.
    var packet: Int64?
    var parent: Int64?
    /// A rebuilt database may have put it into another packet, before or behind others.
    var isLoose = false
    /// Its row changed on the disk.
    var isDamaged = false
    /// It gets this time when it is next seen, and keeps its own as a field.
    var rewrittenTo: Int64?

    init(_ number: Int, _ stream: StreamKey, stamp: Int64, filling: Int) {
        self.number = number
        self.stream = stream
        self.stamp = stamp
        self.filling = filling
        bytes = Self.encoded(number, stamp, filling)
    }

    private static func encoded(_ number: Int, _ stamp: Int64, _ filling: Int) -> [UInt8] {
        var logs = EncodedLogs()
        logs.append(
            time: LogTime(seconds: UInt32(clamping: stamp)),
            fields: fields(number, filling)
        )
        return logs.bytes
    }

    /// The text does not compress well.
    static func fields(_ number: Int, _ filling: Int) -> [(key: String, value: String)] {
        var generator = SeededGenerator(seed: UInt64(number))
        var text: [UInt8] = []
        text.reserveCapacity(filling)
        while text.count < filling {
            let bits = generator.next()
            for shift in 0..<8 where text.count < filling {
                text.append(UInt8(33 + bits >> (shift * 8) & 63))
            }
        }
        return [("number", "\(number)"), ("text", String(decoding: text, as: UTF8.self))]
    }

    /// An operator edits it.
    mutating func edit(filling: Int) {
        self.filling = filling
        bytes = Self.encoded(number, stamp, filling)
        revision += 1
    }

    /// Whether these can be its bytes after it was rewritten.
    func isRewritten(to entry: LogEntry) -> Bool {
        var expected = Self.fields(number, filling)
        expected.append(("__original_time__", "\(stamp)"))
        return rewrittenTo == Int64(entry.time.seconds)
            && entry.fields.elementsEqual(expected) { $0.key == $1.key && $0.value == $1.value }
    }

    /// Whether SLS would refuse it for its time.
    func isLate(_ now: WallTime) -> Bool {
        let window = TimeWindow.sls
        return stamp < now.seconds - window.past.components.seconds
            || stamp > now.seconds + window.future.components.seconds
    }
}
