import CommitLog
package import Configuration
import Fleet
import JSON
import System

/// `sluice shards`: lists the shards of a cluster.
package struct ShardListCommand: Sendable {
    /// Gateways tell of themselves every three seconds. A shard that is made or removed at this moment is not strange.
    private static let secondLookAfter = Duration.seconds(3)

    private let inputs: ConfigurationInputs
    private let isJSON: Bool

    package init(_ inputs: ConfigurationInputs, isJSON: Bool) {
        self.inputs = inputs
        self.isJSON = isJSON
    }

    package func run() -> CInt {
        ClusterAccess.use("shards", inputs) { access in run(access) }
    }

    private func run(_ access: ClusterAccess) -> CInt {
        do throws(CommitLogError) {
            var listing = try ShardListing.read(access.cluster)
            if listing.isStrange, let wake = try? WakeUp() {
                wake.wait(timeout: Self.secondLookAfter)
                listing = try ShardListing.read(access.cluster)
            }
            Terminal.say(isJSON ? Self.document(listing) : Self.text(listing))
            return ExitCode.fine
        } catch {
            return access.complain("shards", error)
        }
    }

    static func text(_ listing: ShardListing) -> String {
        guard !listing.rows.isEmpty else { return "the cluster has no shards" }
        let head = ["SHARD", "OWNER", "STATE", "EPOCH", "ROLE", "LAST ENTRY"]
        let cells = listing.rows.map { row in
            [
                TerminalText.shown(row.name), row.owner.map { TerminalText.shown($0.node) } ?? "-",
                row.state, row.epoch.map { "\($0)" } ?? "-", row.role ?? "-",
                row.last.map { "\($0)" } ?? "-",
            ]
        }
        let widths = head.indices.map { column in
            ([head] + cells).map { $0[column].count }.max() ?? 0
        }
        func line(_ cells: [String]) -> String {
            var text = ""
            for (cell, width) in zip(cells, widths) {
                text += cell + String(repeating: " ", count: width - cell.count + 2)
            }
            while text.last == " " { text.removeLast() }
            return text
        }
        var lines = [line(head)]
        for (row, cells) in zip(listing.rows, cells) {
            lines.append(line(cells))
            for finding in row.findings {
                lines.append("  strange: \(TerminalText.sentence(finding))")
            }
        }
        return lines.joined(separator: "\n")
    }

    static func document(_ listing: ShardListing) -> String {
        var json = JSONWriter()
        json.object { json in
            json.array("shards") { json in
                for row in listing.rows {
                    json.object { json in
                        json.member("name", row.name)
                        json.member("owner", row.owner?.node)
                        json.member("state", row.state)
                        json.member("epoch", row.epoch)
                        json.member("role", row.role)
                        json.member("last_entry", row.last.map { Int(clamping: $0) })
                        json.array("findings") { json in row.findings.forEach { json.element($0) } }
                    }
                }
            }
        }
        return json.text
    }
}

extension ShardListing.Row {
    /// Scripts read these words.
    fileprivate var state: String {
        guard last != nil else { return "missing" }
        guard let owner else { return "unclaimed" }
        if owner.isStopped { return "stopped" }
        return owner.epoch == 0 ? "reading" : "owned"
    }

    fileprivate var epoch: Int? { owner.flatMap { $0.epoch > 0 ? $0.epoch : nil } }

    fileprivate var role: String? { owner.map { $0.isHome ? "home" : "adopted" } }
}
