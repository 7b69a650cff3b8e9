/// A request to a gateway's admin listener.
package struct AdminRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    package var method: Method
    package var path: String
    /// In this order; encoded on sending.
    package var query: [(name: String, value: String)]
    package var accept: String
    package var body: [UInt8]?
    /// The name of the array that a JSON listing's pages continue. The pages are printed as one
    /// document.
    package var arrayOfPages: String?
    /// Makes what is printed of an answer, or of a page; nil: the answer as it is.
    package var shown: Shown?

    package typealias Shown = @Sendable (_ answer: [UInt8], _ page: Int) -> String

    static let routeTestPath = "/admin/routes/test"

    /// True for a request that changes nothing.
    var isReading: Bool {
        method == .get || path == Self.routeTestPath
            || path.hasSuffix("/replay")
                && path.hasPrefix("/admin/captures/") && query.isEmpty
    }

    package init(
        _ method: Method,
        _ path: String,
        query: [(name: String, value: String)] = [],
        accept: String = "application/json",
        body: [UInt8]? = nil,
        arrayOfPages: String? = nil,
        shown: Shown? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.accept = accept
        self.body = body
        self.arrayOfPages = arrayOfPages
        self.shown = shown
    }

    /// Path and query as in the request line.
    var target: String {
        guard !query.isEmpty else { return path }
        return path + "?"
            + query.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }.joined(
                separator: "&"
            )
    }

    /// RFC 3986 section 2.3: only unreserved characters need no escape anywhere.
    package static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isPlain = character.isASCII && (character.isLetter || character.isNumber)
            if isPlain || "-._~".contains(character) { return String(character) }
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
        }.joined()
    }
}
