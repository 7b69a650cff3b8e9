import Foundation
import System

/// The built `sluice`, run as a process of its own.
///
/// What it writes to standard error is read line by line, so that tests wait for events and not for
/// time to pass.
final class Program {
    static let path = Bundle.main.executableURL!
        .deletingLastPathComponent().appendingPathComponent("sluice").path

    private let process = Process()
    private let errors = Pipe()
    private let output = Pipe()
    private var unread = Data()
    private(set) var errorLines: [String] = []

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: Self.path)
        process.arguments = arguments
        process.environment = environment
        process.standardError = errors
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        if process.isRunning { kill(SIGKILL) }
    }

    var identifier: pid_t { process.processIdentifier }

    func kill(_ signal: CInt) {
        _ = Glibc.kill(process.processIdentifier, signal)
    }

    /// Waits for the end; a negative number is the signal that ended it.
    func exitCode() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .exit
            ? process.terminationStatus : -process.terminationStatus
    }

    /// All that it printed to standard output; waits until it ends.
    func printed() -> String {
        String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    /// All that it wrote to standard error from here on; waits until it ends.
    func complaints() -> String {
        while nextErrorLine() != nil {}
        return errorLines.joined(separator: "\n")
    }

    /// The next line of standard error that contains all the texts; nil when it ended without one.
    func line(containing texts: String...) -> String? {
        while let line = nextErrorLine() {
            if texts.allSatisfy({ line.contains($0) }) { return line }
        }
        return nil
    }

    private func nextErrorLine() -> String? {
        while true {
            if let end = unread.firstIndex(of: 10) {
                let line = String(decoding: unread[unread.startIndex..<end], as: UTF8.self)
                unread = Data(unread[unread.index(after: end)...])
                errorLines.append(line)
                return line
            }
            let more = errors.fileHandleForReading.availableData
            guard !more.isEmpty else { return nil }
            unread.append(more)
        }
    }
}

/// A directory of its own for each test, gone with the value.
final class ScratchDirectory {
    let path: String

    init() {
        var template = Array("/tmp/sluice-test-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func write(_ text: String, to name: String) throws -> String {
        let file = "\(path)/\(name)"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }
}
