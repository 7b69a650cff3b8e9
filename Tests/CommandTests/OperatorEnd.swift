import Foundation
import TestSupport

/// An operator with the command line, on the machine of a running gateway.
struct OperatorEnd {
    struct Ledger: CustomStringConvertible {
        let accepted: Int
        let delivered: Int
        let queued: Int
        let dead: Int
        let expired: Int
        let discarded: Int

        var isClosed: Bool { accepted == delivered + queued + dead + expired + discarded }

        var description: String {
            "accepted \(accepted) = delivered \(delivered) + queued \(queued) + dead \(dead) "
                + "+ expired \(expired) + discarded \(discarded)"
        }
    }

    let reach: [String]

    init(_ listeners: Listeners, dataDirectory: String) {
        reach = ["--admin-listen", "127.0.0.1:\(listeners.admin)", "--data-dir", dataDirectory]
    }

    func run(_ words: String...) throws -> Program.Outcome {
        try Program(words + reach).finished()
    }

    /// The ledger of the whole gateway, from its status.
    func ledger() throws -> Ledger? {
        let output = try run("status", "--json").output
        let document = try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
        guard let ledger = document?["ledger"] as? [String: Int] else { return nil }
        return Ledger(
            accepted: ledger["accepted"] ?? -1,
            delivered: ledger["delivered"] ?? -1,
            queued: ledger["queued"] ?? -1,
            dead: ledger["dead"] ?? -1,
            expired: ledger["expired"] ?? -1,
            discarded: ledger["discarded"] ?? -1
        )
    }

    /// Replays what is dead until everything has left the queue, or a minute is over.
    func settled() throws -> Ledger? {
        var last: Ledger?
        _ = try eventually(within: .seconds(60)) { () throws in
            last = try ledger()
            guard let now = last, now.queued + now.dead > 0 else { return true }
            if now.dead > 0 { _ = try run("dead-letters", "replay", "--all") }
            return false
        }
        return last
    }
}
