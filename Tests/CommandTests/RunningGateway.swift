import Foundation
import TestSupport

/// A gateway in a process of its own that sends to a sandbox in another.
final class RunningGateway {
    let scratch = TemporaryDirectory()
    let file: String
    let sandbox: RunningSandbox
    let program: Program
    let listeners: Listeners

    /// `more` goes on where the configuration of the destination `app` ends, `admin` in the group
    /// of that name.
    init(_ more: String = "", admin: String = "") throws {
        sandbox = try RunningSandbox()
        let text = sandbox.configuration(dataDirectory: "\(scratch.path)/data") + more
        file = scratch.file("sluice.yaml", text.replacing("admin: { ", with: "admin: { \(admin)"))
        (program, listeners) = try Program.serving(file)
    }

    /// Once more after its end, with the admin listener where it was.
    func restarted() throws -> Program {
        try Program(
            ["serve", "--config", file, "--admin-listen", "127.0.0.1:\(listeners.admin)"],
            environment: RunningSandbox.keys
        )
    }

    var operatorEnd: OperatorEnd {
        OperatorEnd(listeners, dataDirectory: "\(scratch.path)/data")
    }
}

/// A sandbox in a process of its own, as people start it.
struct RunningSandbox {
    static let keys = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "test-id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "test-secret",
    ]

    let program: Program
    let port: UInt16

    init() throws {
        program = try Program(
            ["sandbox", "--listen", "127.0.0.1:0"],
            environment: Self.keys
        )
        guard let line = program.errors.next(containing: ["sandbox listening"]),
            let port = Program.port(of: "address", in: line)
        else { throw ProgramDidNotStart(complaints: program.errors.lines) }
        self.port = port
    }

    /// A configuration that sends to this sandbox.
    func configuration(dataDirectory: String) -> String {
        """
        listen: 127.0.0.1:0
        admin: { listen: "127.0.0.1:0" }
        data_dir: \(dataDirectory)
        destinations:
          app:
            endpoint: http://localhost:\(port)
            project: demo
            logstore: "*"
            region: sandbox
            packet: { age: 50ms }
        """
    }

    /// The status that a request to its control API is answered with.
    func control(_ method: String, _ path: String, _ body: String = "") -> Int? {
        (try? TestConnection(port: port))?
            .request(method, path, fields: ["Content-Type: application/json"], body: body)?.status
    }

    /// The values of one field in everything that arrived, in order of arrival.
    func received(field: String) -> [String] {
        var values: [String] = []
        let pattern = try? Regex<(Substring, Substring)>("\"\(field)\":\"([^\"]*)\"")
        guard let pattern, let client = try? TestConnection(port: port),
            let answer = client.request("GET", "/logs?limit=100000")
        else { return [] }
        for line in answer.text.split(separator: "\n") {
            if let match = line.firstMatch(of: pattern) { values.append(String(match.1)) }
        }
        return values
    }
}

struct ProgramDidNotStart: Error {
    let complaints: [String]
}

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
