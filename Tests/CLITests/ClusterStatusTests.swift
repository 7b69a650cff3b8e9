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
        "adopting":\(adopting),"orphans":\(orphans),"cluster_shards":2,"adoptions":1,"losses":0,"replacements":0,
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
            "since start  shards adopted 1, absorbed 0, taken by other gateways 0, replaced 0, packets perhaps sent twice 0, ",
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

@Suite struct DrainProgressTests {
    private func read(_ text: String) -> DrainProgress? {
        DrainProgress(Array(text.utf8))
    }

    @Test("How far it is is read from the numbers, whatever their order and what stands between")
    func numbers() throws {
        let usual = try #require(
            read(#"{"draining":true,"queued":12,"held":5,"dead":1}"# + "\n")
        )
        #expect(usual.isDraining && usual.queued == 12 && usual.held == 5 && usual.dead == 1)
        let other = """
            {
              "new": {"queued": 0, "text": "x: 0 queued"},
              "dead" : 1,
              "queued"
                : 12 ,
              "held": 5, "draining": true
            }
            """
        #expect(read(other) == usual)
        // It was taken for the end once.
        #expect(read(#"{"held": 0, "queued":0,"draining":true}"#)?.queued == 0)
        #expect(read(#"{"other":{"queued":0,"x":1},"queued":7,"draining":true}"#)?.queued == 7)
    }

    @Test("Nothing queued is no end while requests are being stored")
    func arriving() throws {
        let busy = try #require(read(#"{"draining":true,"queued":0,"arriving":2}"#))
        #expect(!busy.isDone)
        #expect(busy.line(since: busy) == "draining: 0 queued, 2 requests being stored")
        let last = try #require(read(#"{"draining":true,"queued":0,"arriving":1}"#))
        #expect(last.line(since: last) == "draining: 0 queued, 1 request being stored")
        #expect(try #require(read(#"{"draining":true,"queued":0,"arriving":0}"#)).isDone)
    }

    @Test(
        "What is no such document is none",
        arguments: [
            "", "{}", #"{"draining":true}"#, #"{"queued":-1}"#, #"{"queued":"0"}"#,
            #"{"queued":1.5}"#, #"{"queued":1"#, #"{"queued":1}}"#, #"{"draining":1,"queued":1}"#,
            "draining: 0 queued",
        ]
    )
    func others(text: String) {
        #expect(read(text) == nil)
    }

    @Test("A line says what is left, and what is gone since the beginning")
    func line() throws {
        let first = try #require(read(#"{"draining":true,"queued":5000}"#))
        #expect(first.line(since: first) == "draining: 5000 queued")
        let later = try #require(read(#"{"draining":true,"queued":3800,"held":20,"dead":1}"#))
        #expect(
            later.line(since: first)
                == "draining: 3800 queued, 1200 of 5000 gone (24%), 20 of paused destinations, "
                + "1 dead letter"
        )
        // Requests that were under way may still have been taken.
        #expect(
            later.line(since: later) == first.line(since: later).replacing("5000", with: "3800")
                + ", 20 of paused destinations, 1 dead letter"
        )
        #expect(later.whatHolds == nil)
        let held = try #require(read(#"{"draining":true,"queued":2,"held":2}"#))
        #expect(held.whatHolds?.contains("sluice resume --all") == true)
    }
}

@Suite struct ScreenTests {
    private func plain(_ text: String) -> String {
        text.replacing("\u{1b}[H", with: "").replacing("\u{1b}[K", with: "")
            .replacing("\u{1b}[J", with: "")
    }

    @Test("A text that has room is shown from the top, and what was below it is gone")
    func fits() {
        let drawn = Screen(rows: 4, columns: 10).drawn("one\ntwo\n")
        #expect(drawn == "\u{1b}[Hone\u{1b}[K\ntwo\u{1b}[K\n\u{1b}[K\u{1b}[J")
    }

    @Test("What has no room is counted, so that the top stays in sight")
    func cut() {
        let text = (1...9).map { "line \($0)" }.joined(separator: "\n")
        let drawn = plain(Screen(rows: 5, columns: 10).drawn(text))
        #expect(drawn == "line 1\nline 2\nline 3\n… 6 more lines: sluice status")
        // A line that is broken takes more of it.
        let long = String(repeating: "x", count: 21)
        #expect(
            plain(Screen(rows: 5, columns: 10).drawn("\(long)\na\nb")).hasPrefix("\(long)\n… 2")
        )
    }
}
