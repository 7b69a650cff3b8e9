import Foundation
import TestSupport

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

    /// Of this process's environment the program has what a sanitizer is told: where its reports
    /// go.
    private static let told = ProcessInfo.processInfo.environment.filter { name, _ in
        name.hasSuffix("SAN_OPTIONS") || name == "SWIFT_BACKTRACE"
    }

    private let process: ChildProcess
    /// Standard output: what it says to people.
    let output: LineReader
    /// Standard error: the journal, and what is wrong.
    let errors: LineReader

    init(
        _ arguments: [String],
        environment: [String: String] = [:],
        in directory: String? = nil,
        writingTo file: FileHandle? = nil
    ) throws {
        process = try ChildProcess(
            [Self.path] + arguments,
            environment: Self.told.merging(environment) { $1 },
            in: directory,
            output: file.map { .descriptor($0.fileDescriptor) } ?? .pipe,
            errors: .pipe
        )
        output = LineReader(process.output)
        errors = LineReader(process.errors)
    }

    var identifier: Int32 { process.id }

    func signal(_ number: CInt) {
        process.signal(number)
    }

    /// Waits for the end without reading what it still says; the exit code, or the signal as a
    /// negative number.
    func ended() -> Int32 {
        process.wait()
    }

    /// Waits for the end.
    func finished() -> Outcome {
        LineReader.readAll([output, errors])
        let (output, errors) = (output.all(), errors.all())
        return Outcome(exitCode: ended(), output: output, errors: errors)
    }
}
