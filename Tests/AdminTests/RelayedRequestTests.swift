import HTTP
import Queue
import System
import Testing

@testable import Admin

/// What gateways ask each other for operators.
@Suite struct RelayedRequestTests {
    @Test("A question is read as it was written, and nonsense is none")
    func questions() throws {
        let actor = Operator(name: "admin (certificate \"x\")", address: "192.0.2.1")
        let filter = DeadLetterFilter(destination: "app", code: "W & + é")
        let first = LetterName(shard: "gw-1~0a1b2c3d", number: 0)
        let questions: [RelayedRequest] = [
            .letters("/admin/dead-letters"),
            .letters("/admin/dead-letters/export", matching: filter, after: first, limit: 100),
            RelayedRequest(
                method: .put,
                target: "/admin/dead-letters/gw-1~0a1b2c3d-7?logstore=x",
                actor: actor,
                body: Array(#"{"a":"b"}"#.utf8)
            ),
        ]
        for question in questions {
            #expect(RelayedRequest(question.bytes) == question)
            for length in 0..<question.bytes.count {
                #expect(RelayedRequest(Array(question.bytes.prefix(length))) == nil)
            }
        }
        let wrong = #"{"method":"DELETE","target":"/","actor":"a","body":""}"#
        #expect(RelayedRequest(Array(wrong.utf8)) == nil)
        let query = try DeadLetterQuery(questions[1].head)
        #expect(query.filter == filter && query.after == first && query.limit == 100)
        #expect(try DeadLetterQuery(questions[0].head).after == nil)
    }

    @Test("A relayed request has the path, the query and the address of the first one")
    func head() {
        let request = RelayedRequest(
            method: .get,
            target: "/admin/queue?streams=5&order=oldest",
            actor: Operator(name: "", address: "2001:db8::1")
        )
        let head = request.head
        #expect(head.method == .get && head.pathText == "/admin/queue")
        #expect(head.queryText == "streams=5&order=oldest")
        #expect(head.peer.host == "2001:db8::1")
        #expect(RelayedRequest(head, request.actor) == request)
        let plain = RelayedRequest(
            method: .post,
            target: "/admin/dead-letters/replay",
            actor: request.actor
        )
        #expect(plain.head.query == nil)
        #expect(RelayedRequest(plain.head, plain.actor) == plain)
    }

    @Test(
        "A relayed request selects other letters if wanted, and a HEAD asks for what GET gives"
    )
    func variants() throws {
        let actor = Operator(name: "a", address: "192.0.2.1")
        let request = RelayedRequest(
            method: .post,
            target: "/admin/dead-letters/replay?ids=x-1,y-2",
            actor: actor
        )
        let one = request.selecting([LetterName(shard: "x", number: 1)])
        #expect(one.target == "/admin/dead-letters/replay?ids=x-1")
        #expect(one.actor == actor && one.method == .post)
        let get = RelayedRequest(
            method: .get,
            target: "/admin/queue",
            actor: actor
        )
        let bytes = Array("HEAD /admin/queue HTTP/1.1\r\n\r\n".utf8)
        let head = RequestHead(
            bytes: bytes,
            method: .head,
            path: 5..<17,
            query: nil,
            fields: [],
            minorVersion: 1,
            peer: PeerAddress(host: "192.0.2.1", port: 0)
        )
        let relayed = RelayedRequest(head, actor)
        #expect(relayed == get && RelayedRequest(relayed.bytes) != nil)
    }

    @Test("Answers are read as they were written")
    func answers() {
        let sums = [
            DeadLetterSum(
                destination: "app",
                code: "Wrong",
                letters: 3,
                bytes: 900,
                latest: WallTime(nanoseconds: 5_000_000_000)
            )
        ]
        #expect(ClusterAnswer.sums(ClusterAnswer.response(with: sums)) == sums)
        var response = Response(status: 409, contentType: "text/plain", text: "no\n{\"\u{0}é")
        for next in [nil, "17"] {
            response.continues(at: next)
            let read = ClusterAnswer.response(ClusterAnswer.bytes(of: response))
            #expect(read?.status == 409 && read?.body == response.body)
            #expect(read?.contentType == "text/plain" && read?["x-sluice-next"] == next)
        }
        #expect(ClusterAnswer.sums(response) == nil)
    }

    @Test("A letter's name is a number, behind its shard in a cluster")
    func names() {
        for text in ["1", "0", "gw-1~0a1b2c3d-17", "a-b-c~00000000-9"] {
            #expect(LetterName(text)?.description == text)
        }
        #expect(LetterName("gw-1~0a1b2c3d-17")?.shard == "gw-1~0a1b2c3d")
        for text in [
            "", "-", "-1", "a", "a-", "a-b", "1.5", "99999999999999999999", "a- 1", "a-+1",
        ] {
            #expect(LetterName(text) == nil, "\(text)")
        }
    }
}
