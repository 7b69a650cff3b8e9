import Crypto
import System

/// Why a source gave no credential: cause, place and remedy, in one sentence without secrets.
package struct SourceProblem: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: String, Sendable {
        /// The next try may succeed.
        case temporary
        /// A person must change something first.
        case permanent
    }

    package let kind: Kind
    package let what: String
    package let remedy: String
    /// The server's own text, if there was an answer.
    package let words: ServerWords?

    init(_ kind: Kind, _ what: String, remedy: String, words: ServerWords? = nil) {
        self.kind = kind
        self.what = what
        self.remedy = remedy
        self.words = words
    }

    static func temporary(
        _ what: String,
        remedy: String,
        words: ServerWords? = nil
    ) -> SourceProblem {
        SourceProblem(.temporary, what, remedy: remedy, words: words)
    }

    static func permanent(
        _ what: String,
        remedy: String,
        words: ServerWords? = nil
    ) -> SourceProblem {
        SourceProblem(.permanent, what, remedy: remedy, words: words)
    }

    package var description: String {
        "\(what)\(words.map { " (\($0))" } ?? ""); \(remedy)"
    }
}

/// A server's refusal in its own words, bounded and redacted.
package struct ServerWords: Sendable, Equatable, CustomStringConvertible {
    package let status: Int
    package let code: String?
    package let message: String?
    package let requestID: String?

    init(
        status: Int,
        code: String? = nil,
        message: String? = nil,
        requestID: String? = nil,
        hiding secrets: [Secret] = []
    ) {
        let mask = EchoMask(secrets)
        func cleaned(_ text: String?, bytesMax: Int) -> String? {
            guard let text, !text.isEmpty else { return nil }
            return TerminalText.line(mask.blotted(text, bytesMax: bytesMax))
        }
        self.status = status
        self.code = cleaned(code, bytesMax: 96)
        self.message = cleaned(message, bytesMax: 512)
        self.requestID = cleaned(requestID, bytesMax: 64)
    }

    package var description: String {
        var text = "\(status)"
        if let code { text += " \(code)" }
        if let message { text += ": \(message)" }
        if let requestID { text += ", request \(requestID)" }
        return text
    }
}
