import System

/// Keeps what is written to the journal.
struct JournalRecorder {
    let lines: Signpost<[String]>
    let journal: Journal

    init() throws {
        let lines = try Signpost<[String]>([])
        self.lines = lines
        journal = Journal(level: .debug, format: .json) { bytes in
            lines.change { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }
    }

    func count(of event: String) -> Int {
        lines.now.filter { $0.contains("\"event\":\"\(event)\"") }.count
    }
}
