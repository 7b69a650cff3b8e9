import Configuration
import Ingest
package import Queue
import SQLiteQueue
import System

extension Steering {
    /// Takes no more logs and sends what is there, also what would wait for company; or takes logs again. It holds
    /// until it is ended or the gateway stops: a gateway that starts takes logs.
    package func drain(_ isOn: Bool, _ entry: AuditEntry) {
        let wasOn = devices.intake.isOff
        devices.intake.turn(off: isOn)
        if isOn { configuration.withLock(\.destinations).forEach { store.flush($0.name) } }
        if isOn != wasOn { audit.record(entry) }
    }
}
