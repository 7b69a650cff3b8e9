import Logs
import Queue
import System

@testable import SQLiteQueue

/// Every log that was ever sent, each in one place, and what the ledgers must say of that.
struct LogModel {
    private(set) var logs: [ModelLog] = []
    private(set) var ledgers: [String: Ledger] = [:]
    private(set) var tally = IntakeTally()
    /// By what it is made of, so that looking one up compares every byte.
    private var byBytes: [[UInt8]: Int] = [:]
    private var order = 0

    subscript(number: Int) -> ModelLog {
        get { logs[number] }
        set { logs[number] = newValue }
    }

    mutating func make(_ stream: StreamKey, stamp: Int64, filling: Int) -> Int {
        let log = ModelLog(logs.count, stream, stamp: stamp, filling: filling)
        logs.append(log)
        byBytes[log.bytes] = log.number
        return log.number
    }

    mutating func accept(_ number: Int, as place: ModelLog.Place, _ now: WallTime) {
        logs[number].received = now
        ledgers[logs[number].stream.destination, default: Ledger()].accepted += 1
        move(number, to: place, now)
    }

    mutating func count(_ tally: IntakeTally) { self.tally += tally }

    /// Logs of an optional batch that found no room.
    mutating func skip(_ count: Int, of destination: String) {
        ledgers[destination, default: Ledger()].skipped += Int64(count)
    }

    /// Accepted and discarded without ever having been here.
    mutating func drop(_ count: Int, of destination: String) {
        ledgers[destination, default: Ledger()].accepted += Int64(count)
        ledgers[destination, default: Ledger()].discarded += Int64(count)
    }

    mutating func move(_ number: Int, to place: ModelLog.Place, _ now: WallTime) {
        let destination = logs[number].stream.destination
        if let account = logs[number].place.account {
            ledgers[destination, default: Ledger()][keyPath: account] -= 1
        }
        if let account = place.account {
            ledgers[destination, default: Ledger()][keyPath: account] += 1
        }
        logs[number].place = place
        logs[number].packet = nil
        if place == .dead { logs[number].died = now }
        if place == .queued {
            order += 1
            logs[number].order = order
            logs[number].received = now
            logs[number].parent = nil
            logs[number].isLoose = false
        }
    }

    /// Its packet is gone, and it waits for another.
    mutating func release(_ number: Int) {
        logs[number].parent = logs[number].packet
        logs[number].packet = nil
    }

    mutating func edit(_ number: Int, filling: Int) {
        byBytes[logs[number].bytes] = nil
        logs[number].edit(filling: filling)
        byBytes[logs[number].bytes] = number
    }

    /// SLS was too late for it: from now on it has another time.
    mutating func rewrite(_ number: Int, _ now: WallTime) {
        byBytes[logs[number].bytes] = nil
        logs[number].rewrittenTo = now.seconds
    }

    func all(_ place: ModelLog.Place, of destination: String? = nil) -> [Int] {
        logs.filter {
            $0.place == place && (destination == nil || $0.stream.destination == destination)
        }.map(\.number)
    }

    /// Which logs these are; what nobody sent fails.
    mutating func numbers(_ blocks: [StoredBlock]) throws -> [Int] {
        var found: [Int] = []
        for block in blocks {
            let raw = try LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
            try raw.withUnsafeBytes { bytes in
                var walk = LogEntries(bytes)
                while let range = try walk.next() { found.append(try number(Array(bytes[range]))) }
            }
        }
        return found
    }

    mutating func number(_ bytes: [UInt8]) throws -> Int {
        if let number = byBytes[bytes] { return number }
        let entry = try bytes.withUnsafeBytes { try LogEntry($0) }
        let text = entry.fields.first { $0.key == "number" }?.value
        guard let number = text.flatMap({ Int($0) }), logs.indices.contains(number) else {
            throw ModelFailure("a log came that nobody sent: \(entry)")
        }
        try check(logs[number].isRewritten(to: entry), "log \(number) changed to \(entry)")
        byBytes[bytes] = number
        logs[number].bytes = bytes
        logs[number].revision += 1
        logs[number].rewrittenTo = nil
        logs[number].stamp = Int64(entry.time.seconds)
        return number
    }
}

extension ModelLog.Place {
    fileprivate var account: WritableKeyPath<Ledger, Int64>? {
        switch self {
        case .unknown: nil
        case .queued: \.queued
        case .delivered: \.delivered
        case .dead: \.dead
        case .expired: \.expired
        case .discarded: \.discarded
        }
    }
}
