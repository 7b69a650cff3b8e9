/// The operator's explanation of an SLS error code. Its meaning for delivery is in `Judge`.
package struct ErrorCode: Sendable, Equatable {
    package let name: String
    /// The event, for an operator.
    package let meaning: String
    /// The remedy.
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
