import Crypto
import Logs
import System

/// Who sends logs, and where they go. A class, since copies of its parts would cost more.
final class AdmittedLogs: Sendable {
    let dialect: any LogDialect
    let reader: any LogReader
    let target: RoutingTable.Target
    /// nil: every device may send.
    let proven: ProvenSender?
    let budget: RequestBudget
    let damage: LogRules.Damage
    /// The tables that it was made from.
    let tables: TableGenerations

    init(
        _ dialect: any LogDialect,
        _ reader: any LogReader,
        to target: RoutingTable.Target,
        from proven: ProvenSender?,
        budget: RequestBudget,
        damage: LogRules.Damage,
        tables: TableGenerations
    ) {
        self.dialect = dialect
        self.reader = reader
        self.target = target
        self.proven = proven
        self.budget = budget
        self.damage = damage
        self.tables = tables
    }

    var sender: DeviceSender? { proven?.sender }
}

/// The tables that a request was checked against. A reload replaces them.
struct TableGenerations: Equatable, Sendable {
    let access: Int
    let routing: Int
}

/// The sender that a request's head proves, and what the body must be for the proof to hold.
struct ProvenSender: Sendable {
    let sender: DeviceSender
    /// `sub` of the sender's token.
    var subject: String?
    var body: BodyProof?
    /// Used up when the body arrives.
    var nonce: UnusedNonce?

    /// Called once, before the body is decoded.
    func prove(_ content: UnsafeRawBufferPointer) throws(AccessProblem) {
        try body?.check(content)
        try nonce?.use(now: .now)
    }
}

/// The digest that a sender signed before the body arrived.
enum BodyProof: Sendable {
    case md5([UInt8])
    case sha256([UInt8])

    func check(_ body: UnsafeRawBufferPointer) throws(AccessProblem) {
        let isRight =
            switch self {
            case .md5(let digest): Digest.areEqual(Digest.md5(body), digest)
            case .sha256(let digest): Digest.areEqual(Digest.sha256(body), digest)
            }
        guard isRight else { throw .wrongBody }
    }
}
