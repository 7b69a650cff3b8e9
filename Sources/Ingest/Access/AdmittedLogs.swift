import Logs

/// Who sends logs, and where they go. A class, like the request, since copies of its parts would
/// cost more than both.
final class AdmittedLogs: Sendable {
    let dialect: any LogDialect
    let reader: any LogReader
    let target: RoutingTable.Target
    /// nil: every device may send.
    let proven: ProvenSender?
    let budget: RequestBudget
    let damage: LogRules.Damage

    init(
        _ dialect: any LogDialect,
        _ reader: any LogReader,
        _ target: RoutingTable.Target,
        _ proven: ProvenSender?,
        _ budget: RequestBudget,
        _ damage: LogRules.Damage
    ) {
        self.dialect = dialect
        self.reader = reader
        self.target = target
        self.proven = proven
        self.budget = budget
        self.damage = damage
    }

    var sender: DeviceSender? { proven?.sender }
}
