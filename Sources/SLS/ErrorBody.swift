import JSON

/// `{"errorCode":"...","errorMessage":"..."}`, the body of SLS's refusals.
///
/// Read strictly, but for content that nobody asked for: other members are passed over whatever they
/// hold. Anything that is not such an object (a proxy's page) is nil.
struct ErrorBody: Equatable {
    let code: String
    /// Whole, as long as the body is: what is cut can hold half a secret, which nobody recognises.
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
        self.message = Self.printable(message ?? "")
    }

    /// Codes become labels of metrics, so they have to look like one.
    private static func isCode(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII
                    && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                    || scalar == "." || scalar == "_" || scalar == "-"
            }
    }

    /// One line, whatever the server wrote.
    private static func printable(_ text: String) -> String {
        var line = ""
        for scalar in text.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            line.unicodeScalars.append(isControl ? " " : scalar)
        }
        return line
    }
}
