import JSON

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
