import Foundation
import HTTP
import Logs
import Queue
import Rendering
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct DeadLetterDeskTests {
    /// A gateway with so many dead letters.
    private func trial(_ count: Int = 3, code: String = "InvalidKey") throws -> SandboxedGateway {
        let trial = try SandboxedGateway()
        try trial.bury(count, code: code)
        return trial
    }

    private func ids(_ trial: SandboxedGateway) throws -> [Int64] {
        let document = try trial.object("/admin/dead-letters")
        let letters = document["dead_letters"] as? [[String: Any]] ?? []
        return letters.compactMap { ($0["id"] as? NSNumber)?.int64Value }
    }

    private func post(_ trial: SandboxedGateway, _ path: String) throws -> TestAnswer {
        try trial.admin.ask("POST", path)
    }

    @Test("Each dead letter is listed with all its members")
    func lists() throws {
        let trial = try trial()
        let chosen = "code=InvalidKey&destination=default"
        let document = try trial.object("/admin/dead-letters?\(chosen)")
        let letters = document["dead_letters"] as? [[String: Any]]
        #expect(letters?.count == 3)
        let letter = letters?.first
        #expect(letter?["logstore"] as? String == "app")
        #expect(letter?["topic"] as? String == "t")
        #expect(letter?["tags"] as? [String: String] == ["env": "test"])
        #expect(letter?["request_id"] as? String == "ABC")
        #expect(letter?["status"] as? Int == 400)
        #expect(
            letter?["log"] as? [String: String]
                == ["__time__": "1763700000.000000005", "number": "0", "a\"b": "é\n"]
        )
        let sums = document["sums"] as? [[String: Any]]
        #expect(sums?.first?["letters"] as? Int == 3)
        #expect(
            try trial.admin("/admin/dead-letters?code=Other").text.contains(#""dead_letters":[]"#)
        )
    }

    @Test("The text page has a line for each letter, and the remedy for a single one")
    func text() throws {
        let trial = try trial(1)
        let list = try trial.admin("/admin/dead-letters").shown(.deadLetters)
        #expect(list.hasPrefix("1 of default died of InvalidKey ("), "\(list)")
        #expect(list.contains("default/app  400 InvalidKey: no\n"), "\(list)")
        let id = try #require(ids(trial).first)
        let page = try trial.admin("/admin/dead-letters/\(id)").shown(.deadLetter)
        #expect(page.contains("request id   ABC\n"))
        #expect(page.contains("remedy       rename the field in the application\n"))
        #expect(page.contains(#""number":"0""#))
        let empty = try SandboxedGateway()
        let none = try empty.admin("/admin/dead-letters").shown(.deadLetters)
        #expect(none == "no dead letters\n")
    }

    @Test("Terminal escapes in a device's text are made harmless")
    func escapes() throws {
        let trial = try trial(1, code: "Evil\u{1B}[2J\nline")
        let list = try trial.admin("/admin/dead-letters").shown(.deadLetters)
        #expect(!list.contains("\u{1B}"), "\(list)")
        #expect(list.contains("\\u{1b}[2J\\nline"), "\(list)")
    }

    @Test("An export has a line for each letter, page by page")
    func exports() throws {
        let trial = try trial(5)
        var lines: [Substring] = []
        var after = "0"
        while true {
            let answer = try trial.admin("/admin/dead-letters/export?limit=2&after=\(after)")
            #expect(answer["content-type"] == "application/x-ndjson")
            lines += answer.text.split(separator: "\n")
            guard let next = answer["x-sluice-next"] else { break }
            after = next
        }
        let numbers = lines.compactMap { $0.firstMatch(of: /"number":"(\d)"/)?.1 }
        #expect(numbers == ["0", "1", "2", "3", "4"])
    }

    @Test("A long letter goes out in pieces and is whole; lists show its beginning")
    func long() throws {
        let value = String(repeating: "\u{1}é\"", count: 100_000)
        let trial = try SandboxedGateway()
        try trial.bury(2, long: value)
        let id = try #require(ids(trial).first)
        for path in ["/admin/dead-letters/\(id)", "/admin/dead-letters/export?limit=1"] {
            let answer = try trial.admin(path)
            #expect(answer["transfer-encoding"] == "chunked")
            #expect(answer.content.suffix(2) == Array("}\n".utf8)[...])
            let letter = try trial.object(path)
            let log = letter["log"] as? [String: String]
            #expect(log?["long"] == value && log?["number"] == "0" && log?.count == 4)
        }
        let page = try trial.admin("/admin/dead-letters/\(id)").shown(.deadLetter)
        #expect(page.utf8.count > 900_000 && page.hasSuffix("\"}\n"))
        let lines = try trial.admin("/admin/dead-letters/export").lines
        #expect(lines.count == 2)
        let list = try trial.admin("/admin/dead-letters")
        #expect(list.body.count < 600_000, "\(list.body.count)")
        #expect(list.text.contains(" more bytes)\""))
        let path = "/admin/dead-letters/\(id)"
        let head = try trial.admin.ask("HEAD", path)
        #expect(head.status == 200 && head.body.isEmpty)
    }

    @Test("Other gateways get the beginning of a letter that is too long for a message")
    func passesBeginnings() throws {
        let trial = try SandboxedGateway()
        try trial.bury(1, long: String(repeating: "\u{1}", count: 1 << 20))
        try trial.bury(1, long: "whole")
        let list = LetterList(cluster: ClusterView(store: trial.gateway.store), isWhole: true)
        let begin = LetterName(shard: nil, number: 0)
        let question = RelayedRequest.letters("/admin/dead-letters/export", after: begin, limit: 10)
        let answer = try list.answer(try DeadLetterQuery(question.head))
        let rows = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
        #expect(rows.count == 2 && answer["x-sluice-next"] == nil)
        #expect(rows.first?.contains(" more bytes)") == true)
        #expect(rows.last?.contains(#""long":"whole""#) == true)
        #expect(answer.body.count < 1 << 20)
    }

    @Test("Pieces are bounded, and cut between characters", arguments: 0..<4)
    func pieces(offset: Int) throws {
        let long = String(repeating: "😀\u{85}", count: 50_000)
        let text = String(repeating: "a", count: offset) + long
        let pieces = LetterPieces([.fields([(key: text, value: text)])])
        var written: [UInt8] = []
        while let piece = pieces.next() {
            #expect(piece.count < 7 * 64 << 10)
            #expect(String(validating: piece, as: UTF8.self) != nil)
            written += piece
        }
        let quoted = jsonQuoted(text)
        #expect(String(decoding: written, as: UTF8.self) == ",\(quoted):\(quoted)")
    }

    @Test("Replayed letters are delivered; purged ones count as discarded")
    func replaysAndPurges() throws {
        let trial = try trial(3)
        let ids = try ids(trial)
        let replayed = try post(trial, "/admin/dead-letters/replay?ids=\(ids[0]),\(ids[1])")
        #expect(replayed.status == 200)
        #expect(replayed.text.hasPrefix(#"{"replayed":2,"#), "\(replayed.text)")
        #expect(trial.delivered(2))
        let purged = try post(trial, "/admin/dead-letters/purge?all=true")
        #expect(purged.text.hasPrefix(#"{"purged":1,"#), "\(purged.text)")
        let ledger = trial.gateway.report.queue.ledger
        #expect(ledger.delivered == 2 && ledger.discarded == 1 && ledger.dead == 0)
        #expect(ledger.isClosed)
    }

    @Test("A letter that died again says how often it was replayed, and when last")
    func countsReplays() throws {
        let trial = try trial(1)
        let sandbox = TestClient(address: trial.sandbox.address)
        let poison = #"{"key":"number","code":"PostBodyInvalid"}"#
        #expect(try sandbox.post("/poisons", poison.utf8, SandboxedGateway.json).status < 300)
        let fresh = try trial.admin("/admin/dead-letters/\(try ids(trial)[0])").text
        #expect(fresh.contains(#""replays":0,"last_replay":null"#), "\(fresh)")
        #expect(fresh.contains(#""captures":[]"#))
        let first = try ids(trial)[0]
        #expect(try post(trial, "/admin/dead-letters/replay?all=true").status == 200)
        #expect(eventually { (try? ids(trial).first.map { $0 != first }) == true })
        let list = try trial.admin("/admin/dead-letters").text
        #expect(list.contains(#""replays":1,"last_replay":"2"#), "\(list)")
        let lines = try trial.admin("/admin/dead-letters").shown(.deadLetters)
        #expect(lines.contains("(replayed once)"), "\(lines)")
        let id = try ids(trial)[0]
        let page = try trial.admin("/admin/dead-letters/\(id)").shown(.deadLetter)
        #expect(page.contains("replayed     once, last at 2"), "\(page)")
    }

    @Test("An edited letter keeps its number and is delivered as edited")
    func edits() throws {
        let trial = try trial(1)
        let id = try #require(ids(trial).first)
        let log = #"{"__time__":1763700001,"fixed":"yes"}"#
        let answer = try trial.admin.ask("PUT", "/admin/dead-letters/\(id)?logstore=other", log)
        #expect(answer.status == 200, "\(answer.text)")
        let shown = try trial.admin("/admin/dead-letters/\(id)").text
        #expect(shown.contains(#""log":{"__time__":"1763700001","fixed":"yes"}"#), "\(shown)")
        #expect(shown.contains(#""logstore":"other""#))
        #expect(try post(trial, "/admin/dead-letters/replay?logstore=other").status == 200)
        #expect(trial.delivered(1))
    }

    @Test(
        "A wrong request is refused with its remedy",
        arguments: [
            ("POST", "/admin/dead-letters/replay", "", 400, "choose letters"),
            ("POST", "/admin/dead-letters/purge?ids=1&code=X", "", 400, "ids cannot be combined"),
            ("POST", "/admin/dead-letters/purge?ids=one", "", 400, "ids cannot be one"),
            ("GET", "/admin/dead-letters?limit=0", "", 400, "limit cannot be 0"),
            ("GET", "/admin/dead-letters?colour=red", "", 400, "colour is not a parameter here"),
            ("GET", "/admin/dead-letters/77777777", "", 404, "no dead letter 77777777"),
            ("PUT", "/admin/dead-letters/77777777", #"{"a":"b"}"#, 404, "no dead letter"),
            ("PUT", "/admin/dead-letters/1", "", 400, "nothing to change"),
            ("PUT", "/admin/dead-letters/1?logstore=A%2FB", "", 400, "logstore"),
            (
                "PUT", "/admin/dead-letters/1?code=X", "", 400,
                "code is not a parameter here; known: logstore"
            ),
            ("PUT", "/admin/dead-letters/1", #"[{"a":1},{"a":2}]"#, 400, "holds 2 logs"),
            ("PUT", "/admin/dead-letters/1", "nonsense", 400, "PostBodyInvalid"),
            ("DELETE", "/admin/dead-letters/1", "", 405, "GET, HEAD, PUT"),
        ]
    )
    func refuses(method: String, path: String, body: String, status: Int, words: String) throws {
        let trial = try SandboxedGateway()
        let answer = try trial.admin.ask(method, path, body)
        #expect(answer.status == status, "\(answer.text)")
        #expect(answer.text.contains(words), "\(answer.text)")
    }
}
