import Configuration
import Glibc
import JSON
import Queue
import Rendering
import SQLiteQueue
import System

/// `sluice backup`: copies a queue into one file, even while the gateway runs.
struct QueueBackup {
    let inputs: ConfigurationInputs
    let path: String
    let isJSON: Bool

    func run() -> CInt {
        let found = configured(try GatewayConfiguration.findDataDirectory(inputs))
        guard let directory = found else { return ExitCode.wrong }
        do throws(QueueError) {
            guard path != "-" else { return try send(directory) }
            let report = try Backup.run(directory, to: path)
            Terminal.say(View.backup.line(Self.document(report, path), asJSON: isJSON))
            return ExitCode.fine
        } catch {
            Terminal.complain("sluice: \(error)")
            return ExitCode.failed
        }
    }

    /// Writes the copy to standard output, for containers in which a file could not be deleted
    /// later.
    private func send(_ directory: String) throws(QueueError) -> CInt {
        let copy = "\(directory)/queue.backup-\(getpid()).db"
        defer { unlink(copy) }
        let report = try Backup.run(directory, to: copy)
        let descriptor = open(copy, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw QueueError(.io, "\(copy) cannot be read back; check the disk.")
        }
        defer { close(descriptor) }
        // Unlinked early, so that no file remains if the reader stops.
        unlink(copy)
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        var sent = 0
        while true {
            let count = piece.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress, $0.count)
            }
            guard count > 0, Terminal.say(bytes: Array(piece[..<count])) else { break }
            sent += count
        }
        let reason = String(cString: strerror(errno))
        guard sent == report.bytes else {
            let part = "only \(sent) of \(report.bytes) bytes"
            Terminal.complain("sluice: \(part) were written: \(reason)")
            return ExitCode.failed
        }
        Terminal.complain(View.backup.line(Self.document(report, "-"), asJSON: isJSON))
        return ExitCode.fine
    }

    static func document(_ report: InspectionReport, _ path: String) -> String {
        JSONWriter { json in
            json.member("path", path)
            json.member("schema", report.schema)
            json.member("bytes", report.bytes)
            json.member("logs", report.logs)
            json.member("dead_letters", report.deadLetters)
        }.text
    }
}

extension GatewayConfiguration {
    /// The data directory of a gateway with the same file, options and variables. Other settings
    /// may be wrong.
    static func findDataDirectory(
        _ described: ConfigurationInputs
    ) throws(ConfigurationProblems) -> String {
        var inputs = described
        inputs.readsCertificates = false
        let report = ProblemReport(inputs)
        let document = report.document()
        guard report.problems.isEmpty else { throw report.sorted }
        var file = Section(document, path: "", report: report)
        let named = file.value("data_dir", .path, dataDirectorySource)
        guard report.problems.isEmpty else { throw report.sorted }
        // Searched in the order of the commands for a gateway: a sandbox uses the working
        // directory.
        return named ?? usualDataDirectories.first { access("\($0)/queue.db", F_OK) == 0 }
            ?? usualDataDirectory
    }
}

/// `sluice fsck`: reads a whole queue and reports its faults.
struct QueueCheck {
    let path: String
    let isJSON: Bool

    func run() -> CInt {
        do throws(QueueError) {
            let report = try Inspection.run(path)
            Terminal.say(View.queueCheck.line(Self.document(report), asJSON: isJSON))
            return report.isFine ? ExitCode.fine : ExitCode.failed
        } catch {
            Terminal.complain("sluice: \(error)")
            return ExitCode.failed
        }
    }

    static func document(_ report: InspectionReport) -> String {
        JSONWriter { json in
            json.member("path", report.path)
            json.member("fine", report.isFine)
            json.member("schema", report.schema)
            json.member("bytes", report.bytes)
            json.member("log_bytes", report.logBytes)
            json.member("streams", report.streams)
            json.member("packets", report.packets)
            json.member("rows", report.rows)
            json.member("logs", report.logs)
            json.member("dead_letters", report.deadLetters)
            json.member("remembered_requests", report.repeats)
            json.object("intake") { $0.intake(report.intake) }
            json.object("ledgers") { json in
                for (name, ledger) in report.ledgers.sorted(by: { $0.key < $1.key }) {
                    json.object(name) { $0.ledger(ledger) }
                }
            }
            json.objects("findings", report.findings) { json, finding in
                json.member("fault", finding.fault.rawValue)
                json.member("count", finding.count)
                json.member("text", finding.text)
            }
        }.text
    }
}
