/// The logs of one body, by the keys of their streams. Logs of one stream need not stand together.
struct PartedLogs<Key: Hashable> {
    private(set) var parts: [(key: Key, logs: DecodedLogs)] = []
    private var indices: [Key: Int] = [:]
    private var last = 0
    /// How many streams there may be.
    private let most: Int

    init(atMost most: Int) {
        self.most = most
    }

    /// Where the logs of a stream are; nil when it is one stream too many. Mostly it is the stream
    /// of the log before.
    mutating func index(of key: Key) -> Int? {
        if last < parts.count, parts[last].key == key { return last }
        if let known = indices[key] {
            last = known
        } else {
            guard parts.count < most else { return nil }
            last = parts.count
            indices[key] = last
            parts.append((key, DecodedLogs()))
        }
        return last
    }

    /// Moves the written logs to those at an index.
    mutating func take(from writer: inout LogWriter, at index: Int) {
        writer.move(to: &parts[index].logs)
    }
}
