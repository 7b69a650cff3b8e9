import Ingest
import Queue
import System

/// Captures as text, for `sluice capture`. Texts of devices are made safe for a terminal.
enum CaptureText {
    static func list(_ sessions: [CaptureSession]) -> String {
        guard !sessions.isEmpty else { return "no capture; start one with sluice capture start\n" }
        return sessions.map { session in
            let status = session.status
            return
                "\(session.id)  \(status.state.rawValue), \(counted(Int64(status.kept), "request")), "
                + "\(sizeText(status.keptBytes)); \(session.filter.inWords); started by \(session.actor) at "
                + "\(session.started.rfc3339), ends by \(session.ends.rfc3339)\n"
        }.joined()
    }

    static func entries(_ session: CaptureSession) -> String {
        list([session])
            + session.records.map { record in
                let status = record.answer.map { "\($0.status)" } ?? "-"
                let code = record.refusal.map { " \($0)" } ?? ""
                return
                    "\(record.number)  \(record.time.rfc3339)  \(status)\(code)  \(record.method) "
                    + "\(printable(record.path)) from \(record.address), \(record.logCount) logs\n"
            }.joined()
    }

    static func record(_ record: CaptureRecord, _ letters: any DeadLetters) -> String {
        let query = record.query.map { "?\($0)" } ?? ""
        var lines = ["\(record.method) \(record.path)\(query) HTTP/1.\(record.minorVersion)"]
        lines += record.fields.map { "\($0.name): \($0.value)" }
        for (name, body) in [("body", record.body), ("inflated body", record.inflated)] {
            guard let body else { continue }
            let reason = body.reason.map { " (\($0))" } ?? ""
            let hash = body.sha256.map { ", sha256 \($0)" } ?? ""
            lines += ["", "\(name): \(body.bytes) bytes\(hash)\(reason)"]
            let text = body.text?.split(separator: "\n", omittingEmptySubsequences: false)
            lines += text?.map { String($0) } ?? []
            if body.isCut { lines.append("… cut here") }
        }
        lines += ["", "from \(record.address) at \(record.time.rfc3339)"]
        lines += record.decisions.map {
            "  \($0.step): \($0.outcome)\($0.detail.isEmpty ? "" : " (\($0.detail))")"
        }
        for (number, log) in record.logs.enumerated() {
            lines.append("log \(number + 1) of \(record.logCount), tag \(log.tag)")
            if let before = log.before { lines.append("  came  \(fields(before))") }
            if let after = log.after { lines.append("  goes  \(fields(after))") }
            let places =
                log.destinations.isEmpty ? "nowhere" : log.destinations.joined(separator: ", ")
            lines.append("  to    \(places)\(log.reason.map { ": \($0)" } ?? "")")
        }
        if let answer = record.answer {
            lines.append("answer \(answer.status) after \(decimalMilliseconds(answer.time)) ms")
            lines += answer.fields.map { "  \($0.name): \($0.value)" }
            if !answer.body.isEmpty { lines.append("  \(answer.body)") }
        }
        let progress = record.progress
        for (number, each) in progress.attempts.enumerated() {
            let attempt = each.attempt
            let status = attempt.status.map { "HTTP \($0)" } ?? "no answer"
            let said = [attempt.code, attempt.message].compactMap(\.self).joined(separator: ": ")
            lines.append(
                "attempt \(number + 1) at \(attempt.started.rfc3339): \(each.logs) logs to "
                    + "\(attempt.packet.stream.destination) at \(attempt.address), \(status) after "
                    + "\(decimalMilliseconds(attempt.time)) ms, \(attempt.result)"
                    + (said.isEmpty ? "" : ": \(said)")
                    + (attempt.requestID.map { " (request id \($0))" } ?? "")
            )
        }
        if progress.attemptsLeftOut > 0 {
            lines.append("\(counted(Int64(progress.attemptsLeftOut), "more attempt")), not kept")
        }
        let outcomes = [
            ("waiting", progress.waiting), ("delivered", progress.delivered),
            ("dead", progress.dead), ("expired", progress.expired),
            ("discarded", progress.discarded), ("skipped", progress.skipped),
        ].filter { $0.1 > 0 }
        if !outcomes.isEmpty {
            let counts = outcomes.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
            lines.append("delivery \(progress.outcome): \(counts)")
        }
        if !progress.letters.isEmpty {
            let ids = progress.letters.map { "\(letters.letterName($0))" }.joined(separator: ", ")
            let more = progress.dead - progress.letters.count
            lines.append("dead letters \(ids)\(more > 0 ? " and \(more) more" : "")")
        }
        // Only a body has lines of its own: a line end elsewhere could forge a line of ours.
        return lines.map { printable($0) + "\n" }.joined()
    }

    private static func fields(_ fields: CaptureRecord.Fields) -> String {
        fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
    }

    private static func decimalMilliseconds(_ time: Duration) -> String {
        let tenths = Int((time / .milliseconds(1) * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
