import Foundation
import TestSupport

/// Reads what a program says line by line, so that tests wait for that and not for time to pass.
final class LineReader {
    private var end: PipeEnd?
    private var unread = Data()
    /// Everything read so far.
    private(set) var lines: [String] = []

    /// Nothing is read from a stream that went elsewhere.
    init(_ end: PipeEnd?) {
        self.end = end
    }

    func close() {
        end?.close()
        end = nil
    }

    /// The next line; nil at the end.
    func next() -> String? {
        while true {
            if let end = unread.firstIndex(of: 10) {
                let line = String(decoding: unread[..<end], as: UTF8.self)
                unread = Data(unread[unread.index(after: end)...])
                lines.append(line)
                return line
            }
            guard readMore() else { return nil }
        }
    }

    /// Waits for something; false at the end, and where a program says nothing for two minutes: a
    /// test fails then, instead of waiting for ever.
    private func readMore() -> Bool {
        var descriptor = pollfd(fd: end?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, 120_000) != 0 else { return false }
        let more = end?.read() ?? []
        unread.append(contentsOf: more)
        return !more.isEmpty
    }

    /// Reads several to their ends, whichever of them has something: who writes much to one waits
    /// for it to be read.
    static func readAll(_ readers: [LineReader]) {
        var open = readers.filter { $0.end != nil }
        while !open.isEmpty {
            var descriptors = open.map {
                pollfd(fd: $0.end?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
            }
            guard poll(&descriptors, nfds_t(descriptors.count), -1) > 0 else { continue }
            open = zip(open, descriptors).filter { $1.revents == 0 || $0.readMore() }.map(\.0)
        }
    }

    /// The next line that contains all the texts; nil when there is none until the end, or for five
    /// minutes: a program may say something else for ever.
    func next(containing texts: [String]) -> String? {
        let end = Date(timeIntervalSinceNow: 300)
        while Date.now < end, let line = next() {
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
