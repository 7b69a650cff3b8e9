import JSON
import Queue
import SQLiteQueue
import System

/// `sluice fsck`: reads a whole queue and reports its faults.
package struct QueueCheck: Sendable {
    private let path: String
    private let isJSON: Bool

    package init(_ path: String, isJSON: Bool) {
        self.path = path
        self.isJSON = isJSON
    }

    package func run() -> CInt {
        do throws(QueueError) {
            let report = try Inspection.run(path)
            Terminal.say(isJSON ? Self.document(report) : Self.text(report))
            return report.isFine ? ExitCode.fine : ExitCode.failed
        } catch {
            Terminal.complain("sluice: \(error)")
            return ExitCode.failed
        }
    }

    static func text(_ report: InspectionReport) -> String {
        var lines = ["\(report.path) is \(report.isFine ? "fine" : "damaged")"]
        for finding in report.findings {
            let more = finding.count == 1 ? "" : " (and \(finding.count - 1) more of this kind)"
            lines.append("  wrong         \(TerminalText.sentence(finding.text))\(more)")
        }
        lines += [
            "  schema        \(report.schema)",
            "  size          \(report.bytes) bytes, and \(report.logBytes) in its WAL",
            "  queued        \(report.logs) logs in \(report.rows) rows of \(report.streams) streams, "
                + "\(report.packets) packets sealed",
            "  dead letters  \(report.deadLetters)",
            "  remembered    \(report.repeats) requests",
        ]
        for (name, ledger) in report.ledgers.sorted(by: { $0.key < $1.key }) {
            lines.append(
                "  ledger        \(TerminalText.sentence(name)): accepted \(ledger.accepted) = delivered "
                    + "\(ledger.delivered) + queued \(ledger.queued) + dead \(ledger.dead) + expired "
                    + "\(ledger.expired) + discarded \(ledger.discarded)"
                    + (ledger.skipped > 0 ? ", skipped \(ledger.skipped)" : "")
            )
        }
        let intake = report.intake
        lines.append(
            "  received      \(intake.received) = filtered \(intake.filtered) + dropped \(intake.dropped) "
                + "+ routed \(intake.routed), in \(intake.copies) copies"
        )
        if !report.isFine {
            lines.append(
                """
                Nothing was changed. Copy the directory, then let `sluice serve` repair it: it moves a damaged file aside,
                keeps all readable logs, and counts the rest as discarded.
                """
            )
        }
        return lines.joined(separator: "\n")
    }

    static func document(_ report: InspectionReport) -> String {
        var json = JSONWriter()
        json.object { json in
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
            json.array("findings") { json in
                for finding in report.findings {
                    json.object { json in
                        json.member("fault", finding.fault.rawValue)
                        json.member("count", finding.count)
                        json.member("text", finding.text)
                    }
                }
            }
        }
        return json.text
    }
}
