/// What an error code of SLS means for an operator. What it means for delivery is the judge's to say.
package struct ErrorCode: Sendable, Equatable {
    package let name: String
    /// What happened, for an operator.
    package let meaning: String
    /// What to do about it.
    package let remedy: String

    init(_ name: String, _ meaning: String, _ remedy: String) {
        self.name = name
        self.meaning = meaning
        self.remedy = remedy
    }

    package static func known(_ name: String) -> ErrorCode? {
        byName[name]
    }

    private static let byName = Dictionary(
        table.map { ($0.name, $0) },
        uniquingKeysWith: { first, _ in first }
    )
}
