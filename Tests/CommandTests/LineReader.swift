import Foundation

/// Reads a pipe line by line, so that tests wait for what a program says and not for time to pass.
final class LineReader {
    let pipe = Pipe()
    private var unread = Data()
    /// Everything read so far.
    private(set) var lines: [String] = []

    /// The next line; nil at the end.
    func next() -> String? {
        while true {
            if let end = unread.firstIndex(of: 10) {
                let line = String(decoding: unread[..<end], as: UTF8.self)
                unread = Data(unread[unread.index(after: end)...])
                lines.append(line)
                return line
            }
            let more = pipe.fileHandleForReading.availableData
            guard !more.isEmpty else { return nil }
            unread.append(more)
        }
    }

    /// The next line that contains all the texts; nil when there is none until the end.
    func next(containing texts: [String]) -> String? {
        while let line = next() {
            if texts.allSatisfy({ line.contains($0) }) { return line }
        }
        return nil
    }

    /// All that was ever written; waits for the end.
    func all() -> String {
        while next() != nil {}
        return lines.map { $0 + "\n" }.joined() + String(decoding: unread, as: UTF8.self)
    }
}
