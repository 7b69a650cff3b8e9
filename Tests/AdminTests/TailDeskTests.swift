import Configuration
import Crypto
import Foundation
import Glibc
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Ingest
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct TailDeskTests {
    private let trial: SandboxedGateway

    init() throws { trial = try SandboxedGateway() }

    private func open(
        _ trial: SandboxedGateway,
        _ query: String = "",
        token: String = SandboxedGateway.token
    ) throws -> TestConnection {
        try trial.admin.opened(
            sending: "GET /admin/tail\(query) HTTP/1.1\r\nhost: h\r\n"
                + "authorization: Bearer \(token)\r\n\r\n"
        )
    }

    private func post(_ trial: SandboxedGateway, _ tag: String, _ log: String) throws {
        #expect(try trial.devices.post("/logs/\(tag)", log.utf8).status == 200)
    }

    @Test("The tail shows accepted logs, and costs nothing without viewers")
    func follows() throws {
        #expect(!trial.gateway.tail.isWatched)
        let tail = try open(trial)
        #expect(tail.receives("text/event-stream"))
        #expect(eventually { trial.gateway.tail.isWatched })
        try post(trial, "hello", #"{"a":"1"}"#)
        #expect(tail.receives(#""logstore":"hello""#))
        #expect(tail.unreadText.contains(#""a":"1""#), "\(tail.unreadText)")
        tail.close()
        #expect(
            eventually {
                try? post(trial, "hello", #"{"a":"2"}"#)
                return !trial.gateway.tail.isWatched
            }
        )
    }

    @Test("The tail shows only logs that match the filter")
    func filters() throws {
        let tail = try open(trial, "?logstore=wanted&field=level:error")
        #expect(tail.receives("as they are accepted"))
        try post(trial, "other", #"{"level":"error","n":"1"}"#)
        try post(trial, "wanted", #"[{"level":"info","n":"2"},{"level":"error","n":"3"}]"#)
        #expect(tail.receives(#""n":"3""#))
        #expect(!tail.unreadText.contains(#""n":"1""#) && !tail.unreadText.contains(#""n":"2""#))
    }

    @Test("The tail filters by tags, also with empty values, and shows them")
    func tags() throws {
        let tail = try open(trial, "?tag=os:17&field=note:")
        #expect(tail.receives("as they are accepted"))
        func track(_ os: String, _ note: String, _ number: Int) throws {
            let body =
                #"{"__tags__":{"os":"\#(os)"},"__logs__":[{"note":"\#(note)","n":"\#(number)"}]}"#
            let answer = try trial.devices.post("/logstores/wanted/track", body.utf8)
            #expect(answer.status == 200)
        }
        try track("16", "", 1)
        try track("17", "x", 2)
        try track("17", "", 3)
        #expect(tail.receives(#""n":"3""#))
        let heard = tail.unreadText
        #expect(!heard.contains(#""n":"1""#) && !heard.contains(#""n":"2""#))
        #expect(heard.contains(#""os":"17""#), "\(heard)")
        #expect(try trial.admin("/admin/tail?field=:x").status == 400)
    }

    @Test("A log that is larger than a stream's buffer is shown with its beginning, and not missed")
    func large() throws {
        let tail = try open(trial)
        #expect(tail.receives("as they are accepted"))
        let filling = String(repeating: "x", count: 600_000)
        try post(trial, "hello", #"{"a":"\#(filling)","n":"1"}"#)
        #expect(tail.receives(#""n":"1""#))
        let heard = tail.unreadText
        #expect(heard.contains("xxx… [cut, 600000 bytes]") && heard.contains(#""cut":{"bytes":"#))
        #expect(!heard.contains("event: missed"))
    }

    @Test("A viewer with a rate gets so many logs, after the filter, and learns what was left out")
    func rate() throws {
        let tail = try open(trial, "?rate=10&field=level:error")
        #expect(tail.receives("as they are accepted"))
        let error = #"{"level":"error"}"#
        let logs = (0..<500).map { _ in #"{"level":"info"},\#(error)"# }.joined(separator: ",")
        try post(trial, "hello", "[\(logs)]")
        #expect(tail.receives("event: sampled"))
        #expect(tail.receives("milliseconds"))
        let heard = tail.unreadText
        let shown = heard.components(separatedBy: #""level":"error""#).count - 1
        #expect((1...5).contains(shown), "\(shown)")
        #expect(heard.contains(#"{"matched":500,"shown":\#(shown),"milliseconds":"#), "\(heard)")
        #expect(!heard.contains("info") && !heard.contains("event: missed"))
        for wrong in ["0", "-1", "100001", "x", ""] {
            let refused = try trial.admin("/admin/tail?rate=\(wrong)")
            #expect(refused.status == 400 && refused.text.contains("logs a second"), "\(wrong)")
        }
    }

    @Test("A tail ends when its token is removed")
    func takenToken() throws {
        let tail = try open(trial)
        #expect(tail.receives("as they are accepted"))
        trial.gateway.tail.keep { _ in true }
        try post(trial, "hello", #"{"a":"1"}"#)
        #expect(tail.receives(#""a":"1""#))
        var changed = trial.gateway.configuration.withLock { $0 }
        changed.admin.token = Secret("another token of at least thirty-two characters")
        let new = changed
        trial.gateway.reload(new)
        #expect(tail.receives("\r\n0\r\n\r\n"))
    }

    @Test("A viewer that does not read delays no other, and the number of viewers is bounded")
    func slow() throws {
        let sleeper = try open(trial)
        #expect(sleeper.receives("as they are accepted"))
        let filling = String(repeating: "x", count: 200_000)
        for _ in 0..<20 { try post(trial, "hello", #"{"a":"\#(filling)"}"#) }
        #expect(trial.delivered(20))
        var more: [TestConnection] = []
        for _ in 1..<Tail.shares.ofToken { more.append(try open(trial)) }
        for each in more { #expect(each.receives("as they are accepted")) }
        let refused = try trial.admin("/admin/tail")
        #expect(refused.status == 503 && refused.text.contains("of this token"))
        #expect(try trial.admin("/admin/tail?colour=red").status == 400)
    }

    @Test("Tokens for reading leave room for those that may change things")
    func readers() throws {
        let tokens = ["a", "b", "c"].map { String(repeating: $0, count: 32) }
        let trial = try SandboxedGateway { configuration in
            configuration.admin.tokens = tokens.map {
                NamedToken(name: String($0.prefix(1)), secret: Secret($0), role: .read)
            }
        }
        var tails: [TestConnection] = []
        for token in tokens {
            for _ in 0..<Tail.shares.ofToken { tails.append(try open(trial, token: token)) }
        }
        let ofReaders = Tail.shares.ofReaders
        #expect(eventually { tails.count { $0.receives("200 OK") } == ofReaders })
        #expect(try open(trial).receives("as they are accepted"))
    }
}
