import Queue
import System

extension Steering {
    /// Takes no more logs and sends what is there, also what would wait for company; or takes logs again. It holds
    /// until it is ended or the gateway stops: a gateway that starts takes logs.
    func drain(_ isOn: Bool, _ entry: AuditEntry) {
        let wasOn = devices.intake.isOff
        devices.intake.turn(off: isOn)
        if isOn { configuration.withLock(\.destinations).forEach { store.flush($0.name) } }
        if isOn != wasOn { audit.record(entry) }
    }

    /// Lets everything that waits in the destination be sent as it is.
    func flush(_ name: String, _ entry: AuditEntry) throws(Refusal) {
        guard configuration.withLock({ $0.destinations.contains { $0.name == name } }) else {
            throw .noDestination(name)
        }
        store.flush(name)
        audit.record(entry)
    }
}
