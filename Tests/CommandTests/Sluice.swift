import Foundation

/// The built program, run as a process.
struct Sluice {
    struct Outcome {
        let exitCode: Int32
        let output: String
        let errors: String
    }

    /// Beside the test bundle, where the build puts every product.
    static let path: String = {
        let bundle =
            CommandLine.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        var directory = URL(fileURLWithPath: bundle)
        while directory.path != "/" {
            directory.deleteLastPathComponent()
            let program = directory.appendingPathComponent("sluice").path
            if FileManager.default.isExecutableFile(atPath: program),
                (try? FileManager.default.contentsOfDirectory(atPath: program)) == nil
            {
                return program
            }
        }
        return "sluice"
    }()

    let process = Process()
    private let output = Pipe()
    private let errors = Pipe()

    init(
        _ arguments: [String],
        environment: [String: String] = [:],
        in directory: String? = nil
    ) throws {
        process.executableURL = URL(fileURLWithPath: Self.path)
        process.arguments = arguments
        process.environment = environment
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        process.standardOutput = output
        process.standardError = errors
        try process.run()
    }

    /// Reads what it prints until a line contains the text; nil when it ends before.
    func line(containing text: String) -> String? {
        Self.line(containing: text, in: output)
    }

    /// As `line`, on standard error.
    func complaint(containing text: String) -> String? {
        Self.line(containing: text, in: errors)
    }

    private static func line(containing text: String, in pipe: Pipe) -> String? {
        var read = Data()
        while true {
            let more = pipe.fileHandleForReading.availableData
            guard !more.isEmpty else { return nil }
            read += more
            let end = read.lastIndex(of: UInt8(ascii: "\n")) ?? read.startIndex
            let lines = String(decoding: read[..<end], as: UTF8.self).split(separator: "\n")
            if let line = lines.first(where: { $0.contains(text) }) { return String(line) }
        }
    }

    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    func finished() -> Outcome {
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        let complained = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(
            exitCode: process.terminationReason == .exit ? process.terminationStatus : -1,
            output: String(decoding: printed, as: UTF8.self),
            errors: String(decoding: complained, as: UTF8.self)
        )
    }
}
