package import System

/// A journal whose lines a test reads and waits for.
package struct JournalRecorder: Sendable {
    package let journal: Journal
    package let lines: SharedValue<[String]>

    package init(level: Journal.Level = .debug) {
        let lines = SharedValue<[String]>([])
        self.lines = lines
        journal = Journal(level: level, format: .json) { bytes in
            lines.change { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }
    }

    /// All lines so far.
    package var text: String { lines.now.joined() }

    /// The lines with a text.
    package func lines(containing part: String) -> [String] {
        lines.now.filter { $0.contains(part) }
    }

    package func count(of event: String) -> Int {
        lines(containing: "\"event\":\"\(event)\"").count
    }
}
