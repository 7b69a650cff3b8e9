import Foundation

/// The built `sluice`, run as a process of its own and ended with this value.
final class Program {
    struct Outcome {
        /// A negative number is the signal that ended it.
        let exitCode: Int32
        let output: String
        let errors: String
    }

    /// Beside the test bundle, where the build puts every product.
    static let path: String = {
        var directory = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        while directory.path != "/" {
            directory.deleteLastPathComponent()
            let program = directory.appendingPathComponent("sluice").path
            var isDirectory: ObjCBool = false
            if FileManager.default.fileExists(atPath: program, isDirectory: &isDirectory),
                !isDirectory.boolValue
            {
                return program
            }
        }
        return "sluice"
    }()

    /// Of this process's environment the program has what a sanitizer is told: where its reports go.
    private static let told = ProcessInfo.processInfo.environment.filter { name, _ in
        name.hasSuffix("SAN_OPTIONS") || name == "SWIFT_BACKTRACE"
    }

    private let process = Process()
    /// Standard output: what it says to people.
    let output = LineReader()
    /// Standard error: the journal, and what is wrong.
    let errors = LineReader()

    init(
        _ arguments: [String],
        environment: [String: String] = [:],
        in directory: String? = nil,
        writingTo file: FileHandle? = nil
    ) throws {
        process.executableURL = URL(fileURLWithPath: Self.path)
        process.arguments = arguments
        process.environment = Self.told.merging(environment) { $1 }
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        process.standardOutput = file ?? output.pipe
        process.standardError = errors.pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    var identifier: Int32 { process.processIdentifier }

    deinit {
        if process.isRunning { signal(SIGKILL) }
        // It holds itself until its end was waited for.
        process.waitUntilExit()
    }

    func signal(_ number: CInt) {
        kill(process.processIdentifier, number)
    }

    /// Waits for the end without reading what it still says; the exit code, or the signal as a negative number.
    func ended() -> Int32 {
        process.waitUntilExit()
        let status = process.terminationStatus
        return process.terminationReason == .exit ? status : -status
    }

    /// Waits for the end.
    func finished() -> Outcome {
        LineReader.readAll([output, errors])
        let (output, errors) = (output.all(), errors.all())
        return Outcome(exitCode: ended(), output: output, errors: errors)
    }
}
