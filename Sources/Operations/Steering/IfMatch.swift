package import HTTP

/// Which versions of a thing a change is meant for: `If-Match` of RFC 9110, section 13.1.1.
package enum IfMatch: Equatable, Sendable {
    /// The request does not say.
    case anything
    /// `*`: whatever there is, as long as there is something.
    case whateverThereIs
    /// Entity tags with their quotes. Weak ones are left out: the comparison is the strong one, in which they match
    /// nothing (section 8.8.3.2).
    case versions([String])

    package init(_ head: RequestHead) throws(HTTPProblem) {
        guard let list = head.list("if-match") else {
            self = .anything
            return
        }
        guard let read = IfMatch(list: list) else {
            throw HTTPProblem(
                400,
                "ParameterInvalid",
                "If-Match is * or versions in double quotes, as the ETag of an answer has them"
            )
        }
        self = read
    }

    init?(list: String) {
        guard list != "*" else {
            self = .whateverThereIs
            return
        }
        var tags = EntityTags(list: list)
        guard tags.readAll() else { return nil }
        self = .versions(tags.strong)
    }

    /// Refuses what is not meant for this version; nil where there is none.
    func check(_ version: String?) throws(HTTPProblem) {
        let isMeant =
            switch self {
            case .anything: true
            case .whateverThereIs: version != nil
            case .versions(let versions): version.map(versions.contains) ?? false
            }
        guard !isMeant else { return }
        throw HTTPProblem(
            412,
            "PreconditionFailed",
            "it is another version than the change is meant for, perhaps since somebody changed it meanwhile; "
                + "look at it again"
        )
    }
}

/// Reads `#entity-tag`, commas in tags included, and elements that are empty.
private struct EntityTags {
    private var rest: ArraySlice<UInt8>
    private(set) var strong: [String] = []

    init(list: String) {
        rest = Array(list.utf8)[...]
    }

    /// False when it is no such list, or an empty one.
    mutating func readAll() -> Bool {
        var count = 0
        skip { $0.isBlank || $0 == .comma }
        while !rest.isEmpty {
            guard readOne() else { return false }
            count += 1
            skip(\.isBlank)
            guard rest.isEmpty || rest.first == .comma else { return false }
            skip { $0.isBlank || $0 == .comma }
        }
        return count > 0
    }

    private mutating func readOne() -> Bool {
        let isWeak = rest.starts(with: "W/".utf8)
        if isWeak { rest = rest.dropFirst(2) }
        let quote = UInt8(ascii: "\"")
        guard rest.first == quote, let end = rest.dropFirst().firstIndex(of: quote) else {
            return false
        }
        let tag = rest[...end]
        // Section 8.8.3, etagc: neither controls nor spaces.
        guard tag.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return false }
        if !isWeak { strong.append(String(decoding: tag, as: UTF8.self)) }
        rest = rest[(end + 1)...]
        return true
    }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        rest = rest.drop(while: isSkipped)
    }
}

extension UInt8 {
    fileprivate static let comma = UInt8(ascii: ",")

    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
