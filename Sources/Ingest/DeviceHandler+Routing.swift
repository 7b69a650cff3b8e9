import HTTP
import Net
import System

/// Who sends a request, and where its logs go, as it was found when its head came.
struct AdmittedRequest {
    private let head: [UInt8]
    let target: RoutingTable.Target
    /// Nil where everybody may send.
    let proven: ProvenSender?
    /// Nil where nobody asks for it.
    let address: Neighbourhood?

    init(
        _ head: RequestHead,
        _ target: RoutingTable.Target,
        _ proven: ProvenSender?,
        _ address: Neighbourhood?
    ) {
        self.head = head.bytes
        self.target = target
        self.proven = proven
        self.address = address
    }

    var sender: DeviceSender? { proven?.sender }

    /// Whether it is this very head, not one that looks like it. The bytes are held here, so no other
    /// head can have their place in memory.
    func isOf(_ other: RequestHead) -> Bool {
        head.withUnsafeBufferPointer { held in
            other.bytes.withUnsafeBufferPointer { held.baseAddress == $0.baseAddress }
        }
    }
}

extension DeviceHandler {
    /// What is known of a request that has come as a whole. A body mostly comes with its head, and then
    /// nobody has to look again.
    func admittedRequest(
        _ head: RequestHead,
        _ dialect: some LogDialect
    ) throws(Refusal) -> AdmittedRequest {
        guard let admitted, admitted.isOf(head) else {
            return try look(at: head, dialect, address(of: head))
        }
        self.admitted = nil
        return admitted
    }

    /// The key first: strangers need not know which projects there are.
    func look(
        at head: RequestHead,
        _ dialect: some LogDialect,
        _ address: Neighbourhood?
    ) throws(Refusal) -> AdmittedRequest {
        let proven = try access { () throws(AccessProblem) in try keys.value.proven(head) }
        try keys.value.origins.check(head, proven?.sender, dialect.label)
        routes.refresh()
        let target = try routes.value.target(
            host: head.field("host"),
            project: head.field("x-log-project"),
            try dialect.address(head)
        )
        if dialect.bringsLogs { try proven?.sender.check(target.destination, dialect.label) }
        return AdmittedRequest(head, target, proven, address)
    }

    /// Whoever is not known is counted.
    func access<Result>(_ look: () throws(AccessProblem) -> Result) throws(Refusal) -> Result {
        do throws(AccessProblem) {
            return try look()
        } catch {
            throw shared.door.refusal(error)
        }
    }
}
