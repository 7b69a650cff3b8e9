import HTTP
import Queue
import System
import Testing

@testable import Admin

/// What gateways ask each other for operators.
@Suite struct ClusterQuestionTests {
    @Test("A question is read as it was written, and nonsense is none")
    func questions() {
        let actor = Operator(name: "admin (certificate \"x\")", address: "192.0.2.1")
        let questions: [ClusterQuestion] = [
            .sums,
            .letters(
                LetterName(shard: "gw-1~0a1b2c3d", number: 0),
                DeadLetterFilter(destination: "app", code: "Wrong"),
                limit: 100,
                isWhole: false
            ),
            .letters(
                LetterName(shard: "a", number: 1),
                DeadLetterFilter(),
                limit: 1,
                isWhole: true
            ),
            .request(
                RelayedRequest(
                    method: .put,
                    target: "/admin/dead-letters/gw-1~0a1b2c3d-7?logstore=x",
                    actor: actor,
                    body: Array(#"{"a":"b"}"#.utf8)
                )
            ),
        ]
        for question in questions {
            #expect(ClusterQuestion(question.bytes) == question)
            for length in 0..<question.bytes.count {
                #expect(ClusterQuestion(Array(question.bytes.prefix(length))) == nil)
            }
        }
        #expect(
            ClusterQuestion(Array(#"{"method":"DELETE","target":"/","actor":"a","body":""}"#.utf8))
                == nil
        )
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
        #expect(relayed == get && ClusterQuestion(ClusterQuestion.request(relayed).bytes) != nil)
    }

    @Test("Answers are read as they were written")
    func answers() {
        let letters = ClusterAnswer.Letters(rows: [#"{"a":"\u0000"}"#, "é"], next: 1 << 40)
        #expect(ClusterAnswer.letters(ClusterAnswer.bytes(of: letters)) == letters)
        let end = ClusterAnswer.Letters(rows: [], next: nil)
        #expect(ClusterAnswer.letters(ClusterAnswer.bytes(of: end)) == end)
        let sums = [
            DeadLetterSum(
                destination: "app",
                code: "Wrong",
                letters: 3,
                bytes: 900,
                latest: WallTime(nanoseconds: 5_000_000_000)
            )
        ]
        #expect(ClusterAnswer.sums(ClusterAnswer.bytes(of: sums)) == sums)
        let response = Response(status: 409, contentType: "text/plain", text: "no\n")
        let read = ClusterAnswer.response(ClusterAnswer.bytes(of: response))
        #expect(read?.status == 409 && read?.body == response.body)
        #expect(ClusterAnswer.letters(ClusterAnswer.bytes(of: response)) == nil)
        #expect(ClusterAnswer.sums(ClusterAnswer.bytes(of: response)) == nil)
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
