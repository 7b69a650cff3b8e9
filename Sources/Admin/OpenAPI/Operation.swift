import HTTP

/// One path of the admin listener and what may be asked there.
struct PathItem: Sendable {
    /// With `{name}` where there is a parameter.
    let template: String
    let operations: [Operation]
}

/// A method of a path.
struct Operation: Sendable {
    enum Place: String { case path, query, header }

    struct Parameter: Sendable {
        let name: String
        let place: Place
        let schema: Schema
        let says: String
        var example: String?
    }

    struct Body: Sendable {
        let types: [String]
        let schema: Schema
        let isRequired: Bool
    }

    var method: RequestHead.Method = .get
    /// What generated clients call it.
    var id: String
    var says: String
    var parameters: [Parameter] = []
    var body: Body?
    var answers: [DocumentedAnswer]
    /// Without a token.
    var isOpen = false
}

/// What may come back.
struct DocumentedAnswer: Sendable {
    let status: Int
    let says: String
    /// By media type; a text where there is no schema.
    var contents: [(type: String, schema: Schema)] = []
    /// Of those that the document knows.
    var headers: [String] = []
    var links: [Link] = []

    func linked(to links: Link...) -> DocumentedAnswer {
        var answer = self
        answer.links = links
        return answer
    }
}

/// What may be asked next, with what an answer says.
struct Link: Sendable {
    let name: String
    /// The operation's id.
    let operation: String
    /// Runtime expressions by the names of the operation's parameters.
    let parameters: KeyValuePairs<String, String>
}

extension DocumentedAnswer {
    private static let textType = "text/plain"

    /// JSON for scripts and, asked for with `Accept: text/plain`, a text for people.
    static func fine(_ says: String, _ schema: String, headers: [String] = []) -> DocumentedAnswer {
        let contents: [(type: String, schema: Schema)] = [
            ("application/json", .named(schema)), (textType, .string),
        ]
        return DocumentedAnswer(status: 200, says: says, contents: contents, headers: headers)
    }

    static func text(_ says: String) -> DocumentedAnswer {
        DocumentedAnswer(status: 200, says: says, contents: [(textType, .string)])
    }

    /// No, and why.
    static func refusal(_ status: Int, _ says: String) -> DocumentedAnswer {
        let headers =
            switch status {
            case 401: ["www-authenticate"]
            case 429, 503: ["retry-after"]
            default: [String]()
            }
        return DocumentedAnswer(
            status: status,
            says: says,
            contents: [("application/json", .named("Error"))],
            headers: headers
        )
    }

    /// To any request that cannot be read or whose sender may not.
    static let everywhere: [DocumentedAnswer] = [
        .refusal(
            400,
            "the request cannot be read, or has a parameter or a body that means nothing here"
        ),
        .refusal(408, "the request comes too slowly"),
        .refusal(414, "the request line is longer than 8 KiB"),
        .refusal(415, "a body that is not application/json"),
        .refusal(417, "an expectation other than 100-continue"),
        .refusal(431, "the head is longer than 16 KiB or has more than 100 fields"),
        .refusal(501, "a transfer coding that is not spoken here"),
        .refusal(
            503,
            "the gateway has too much to do, its disk is full, or it stops; nothing was done"
        ),
        .refusal(505, "another version of HTTP"),
    ]

    static let closed: [DocumentedAnswer] = [
        .refusal(401, "no token, or not one that is known"),
        .refusal(429, "too many different wrong tokens came from this address"),
    ]
}

extension Operation {
    /// `GET`, and `HEAD` with it.
    static func look(_ operation: Operation) -> [Operation] {
        var head = operation
        head.method = .head
        head.id += "Head"
        head.says += ": the head alone"
        head.answers = operation.allAnswers.map {
            DocumentedAnswer(status: $0.status, says: $0.says)
        }
        return [operation, head]
    }

    /// Its own, and those that it has in common with others.
    var allAnswers: [DocumentedAnswer] {
        var common = DocumentedAnswer.everywhere + (isOpen ? [] : DocumentedAnswer.closed)
        if !method.isReading {
            common.append(.refusal(403, "a token that may only look"))
        }
        if body != nil {
            common.append(.refusal(411, "a body without its length"))
            common.append(.refusal(413, "the body is larger than it may be"))
        }
        let own = Set(answers.map(\.status))
        return (answers + common.filter { !own.contains($0.status) })
            .sorted { $0.status < $1.status }
    }
}
