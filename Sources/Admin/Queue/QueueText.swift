import Operations
import Queue
import System

extension QueueView {
    /// `GET /admin/queue` as text.
    var text: String {
        let queue = report.queue
        var lines = [
            "queue        \(waiting(queue.ledger.queued, queue.oldest)), "
                + "\(roughSize(queue.bytes)) of \(roughSize(queue.bytesMax)), "
                + counted(queue.streams, "stream")
        ]
        if let problem = queue.problem { lines.append("             \(problem)") }
        for destination in destinations {
            let own = destination.queue
            let most = own.bytesMax.map { " of \(roughSize($0))" } ?? ""
            lines += [
                "",
                "destination  \(destination.name): \(waiting(own.ledger.queued, own.oldest)), "
                    + "\(roughSize(own.bytes))\(most)",
            ]
            lines += table(streams(of: destination.name))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func table(_ streams: StreamListing.Destination?) -> [String] {
        guard let streams else {
            return listing == nil ? ["  its streams were not listed; see GET /admin/status"] : []
        }
        guard !streams.entries.isEmpty else { return [] }
        var (rows, bytes, left) = ([[String]](), 0, streams.more)
        for entry in streams.entries {
            guard bytes < bytesMax else {
                left += 1
                continue
            }
            let names = StreamNames(entry.stream).line
            bytes += names.utf8.count
            rows.append(
                [
                    age(of: entry.oldest), "\(entry.logs)", roughSize(entry.rawBytes),
                    "\(entry.packets)", names,
                ]
            )
        }
        let more = left > 0 ? ["  and \(counted(left, "more stream"))"] : []
        return Self.aligned([["OLDEST", "LOGS", "BYTES", "PACKETS", "STREAM"]] + rows) + more
    }

    /// Aligned to the right, so that numbers can be compared, except for the last column.
    private static func aligned(_ rows: [[String]]) -> [String] {
        let columns = rows[0].count - 1
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let padded = zip(row, widths).map { text, width in
                String(repeating: " ", count: width - text.count) + text
            }
            return "  " + (padded + [row[columns]]).joined(separator: "  ")
        }
    }

    private func waiting(_ logs: Int64, _ oldest: WallTime?) -> String {
        guard logs > 0 else { return "nothing waits" }
        let since = oldest.map { ", the oldest for \(age(of: $0))" } ?? ""
        return "\(counted(logs, "log")) \(logs == 1 ? "waits" : "wait")\(since)"
    }

    private func age(of time: WallTime) -> String {
        spanText(.nanoseconds(report.now.nanoseconds - time.nanoseconds))
    }
}

extension StreamNames {
    /// "app-log topic=night source=10.0.0.7 tags: env=prod zone=a"
    fileprivate var line: String {
        var parts = [TerminalText.shown(logstore)]
        if !topic.isEmpty { parts.append("topic=\(TerminalText.shown(topic))") }
        if !source.isEmpty { parts.append("source=\(TerminalText.shown(source))") }
        if !tags.isEmpty { parts.append("tags:") }
        for tag in tags {
            parts.append("\(TerminalText.shown(tag.key))=\(TerminalText.shown(tag.value))")
        }
        if tagsLeft > 0 { parts.append("… \(tagsLeft) more") }
        return parts.joined(separator: " ")
    }
}
