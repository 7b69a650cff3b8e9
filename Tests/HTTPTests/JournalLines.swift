import System

/// A journal that a test can read.
struct JournalLines {
    private let lines = Locked<[String]>([])

    func journal(_ level: Journal.Level = .debug) -> Journal {
        Journal(level: level, format: .json) { [lines] line in
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
    }

    var all: [String] { lines.withLock { $0 } }
}
