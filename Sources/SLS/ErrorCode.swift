/// What is known about an error code of SLS.
package struct ErrorCode: Sendable, Equatable {
    /// What helps, as a class.
    package enum Cure: Sendable, Equatable {
        /// The same request later.
        case waiting
        /// The same request later, and slower: somebody's quota is used up.
        case slowing
        /// A working credential, or the permission for it.
        case authorizing
        /// The right project, logstore or endpoint.
        case naming
        /// A paid bill.
        case paying
        /// The right time, then a new signature.
        case clock
        /// Nothing: these bytes are refused for ever. The log at fault has to be taken out.
        case takingOut
        /// Nothing: the sender is at fault.
        case repairing
        /// Nothing needed: it is stored already.
        case nothing
    }

    package let name: String
    package let cure: Cure
    /// What happened, for an operator.
    package let meaning: String
    /// What to do about it.
    package let remedy: String

    init(_ name: String, _ cure: Cure, _ meaning: String, _ remedy: String) {
        self.name = name
        self.cure = cure
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
