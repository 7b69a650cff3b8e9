import JSON
import System

/// A request to a gateway's admin listener.
struct AdminRequest: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    var method: Method
    var path: String
    /// In this order; encoded on sending.
    var query: [(name: String, value: String)]
    var accept: String
    var body: [UInt8]?
    /// The array of a JSON listing whose pages are printed as one document.
    var arrayOfPages: String?
    /// Makes what is printed of an answer, or of a page; nil: the answer as it is.
    var shown: Shown?

    typealias Shown = @Sendable (_ answer: [UInt8], _ page: Int) -> String

    static let routeTestPath = "/admin/routes/test"

    /// True for a request that changes nothing.
    var isReading: Bool {
        method == .get || path == Self.routeTestPath
            || path.hasSuffix("/replay")
                && path.hasPrefix("/admin/captures/") && query.isEmpty
    }

    init(
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
    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isPlain = character.isASCII && (character.isLetter || character.isNumber)
            if isPlain || "-._~".contains(character) { return String(character) }
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count == 1 ? "%0\(digits)" : "%\(digits)"
        }.joined()
    }
}

/// The gateway's answer.
struct AdminAnswer: Sendable {
    var status = 0
    var body: [UInt8] = []
    /// The start of the listing's next page; nil after the last page.
    var next: String?
    /// Gateways of the cluster that are not in it.
    var missing: String?

    var text: String { String(decoding: body, as: UTF8.self) }
    var isFine: Bool { (200..<300).contains(status) }

    /// Why the gateway refuses, safe for a terminal: `{"error":{"code":…,"message":…}}` as a
    /// sentence, or the lines of `{"ready":false,"reasons":[…]}`.
    var problem: String? {
        let json = try? JSONValue(parsing: body)
        if let message = json?["error"]?["message"]?.text {
            let code = json?["error"]?["code"]?.text.map { " (\($0))" } ?? ""
            return TerminalText.sentence(message + code)
        }
        let reasons = (json?["reasons"]?.elements ?? []).compactMap(\.text).prefix(20)
        guard !reasons.isEmpty else { return nil }
        return reasons.map { TerminalText.sentence($0) }.joined(separator: "\n")
    }
}

/// Joins the pages of a JSON listing into one document: the first page's members with the elements
/// of all pages. It works page by page, so that memory holds only one.
///
/// A page is `{…,"name":[…],"next":…}`.
struct PagedDocument {
    private let name: String
    private var hasBegun = false
    private var hasElements = false

    init(array name: String) {
        self.name = name
    }

    /// The text to print for the next page; nil when it is no page of such a listing.
    mutating func part(of page: [UInt8], isLast: Bool) -> [UInt8]? {
        guard let elements = elements(of: page) else { return nil }
        var part = hasBegun ? [] : Array(page[..<elements.startIndex])
        if hasElements, !elements.isEmpty { part.append(UInt8(ascii: ",")) }
        part += elements
        if isLast { part += Array("],\"next\":null}\n".utf8) }
        hasBegun = true
        hasElements = hasElements || !elements.isEmpty
        return part
    }

    /// The array's content, without its brackets.
    private func elements(of page: [UInt8]) -> ArraySlice<UInt8>? {
        var json = JSONReader(page)
        guard json.take("{") else { return nil }
        var elements: ArraySlice<UInt8>?
        repeat {
            guard let member = json.string(), json.take(":"), let value = json.value() else {
                return nil
            }
            if member == name, value.first == UInt8(ascii: "[") {
                elements = value.dropFirst().dropLast()
            }
        } while json.take(",")
        return json.take("}") && json.isAtEnd ? elements : nil
    }
}
