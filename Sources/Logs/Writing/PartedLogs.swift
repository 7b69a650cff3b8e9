/// The logs of one body, by the keys of their streams. Logs of one stream need not stand together.
struct PartedLogs<Key: Hashable> {
    private(set) var parts: [(key: Key, logs: DecodedLogs)] = []
    private var indices: [Key: Int] = [:]
    private var last = 0
    private let most: Int

    init(atMost most: Int) {
        self.most = most
    }

    /// Where a stream's logs are, mostly those of the log before; nil for one stream too many.
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
