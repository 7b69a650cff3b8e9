package import HTTP
import System

/// The versions that a change is meant for: `If-Match` of RFC 9110, section 13.1.1.
package enum IfMatch: Equatable, Sendable {
    /// The request has no condition.
    case anything
    /// `*`: any version, as long as the thing exists.
    case whateverThereIs
    /// Entity tags with their quotes. Weak tags are left out: in the strong comparison they match
    /// nothing (section 8.8.3.2).
    case versions([String])

    package init(_ head: RequestHead) throws(HTTPProblem) {
        guard let list = head.list("if-match") else {
            self = .anything
            return
        }
        guard let read = IfMatch(list: list) else {
            throw .query(
                "If-Match must be * or versions in double quotes, as in the ETag of an answer"
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

    /// Throws if the change is meant for another version; nil: the thing does not exist.
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
            "the version in If-Match is not the present one; read the present version and retry"
        )
    }
}

/// Reads `#entity-tag`, with commas in tags and empty elements.
private struct EntityTags {
    private var rest: ArraySlice<UInt8>
    private(set) var strong: [String] = []

    init(list: String) {
        rest = Array(list.utf8)[...]
    }

    /// False when the text is not such a list, or the list is empty.
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
        // Section 8.8.3, etagc: no control characters, no spaces.
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
