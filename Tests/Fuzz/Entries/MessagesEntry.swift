import CommitLog
import HTTP
import System

@testable import Admin
@testable import Fleet
@testable import Queue

/// What gateways of a cluster send each other: parts, messages, questions and answers.
enum MessagesEntry: FuzzEntry {
    static let name = "messages"
    static let bytesMax = 4096

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        var parts = MessageParts()
        _ = parts.add(bytes, .now)
        for part in MessageParts.cut(bytes, to: 1024).dropLast() { _ = parts.add(part, .now) }
        if let message = FleetMessage(bytes) {
            try check(FleetMessage(message.bytes) == message, "a message reads otherwise")
        }
        if let question = ClusterQuestion(bytes) {
            try check(ClusterQuestion(question.bytes) == question, "a question reads otherwise")
            if case .request(let request) = question { _ = request.head.queryPairs }
        }
        if let name = LetterName(String(decoding: bytes, as: UTF8.self)) {
            try check(LetterName(name.description) == name, "a name reads otherwise")
        }
        _ = ClusterAnswer.letters(bytes)
        _ = ClusterAnswer.sums(bytes)
        _ = ClusterAnswer.response(bytes)
    }
}
