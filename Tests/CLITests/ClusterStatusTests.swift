import JSON
import Testing

@testable import CLI

@Suite struct ClusterStatusTests {
    private static let ledger =
        #""delivered":7,"queued":2,"dead":1,"expired":0,"discarded":0,"skipped":0}"#

    private func status(accepted: Int = 10, orphans: String = "[]", adopting: String = "null")
        -> String
    {
        """
        {"version":"0.1.0","ledger":{"accepted":\(accepted),\(Self.ledger),"queue":{"problem":null,"fleet":{
        "node":"gw-1","problem":null,
        "shards":[{"name":"gw-1~a","role":"home","problem":null,"queued":2,"bytes":2048,"epoch":3,"log_bytes":4096}],
        "other_gateways":[{"node":"gw-2","version":"0.1.0","alive":false,"shards":["gw-2~b"],
        "ledger":{"accepted":10,\(Self.ledger),"problem":"a \\u001b[31mred word"}],
        "adopting":\(adopting),"orphans":\(orphans),"cluster_shards":2,"adoptions":1,"losses":0,
        "messages_problem":null}}}
        """
    }

    private func answer(_ status: String, asJSON: Bool = false) -> String {
        ClusterStatus.text(of: Array(status.utf8), asJSON: asJSON)
    }

    @Test("The text has all gateways, the shards of this one, and the sum of all ledgers")
    func text() {
        let text = answer(status())
        let sum = "accepted 20 = delivered 14 + queued 4 + dead 2 + expired 0 + discarded 0"
        for line in [
            "cluster      1 gateway lives, 1 gone\n",
            "  ledger     \(sum) (all gateways)\n",
            "gateway      gw-1: this one, version 0.1.0\n",
            "  shard      gw-1~a, home, 2 queued in 2KiB, epoch 3, commit log 4KiB\n",
            "gateway      gw-2: GONE, version 0.1.0\n",
            "  shard      gw-2~b\n",
            "since start  shards adopted 1, absorbed 0, taken by other gateways 0, packets perhaps sent twice 0, ",
        ] {
            #expect(text.contains(line), "\(line) is missing in \(text)")
        }
        // What another gateway says must not steer the terminal.
        #expect(!text.contains("\u{1b}") && text.contains("red word"))
    }

    @Test("Orphans have the reason why they are not adopted")
    func orphans() {
        let orphans =
            #"[{"shard":"x","refused_because":"another key"},{"shard":"y","refused_because":null},"#
            + #"{"shard":"z","refused_because":null}]"#
        let text = answer(status(orphans: orphans, adopting: #""z""#))
        #expect(text.contains("1 gone; 3 shards without a gateway\n"))
        #expect(text.contains("adopting     z\norphan       x: not adopted: another key\n"))
        #expect(text.contains("orphan       y: not adopted yet\n"))
        #expect(!text.contains("orphan       z"))
    }

    @Test("A ledger that does not add up is named, though another one makes up for it")
    func openLedger() throws {
        let text = answer(status(accepted: 9))
        #expect(text.contains("A LEDGER DOES NOT ADD UP") && text.contains("DOES NOT HOLD"))
        let json = try JSONValue(parsing: Array(answer(status(accepted: 9), asJSON: true).utf8))
        #expect(json["ledger_closed"] == .bool(false))
    }

    @Test("JSON has the same for scripts")
    func json() throws {
        let json = try JSONValue(parsing: Array(answer(status(), asJSON: true).utf8))
        #expect(json["gateways"]?.elements?.count == 2)
        #expect(json["gateways"]?.elements?.first?["this"] == .bool(true))
        #expect(json["ledger"]?["accepted"]?.wholeNumber == 20)
        #expect(json["ledger_closed"] == .bool(true))
        #expect(json["shards"]?.elements?.first?["log_bytes"]?.wholeNumber == 4096)
        #expect(json["adoptions"]?.wholeNumber == 1 && json["adopting"] == .null)
    }

    @Test("Without a cluster one sentence names the setting")
    func alone() {
        let text = answer(#"{"version":"0.1.0","queue":{"problem":null}}"#)
        #expect(text.contains("queue.engine") && text.split(separator: "\n").count == 1)
        #expect(answer(#"{"queue":{}}"#, asJSON: true) == "null\n")
        // Something other than a gateway answered.
        #expect(answer("{}") == "{}" && answer("{}", asJSON: true) == "{}")
    }
}
