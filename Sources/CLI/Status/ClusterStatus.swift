import JSON
import Rendering
import System

/// The cluster as one gateway's `/admin/status` has it, with the ledgers of all gateways summed.
enum ClusterStatus {
    private static let counts = ["accepted"] + ends + ["skipped"]
    private static let ends = ["delivered", "queued", "dead", "expired", "discarded"]
    private static let events = [
        "adoptions", "absorptions", "losses", "replacements", "late_acknowledgements",
        "recognised_repeats", "untold_repeats",
    ]

    /// The answer to `sluice status --cluster`, from the gateway's whole status.
    static func text(of body: [UInt8], asJSON: Bool) -> String {
        guard let status = try? JSONValue(parsing: body), status["queue"] != nil else {
            return TerminalText.lines(String(decoding: body, as: UTF8.self))
        }
        guard let cluster = document(of: status) else {
            return asJSON
                ? "null\n"
                : "this gateway takes part in no cluster; for one, set queue.engine to jetstream or "
                    + "postgresql\n"
        }
        guard !asJSON else { return JSONValue.object(cluster).written + "\n" }
        let gateways = cluster.first?.value.elements ?? []
        let living = gateways.count { $0["alive"] == .bool(true) }
        let numbers = [("living", living), ("gone", gateways.count - living)].map { name, count in
            JSONValue.Member(name: name, value: .number(Double(count)))
        }
        return View.cluster.text(.object(cluster + numbers))
    }

    /// nil: the gateway takes part in no cluster, or the document is no status.
    private static func document(of status: JSONValue) -> [JSONValue.Member]? {
        guard let fleet = status["queue"]?["fleet"], fleet["node"]?.text != nil else { return nil }
        let (shards, orphans) = (fleet["shards"]?.elements ?? [], fleet["orphans"] ?? .array([]))
        let problem = [fleet["problem"], status["queue"]?["problem"]].compactMap(\.self)
            .first { $0 != .null }
        // The gateway that answered, then the others as each told last.
        let own = JSONValue.object([
            .init(name: "node", value: fleet["node"] ?? .null),
            .init(name: "this", value: .bool(true)),
            .init(name: "version", value: status["version"] ?? .null),
            .init(name: "alive", value: .bool(true)),
            .init(name: "problem", value: problem ?? .null),
            .init(name: "shards", value: .array(shards.compactMap { $0["name"] })),
            .init(name: "ledger", value: status["ledger"] ?? .null),
        ])
        let others = (fleet["other_gateways"]?.elements ?? []).map { gateway in
            let names = ["node", "version", "alive", "problem", "shards", "ledger"]
            return JSONValue.object(
                [.init(name: "this", value: .bool(false))] + members(names, of: gateway)
            )
        }
        let gateways = [own] + others
        // False if one gateway's counts do not add up, even if another one's make up for it.
        let isClosed = gateways.allSatisfy { gateway in
            ends.reduce(0) { $0 &+ count($1, gateway) } == count("accepted", gateway)
        }
        let sums = counts.map { name in
            let sum = gateways.reduce(0) { $0 &+ count(name, $1) }
            return JSONValue.Member(name: name, value: .number(Double(sum)))
        }
        let shardNames = ["name", "role", "problem", "queued", "bytes", "epoch", "log_bytes"]
        let ownShards = shards.map { JSONValue.object(members(shardNames, of: $0)) }
        return [
            .init(name: "gateways", value: .array(gateways)),
            .init(name: "ledger", value: .object(sums)),
            .init(name: "ledger_closed", value: .bool(isClosed)),
            .init(name: "shards", value: .array(ownShards)),
            .init(name: "adopting", value: fleet["adopting"] ?? .null),
            .init(name: "orphans", value: orphans),
        ]
            + events.map { .init(name: $0, value: fleet[$0] ?? .number(0)) }
            + members(["messages_problem"], of: fleet)
    }

    private static func members(_ names: [String], of value: JSONValue) -> [JSONValue.Member] {
        names.map { .init(name: $0, value: value[$0] ?? .null) }
    }

    private static func count(_ name: String, _ gateway: JSONValue) -> Int {
        gateway["ledger"]?[name]?.wholeNumber ?? 0
    }
}
