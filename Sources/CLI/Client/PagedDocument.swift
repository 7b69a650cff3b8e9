/// Joins the pages of a JSON listing into one document: the first page's members with the elements of all pages. It
/// works page by page, so that memory holds only one.
///
/// A page is `{…,"name":[…],"next":…}`. Quotes inside texts are escaped, and no object in the array has an array of its
/// own, so both marks are unique.
struct PagedDocument {
    private let opening: [UInt8]
    private static let closing = Array("],\"next\":".utf8)
    private var hasBegun = false
    private var hasElements = false

    init(array name: String) {
        opening = Array("\"\(name)\":[".utf8)
    }

    /// The text to print for the next page; nil when it is no page of such a listing.
    mutating func part(of page: [UInt8], isLast: Bool) -> [UInt8]? {
        guard let start = page.firstRange(of: opening)?.upperBound,
            let end = Self.lastClosing(page),
            start <= end
        else { return nil }
        let elements = page[start..<end]
        var part = hasBegun ? [] : Array(page[..<start])
        if hasElements, !elements.isEmpty { part.append(UInt8(ascii: ",")) }
        part += elements
        if isLast { part += Self.closing + Array("null}\n".utf8) }
        hasBegun = true
        hasElements = hasElements || !elements.isEmpty
        return part
    }

    private static func lastClosing(_ page: [UInt8]) -> Int? {
        guard page.count >= closing.count else { return nil }
        return (0...page.count - closing.count).last {
            page[$0] == closing[0] && page[$0..<$0 + closing.count].elementsEqual(closing)
        }
    }
}
