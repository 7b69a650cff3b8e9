/// The content of a successful answer.
struct AnswerContent: Sendable, Equatable {
    var body: [UInt8] = []
    var type = "application/json"

    static func plain(_ text: String) -> AnswerContent {
        AnswerContent(body: Array(text.utf8), type: "text/plain")
    }

    static let empty = AnswerContent()
}
