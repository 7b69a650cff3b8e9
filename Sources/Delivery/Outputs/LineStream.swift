import Configuration
import Glibc
import System

/// Writes lines to a descriptor whose reader may be slow, stuck or gone: standard output. For one
/// thread.
final class LineStream: LineWriter {
    private let descriptor: CInt
    private let patience: Duration
    /// A text whose writing has stopped in the middle.
    private var unfinished: (text: [UInt8], written: Int)?

    /// Above it, a write may wait although `poll` says that the pipe takes something (PIPE_BUF).
    private static let pieceBytes = 4096
    /// How often a wait looks whether the gateway stops.
    private static let pollPause: Duration = .milliseconds(200)

    /// It gives up after waiting so long for the reader to take anything.
    init(_ descriptor: CInt = STDOUT_FILENO, patience: Duration = .seconds(5)) {
        self.descriptor = descriptor
        self.patience = patience
    }

    func write(_ texts: [[UInt8]], isEnding: () -> Bool) -> [WriteProblem?] {
        var problem: WriteProblem?
        return texts.map { text in
            // The reader is no faster for the next one.
            if problem == nil {
                do throws(WriteProblem) {
                    try write(text, isEnding)
                } catch {
                    problem = error
                }
            }
            return problem
        }
    }

    func tend() -> Duration? { nil }
    func use(_ settings: Destination) {}

    private func write(_ text: [UInt8], _ isEnding: () -> Bool) throws(WriteProblem) {
        var start = 0
        if let unfinished {
            if unfinished.text == text {
                // The same packet once more: what the reader has of it need not come again.
                start = unfinished.written
            } else {
                try finishLine(isEnding)
            }
        }
        try push(text, from: start, to: text.count, isEnding)
        unfinished = nil
    }

    /// Nothing else may stand in a line that has begun.
    private func finishLine(_ isEnding: () -> Bool) throws(WriteProblem) {
        guard let (text, written) = unfinished, written > 0 else { return }
        let newline = UInt8(ascii: "\n")
        guard text[written - 1] != newline, let end = text[written...].firstIndex(of: newline)
        else { return }
        try push(text, from: written, to: end + 1, isEnding)
        unfinished = nil
    }

    private func push(
        _ text: [UInt8],
        from start: Int,
        to end: Int,
        _ isEnding: () -> Bool
    ) throws(WriteProblem) {
        var written = start
        do throws(SystemError) {
            var deadline = Moment.now + patience
            while written < end {
                guard try isReady() else {
                    if Moment.now >= deadline || isEnding() { break }
                    continue
                }
                let outcome = try write(text, written..<min(end, written + Self.pieceBytes))
                guard case .done(let taken) = outcome else { continue }
                written += taken
                deadline = .now + patience
            }
        } catch {
            unfinished = (text, written)
            throw WriteProblem(error, "standard output")
        }
        guard written < end else { return }
        unfinished = (text, written)
        throw WriteProblem(
            code: "STUCK",
            message: "standard output: its reader has taken nothing for \(durationText(patience))",
            remedy: "look after the program that reads the gateway's standard output"
        )
    }

    private func write(_ text: [UInt8], _ range: Range<Int>) throws(SystemError) -> Outcome {
        try text.span.extracting(range).bytes.withUnsafeBytes { piece throws(SystemError) in
            try attempt("write") { Glibc.write(descriptor, piece.baseAddress, piece.count) }
        }
    }

    private func isReady() throws(SystemError) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        let milliseconds = CInt(Self.pollPause.milliseconds)
        // A broken pipe counts as ready: the write tells what is wrong.
        return try system("poll") { poll(&entry, 1, milliseconds) } > 0
    }
}
