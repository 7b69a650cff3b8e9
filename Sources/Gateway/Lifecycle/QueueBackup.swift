import Queue

/// `sluice backup`: copies a queue into one file, also while the gateway runs.
package struct QueueBackup: Sendable {
    private let inputs: ConfigurationInputs
    private let path: String
    private let isJSON: Bool

    package init(_ inputs: ConfigurationInputs, to path: String, isJSON: Bool) {
        self.inputs = inputs
        self.path = path
        self.isJSON = isJSON
    }

    package func run() -> CInt {
        let directory: String
        do throws(ConfigurationProblems) {
            directory = try GatewayConfiguration.findDataDirectory(inputs)
        } catch {
            Terminal.complain(error.description)
            return ExitCode.wrong
        }
        do throws(QueueError) {
            let report = try Backup.run(directory, to: path)
            Terminal.say(isJSON ? Self.document(report, path) : Self.text(report, path))
            return ExitCode.fine
        } catch {
            Terminal.complain("sluice: \(error)")
            return ExitCode.failed
        }
    }

    static func text(_ report: InspectionReport, _ path: String) -> String {
        "\(path) has \(report.logs) queued logs and \(report.deadLetters) dead letters in "
            + "\(report.bytes) bytes, and is fine"
    }

    static func document(_ report: InspectionReport, _ path: String) -> String {
        var json = JSONText()
        json.object { json in
            json.member("path", path)
            json.member("schema", report.schema)
            json.member("bytes", report.bytes)
            json.member("logs", report.logs)
            json.member("dead_letters", report.deadLetters)
        }
        return json.text
    }
}

extension GatewayConfiguration {
    /// Where the gateway keeps its queue that was started with the same file, options and variables. Whatever else the
    /// file says may be wrong.
    static func findDataDirectory(
        _ described: ConfigurationInputs
    ) throws(ConfigurationProblems) -> String {
        var inputs = described
        inputs.readsCertificates = false
        let report = ProblemReport(inputs)
        let document = document(report)
        guard report.problems.isEmpty else { throw report.sorted }
        var file = Section(document, path: "", report: report)
        let named = file.value("data_dir", .path, dataDirectorySource)
        guard report.problems.isEmpty else { throw report.sorted }
        return named ?? usualDataDirectory
    }
}
