import Configuration
import Net
import Rendering
import Testing

@testable import CLI

@Suite(.timeLimit(.minutes(10))) struct AdminClientTests {
    /// What a client says of a gateway that takes a request and never answers.
    func complaint(_ method: AdminRequest.Method) throws -> String {
        let listener = try Listener(ListenAddress(parsing: "127.0.0.1:0"))
        let client = AdminClient(
            AdminAccess(address: listener.address, token: nil),
            patience: .seconds(1)
        )
        let error = #expect(throws: AdminClient.Unreachable.self) {
            try client.ask(AdminRequest(method, "/admin/dead-letters/replay"))
        }
        withExtendedLifetime(listener) {}
        return error?.description ?? ""
    }

    @Test("A change that takes too long goes on, and the command says so and where to look")
    func change() throws {
        let text = try complaint(.post)
        #expect(text.contains("has not answered within 1 s, but it continues"), "\(text)")
        #expect(text.contains("sluice status"), "\(text)")
    }

    @Test("A question that is not answered in time changes nothing")
    func question() throws {
        let text = try complaint(.get)
        #expect(text.hasSuffix("has not answered within 1 s; try again when it is less busy"))
    }

    @Test("Where nobody listens the command says how to name the place")
    func nobody() throws {
        let access = AdminAccess(address: try ListenAddress(parsing: "127.0.0.1:1"), token: nil)
        let error = #expect(throws: AdminClient.Unreachable.self) {
            try AdminClient(access).ask(AdminRequest(.get, "/admin/status"))
        }
        #expect(error?.description.contains("no gateway answers at 127.0.0.1:1") == true)
    }
}

@Suite struct AdminAnswerTests {
    private func problem(_ text: String) -> String? {
        AdminAnswer(status: 400, body: Array(text.utf8)).problem
    }

    @Test("A refusal is read for a person, with its code behind it")
    func read() {
        let text =
            #"{"error":{"code":"CredentialRefused","message":"SLS says \"no\"","position":3}}"#
        #expect(problem(text) == #"SLS says "no" (CredentialRefused)"#)
        #expect(problem(#"{"error":{"message":"no"}}"#) == "no")
        #expect(problem(#"{"ready":false,"reasons":["a","b"]}"#) == "a\nb")
    }

    @Test(
        "What is no refusal of ours is left as it is",
        arguments: [
            "", "ok\n", "{}", #"{"error":"x"}"#, #"{"error":{"code":"X"}}"#, #"{"error":{"#,
            #"{"reasons":[]}"#, #"{"reasons":"x"}"#,
        ]
    )
    func others(text: String) {
        #expect(problem(text) == nil)
    }
}

@Suite struct PagedDocumentTests {
    func joined(_ pages: [String]) -> String {
        var document = PagedDocument(array: "dead_letters")
        var text = ""
        for (index, page) in pages.enumerated() {
            let part = document.part(of: Array(page.utf8), isLast: index == pages.count - 1)
            text += part.map { String(decoding: $0, as: UTF8.self) } ?? "no page"
        }
        return text
    }

    @Test("Pages become one document with the elements of all, and what the first page says")
    func several() {
        let pages = [
            #"{"sums":[{"letters":3}],"dead_letters":[{"id":1},{"id":2}],"next":2}"# + "\n",
            #"{"sums":[],"dead_letters":[{"id":3}],"next":3}"# + "\n",
            #"{"sums":[],"dead_letters":[],"next":null}"# + "\n",
        ]
        #expect(
            joined(pages)
                == #"{"sums":[{"letters":3}],"dead_letters":[{"id":1},{"id":2},{"id":3}],"#
                + #""next":null}"# + "\n"
        )
    }

    @Test("A single page stays as it is, also an empty one")
    func single() {
        for elements in ["", #"{"id":1}"#] {
            let page = #"{"sums":[],"dead_letters":[\#(elements)],"next":null}"# + "\n"
            #expect(joined([page]) == page)
        }
    }

    @Test("What looks like the marks inside of a text is text")
    func marks() {
        let log = #"{"id":1,"log":{"a":"\"dead_letters\":[","b":"],\"next\":"}}"#
        let pages = [
            #"{"sums":[],"dead_letters":[\#(log)],"next":1}"#,
            #"{"sums":[],"dead_letters":[\#(log)],"next":null}"#,
        ]
        #expect(
            joined(pages) == #"{"sums":[],"dead_letters":[\#(log),\#(log)],"next":null}"# + "\n"
        )
    }

    @Test("An element may have an array, and a member named as the page's")
    func nested() {
        let element = #"{"id":1,"dead_letters":["a"],"next":2}"#
        let page = #"{"dead_letters":[\#(element)],"next":null}"# + "\n"
        #expect(
            joined([page, page]) == #"{"dead_letters":[\#(element),\#(element)],"next":null}"#
                + "\n"
        )
    }

    @Test("What is no page is left to be printed as it is")
    func others() {
        #expect(joined([#"{"error":"x"}"#]) == "no page")
    }
}

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
