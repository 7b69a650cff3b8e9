import JSON
import Queue
import Rendering
import SQLiteQueue
import System

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
