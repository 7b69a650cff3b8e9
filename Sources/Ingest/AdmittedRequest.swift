import HTTP
import Logs
import Net
import System

/// What `admit` found in the head of a request without logs; of one with logs that is
/// `AdmittedLogs`. `handle` uses it while the tables that it was made from are current.
final class AdmittedRequest: Sendable {
    enum Subject: Sendable {
        case logs(AdmittedLogs)
        indirect case page(DevicePage)
        case preflight(DeviceRoute)

        var route: DeviceRoute {
            switch self {
            case .logs(let logs): .logs(logs.dialect)
            case .page(let page): .page(page)
            case .preflight(let route): route
            }
        }
    }

    let subject: Subject
    let tables: TableGenerations

    init(_ subject: Subject, _ tables: TableGenerations) {
        self.subject = subject
        self.tables = tables
    }
}

/// A thread's copies of the tables that a request is checked against. A reload replaces the tables.
final class RequestTables {
    private let door: DeviceDoor
    private let bodyBytesMax: Int
    private var accessSnapshot: Replaceable<DeviceAccess>.Snapshot
    private var routingSnapshot: Replaceable<RoutingTable>.Snapshot

    init(_ door: DeviceDoor, _ routing: Replaceable<RoutingTable>, bodyBytesMax: Int) {
        self.door = door
        self.bodyBytesMax = bodyBytesMax
        accessSnapshot = Replaceable.Snapshot(of: door.access)
        routingSnapshot = Replaceable.Snapshot(of: routing)
    }

    /// Takes over what a reload changed.
    func refresh() {
        accessSnapshot.refresh()
        routingSnapshot.refresh()
    }

    var generations: TableGenerations {
        TableGenerations(access: accessSnapshot.generation, routing: routingSnapshot.generation)
    }

    var access: DeviceAccess { accessSnapshot.value }
    var routing: RoutingTable { routingSnapshot.value }

    func route(of head: RequestHead) -> DeviceRoute {
        DeviceRoute(head, access.accepted)
    }

    /// nil: addresses have no limits.
    func addressBudget(of head: RequestHead) -> AddressBudget? {
        guard let limits = access.addressLimits,
            let address = head.clientAddress(behind: access.proxies)?.neighbourhood
        else { return nil }
        return AddressBudget(address: address, limits: limits, book: door.addresses)
    }

    /// Finds the sender and the target of logs. The key comes first, so that unknown senders do not
    /// learn which projects exist.
    func admitLogs(
        _ head: RequestHead,
        _ dialect: any LogDialect,
        _ addressBudget: AddressBudget?
    ) throws(Refusal) -> AdmittedLogs {
        let proven = try checked(try access.keys.proven(head))
        try access.origins.check(head, proven?.sender, dialect.label)
        let (address, reader) = try dialect.admit(head)
        let damage = try head.damage
        let target = try routing.target(of: head, address)
        if dialect.bringsLogs, !target.isRouted {
            try proven?.sender.check(target.destination, dialect.label)
        }
        let budget = RequestBudget(
            head,
            addressBudget,
            proven?.sender.budget,
            bodyBytesMax: bodyBytesMax
        )
        return AdmittedLogs(
            dialect,
            reader,
            to: target,
            from: proven,
            budget: budget,
            damage: damage,
            tables: generations
        )
    }

    /// Checks the body, and uses up the nonce, of a sender that signs.
    func prove(_ logs: AdmittedLogs, _ body: UnsafeRawBufferPointer) throws(Refusal) {
        try checked(try logs.proven?.prove(body))
    }

    /// The result of a check, whose problem is counted and refuses the request.
    private func checked<Proof>(
        _ check: @autoclosure () throws(AccessProblem) -> Proof
    ) throws(Refusal) -> Proof {
        do throws(AccessProblem) {
            return try check()
        } catch {
            throw door.refusal(error)
        }
    }

    func checkPreflight(_ head: RequestHead, _ route: DeviceRoute) throws(Refusal) {
        try access.origins.check(head, route.label)
    }

    /// Who may read the answer to a request, for browsers.
    func crossOrigin(_ head: RequestHead?) -> CrossOrigin {
        access.origins.answer(to: head)
    }
}
