import Rendering
import Testing

@testable import CLI

@Suite struct ComplaintTests {
    private static let shown: [AdminRequest.Shown?] = [
        nil, { View.status.text(of: $0, page: $1) }, { View.deadLetters.text(of: $0, page: $1) },
        { status, _ in ClusterStatus.text(of: status, asJSON: false) },
        { status, _ in ClusterStatus.text(of: status, asJSON: true) },
    ]

    private func complaint(_ status: Int, _ body: String, _ shown: AdminRequest.Shown?) -> String {
        OperatorCommand.complaint(AdminAnswer(status: status, body: Array(body.utf8)), shown)
    }

    @Test("A gateway that waits for its queue says why, and shows no empty documents")
    func waiting() {
        let body = #"{"ready":false,"reasons":["the queue is opened","a \u001b[31mred word"]}"#
        for shown in Self.shown {
            #expect(
                complaint(503, body, shown) == "the queue is opened\na " + #"\u{1b}[31mred word"#
            )
        }
    }

    @Test("A refusal that is no gateway's is printed as it is", arguments: [422, 500, 502, 503])
    func foreign(status: Int) {
        for shown in Self.shown { #expect(complaint(status, "{}", shown) == "{}") }
        #expect(complaint(status, "", nil) == "HTTP \(status)")
    }

    @Test("The result of a test at SLS is shown by its view")
    func document() {
        let body =
            #"{"destination":"app","verdict":"refused","code":"X","message":"no","remedy":"retry"}"#
        let view: AdminRequest.Shown = { View.destinationTest.text(of: $0, page: $1) }
        for status in [422, 502] {
            #expect(complaint(status, body, view) == "app: refused: X: no; retry")
        }
        #expect(complaint(503, body, view) == body)
    }
}
