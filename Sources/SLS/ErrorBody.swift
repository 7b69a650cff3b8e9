import JSON
import System

/// `{"errorCode":"...","errorMessage":"..."}`, the body of SLS's error answers.
///
/// The syntax is checked strictly, but other members may hold anything. A body that is no such
/// object, such as a proxy's page, gives nil.
struct ErrorBody: Equatable {
    let code: String
    /// Uncut: a cut could leave half a secret, which redaction would not recognise.
    let message: String

    init?(parsing body: [UInt8]) {
        var reader = JSONReader(body)
        var code: String?
        var message: String?
        guard reader.take("{") else { return nil }
        var isFirst = true
        while !reader.take("}") {
            guard isFirst || reader.take(","), let name = reader.string(), reader.take(":") else {
                return nil
            }
            isFirst = false
            switch name {
            case "errorCode":
                guard let text = reader.string() else { return nil }
                code = text
            case "errorMessage":
                guard let text = reader.string() else { return nil }
                message = text
            default:
                guard reader.skipValue() else { return nil }
            }
        }
        guard let code, reader.isAtEnd, Self.isCode(code) else { return nil }
        self.code = code
        self.message = TerminalText.line(message ?? "")
    }

    /// Codes become metric labels, so they must look like identifiers.
    private static func isCode(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII
                    && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                    || scalar == "." || scalar == "_" || scalar == "-"
            }
    }
}
