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

    /// A gateway with this configuration file, which may send to a sandbox.
    convenience init(serving file: String) throws {
        try self.init(["serve", "--config", file], environment: RunningSandbox.keys)
    }

    /// One that is ready.
    static func serving(_ file: String) throws -> (Program, Listeners) {
        let program = try Program(serving: file)
        guard let listeners = program.listeners() else {
            throw ProgramDidNotStart(complaints: program.errors.lines)
        }
        return (program, listeners)
    }

    @discardableResult func stopped() -> Outcome {
        signal(SIGTERM)
        return finished()
    }

    @discardableResult func killed() -> Outcome {
        signal(SIGKILL)
        return finished()
    }

    /// Waits for the end.
    func finished() -> Outcome {
        LineReader.readAll([output, errors])
        let (output, errors) = (output.all(), errors.all())
        return Outcome(exitCode: ended(), output: output, errors: errors)
    }
}

/// Where a started program can be reached.
struct Listeners {
    let devices: UInt16
    let admin: UInt16

    /// The status that the device listener answers with.
    func post(_ path: String, _ body: String) -> Int? {
        (try? TestConnection(port: devices))?.request("POST", path, body: body)?.status
    }
}

extension Program {
    /// Waits until both listeners are open; nil when the program ended instead.
    func listeners() -> Listeners? {
        guard let line = errors.next(containing: ["sluice is ready"]),
            let devices = Self.port(of: "devices", in: line),
            let admin = Self.port(of: "admin", in: line)
        else { return nil }
        return Listeners(devices: devices, admin: admin)
    }

    /// The port of the address that a line of the journal carries under a name.
    static func port(of name: String, in line: String) -> UInt16? {
        guard let field = line.range(of: "\"\(name)\":\"") else { return nil }
        let address = line[field.upperBound...].prefix { $0 != "\"" }
        return address.split(separator: ":").last.flatMap { UInt16($0) }
    }
}

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
