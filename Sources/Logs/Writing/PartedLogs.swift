/// The logs of one body, parted by what their streams are told apart by. Logs of one stream need not stand together.
struct PartedLogs<Key: Hashable> {
    private(set) var parts: [(key: Key, logs: DecodedLogs)] = []
    private var places: [Key: Int] = [:]
    private var last = 0
    /// How many streams there may be.
    private let most: Int

    init(atMost most: Int) {
        self.most = most
    }

    /// Where the logs of a stream are; nil when it is one stream too many. Mostly it is that of the log before.
    mutating func place(of key: Key) -> Int? {
        if last < parts.count, parts[last].key == key { return last }
        if let known = places[key] {
            last = known
        } else {
            guard parts.count < most else { return nil }
            last = parts.count
            places[key] = last
            parts.append((key, DecodedLogs()))
        }
        return last
    }

    /// Moves what is written to the logs at a place.
    mutating func take(from writer: inout LogWriter, at place: Int) {
        writer.move(to: &parts[place].logs)
    }
}

extension LogWriter {
    /// Moves what is written behind `logs`, and goes on with the same body.
    @inline(__always)
    mutating func move(to logs: inout DecodedLogs) {
        logs.sound.bytes.append(
            contentsOf: UnsafeBufferPointer(start: UnsafePointer(memory.start), count: length)
        )
        logs.sound.count += logCount
        length = 0
        logsMax -= logCount
        logCount = 0
        if excluded.count + excluded.corrected + excluded.repaired > 0 { moveExcluded(to: &logs) }
    }

    private mutating func moveExcluded(to logs: inout DecodedLogs) {
        logs.sound.count -= excluded.count
        logs.dropped += excluded.dropped
        logs.corrected += excluded.corrected
        logs.repaired += excluded.repaired
        for faulty in excluded.faulty {
            faulty.logs.bytes.withUnsafeBufferPointer {
                logs.setAside($0, count: faulty.logs.count, for: faulty.fault)
            }
        }
        excluded = DecodedLogs()
    }
}
