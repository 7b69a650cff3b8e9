import JSON
import Queue
import System

/// The cluster as one gateway's `/admin/status` has it, with the ledgers of all gateways summed.
struct ClusterStatus {
    struct Gateway {
        let node: String
        let isThis: Bool
        let version: String
        let isAlive: Bool
        let problem: String?
        let shards: [String]
        let ledger: Ledger
    }

    /// A shard of the gateway that answered.
    struct Shard {
        let name: String
        let role: String
        let problem: String?
        let queued: Int
        let bytes: Int
        let epoch: Int
        let logBytes: Int
    }

    struct Orphan {
        let shard: String
        /// nil: it waits for a gateway to adopt it.
        let refusal: String?
    }

    /// The gateway that answered, then the others as each told last.
    let gateways: [Gateway]
    let shards: [Shard]
    let adopting: String?
    let orphans: [Orphan]
    /// Why the other gateways cannot be heard; nil: they can.
    let messagesProblem: String?
    /// Events since the start, by their members' names.
    let counts: [(name: String, count: Int)]

    static let countNames = [
        "adoptions", "absorptions", "losses", "late_acknowledgements", "recognised_repeats",
        "untold_repeats",
    ]
    /// What operators read in their place.
    private static let countTexts = [
        "shards adopted", "absorbed", "taken by other gateways", "packets perhaps sent twice",
        "repeats recognised", "not told to others",
    ]

    static let absence =
        "this gateway takes part in no cluster; for one, set queue.engine to jetstream or postgresql\n"

    /// nil: the gateway takes part in no cluster, or the document is no status.
    init?(_ status: JSONValue) {
        guard let fleet = status["queue"]?["fleet"], let node = fleet["node"]?.text else {
            return nil
        }
        shards = (fleet["shards"]?.elements ?? []).map { shard in
            Shard(
                name: shard["name"]?.text ?? "",
                role: shard["role"]?.text ?? "",
                problem: shard["problem"]?.text,
                queued: shard["queued"]?.wholeNumber ?? 0,
                bytes: shard["bytes"]?.wholeNumber ?? 0,
                epoch: shard["epoch"]?.wholeNumber ?? 0,
                logBytes: shard["log_bytes"]?.wholeNumber ?? 0
            )
        }
        let own = Gateway(
            node: node,
            isThis: true,
            version: status["version"]?.text ?? "",
            isAlive: true,
            problem: fleet["problem"]?.text ?? status["queue"]?["problem"]?.text,
            shards: shards.map(\.name),
            ledger: Ledger(status["ledger"])
        )
        let others = (fleet["other_gateways"]?.elements ?? []).map { other in
            Gateway(
                node: other["node"]?.text ?? "",
                isThis: false,
                version: other["version"]?.text ?? "",
                isAlive: other["alive"] == .bool(true),
                problem: other["problem"]?.text,
                shards: (other["shards"]?.elements ?? []).compactMap(\.text),
                ledger: Ledger(other["ledger"])
            )
        }
        gateways = [own] + others
        adopting = fleet["adopting"]?.text
        orphans = (fleet["orphans"]?.elements ?? []).map {
            Orphan(shard: $0["shard"]?.text ?? "", refusal: $0["refused_because"]?.text)
        }
        messagesProblem = fleet["messages_problem"]?.text
        counts = Self.countNames.map { ($0, fleet[$0]?.wholeNumber ?? 0) }
    }

    var ledger: Ledger { gateways.reduce(Ledger()) { $0 + $1.ledger } }
    /// False if one gateway's counts do not add up, even if another one's make up for it.
    var isLedgerClosed: Bool { gateways.allSatisfy(\.ledger.isClosed) }
}

// MARK: - Texts

extension ClusterStatus {
    /// The answer to `sluice status --cluster`, from the gateway's whole status.
    static func answer(from body: [UInt8], asJSON: Bool) -> [UInt8] {
        guard let status = try? JSONValue(parsing: body) else { return body }
        guard let cluster = ClusterStatus(status) else {
            return Array((asJSON ? "null\n" : absence).utf8)
        }
        return Array((asJSON ? cluster.document : cluster.text).utf8)
    }

    /// "2 gateways live, 1 gone; 1 shard without a gateway"
    var summary: String {
        let living = gateways.count { $0.isAlive }
        let gone = gateways.count - living
        return [
            "\(counted(living, "gateway")) live\(living == 1 ? "s" : "")"
                + (gone > 0 ? ", \(gone) gone" : ""),
            orphans.isEmpty ? nil : "\(counted(orphans.count, "shard")) without a gateway",
            isLedgerClosed ? nil : "A LEDGER DOES NOT ADD UP: report this as a defect of Sluice",
        ].compactMap(\.self).joined(separator: "; ")
    }

    var text: String {
        var lines = ["cluster      \(summary)"]
        if let messagesProblem {
            lines.append("  trouble    the others cannot be heard: \(printable(messagesProblem))")
        }
        lines.append("  ledger     \(ledger.equation) (all gateways)")
        for gateway in gateways { lines += [""] + describe(gateway) }
        if !orphans.isEmpty || adopting != nil { lines.append("") }
        if let adopting { lines.append("adopting     \(printable(adopting))") }
        for orphan in orphans where orphan.shard != adopting {
            let fate = orphan.refusal.map { "not adopted: \(printable($0))" } ?? "not adopted yet"
            lines.append("orphan       \(printable(orphan.shard)): \(fate)")
        }
        let since = zip(Self.countTexts, counts).map { "\($0) \($1.count)" }
        lines += ["", "since start  \(since.joined(separator: ", "))"]
        return lines.joined(separator: "\n") + "\n"
    }

    private func describe(_ gateway: Gateway) -> [String] {
        let state = gateway.isThis ? "this one" : gateway.isAlive ? "lives" : "GONE"
        var lines = [
            "gateway      \(printable(gateway.node)): \(state), version \(printable(gateway.version))"
        ]
        if let problem = gateway.problem { lines.append("  trouble    \(printable(problem))") }
        lines +=
            gateway.isThis
            ? shards.map(\.line) : gateway.shards.map { "  shard      \(printable($0))" }
        lines.append("  ledger     \(gateway.ledger.equation)")
        return lines
    }

    /// For scripts.
    var document: String {
        var json = JSONWriter()
        json.object { json in
            json.array("gateways") { json in
                for gateway in gateways { json.object { $0.gateway(gateway) } }
            }
            json.object("ledger") { $0.ledger(ledger) }
            json.member("ledger_closed", isLedgerClosed)
            json.array("shards") { json in
                for shard in shards { json.object { $0.shard(shard) } }
            }
            json.member("adopting", adopting)
            json.array("orphans") { json in
                for orphan in orphans {
                    json.object { json in
                        json.member("shard", orphan.shard)
                        json.member("refused_because", orphan.refusal)
                    }
                }
            }
            for (name, count) in counts { json.member(name, count) }
            json.member("messages_problem", messagesProblem)
        }
        return json.text + "\n"
    }
}

extension ClusterStatus.Shard {
    fileprivate var line: String {
        let trouble = problem.map { "; \(printable($0))" } ?? ""
        return
            "  shard      \(printable(name)), \(printable(role)), \(queued) queued in \(roughSize(bytes)), "
            + "epoch \(epoch), commit log \(roughSize(logBytes))\(trouble)"
    }
}

extension Ledger {
    fileprivate init(_ json: JSONValue?) {
        self.init()
        func count(_ name: String) -> Int64 { Int64(json?[name]?.wholeNumber ?? 0) }
        accepted = count("accepted")
        delivered = count("delivered")
        queued = count("queued")
        dead = count("dead")
        expired = count("expired")
        discarded = count("discarded")
        skipped = count("skipped")
    }

    fileprivate var equation: String {
        "accepted \(accepted) = delivered \(delivered) + queued \(queued) + dead \(dead) "
            + "+ expired \(expired) + discarded \(discarded)\(isClosed ? "" : "   DOES NOT HOLD")"
    }
}

extension JSONWriter {
    fileprivate mutating func gateway(_ gateway: ClusterStatus.Gateway) {
        member("node", gateway.node)
        member("this", gateway.isThis)
        member("version", gateway.version)
        member("alive", gateway.isAlive)
        member("problem", gateway.problem)
        array("shards") { json in gateway.shards.forEach { json.element($0) } }
        object("ledger") { $0.ledger(gateway.ledger) }
    }

    fileprivate mutating func shard(_ shard: ClusterStatus.Shard) {
        member("name", shard.name)
        member("role", shard.role)
        member("problem", shard.problem)
        member("queued", shard.queued)
        member("bytes", shard.bytes)
        member("epoch", shard.epoch)
        member("log_bytes", shard.logBytes)
    }
}
