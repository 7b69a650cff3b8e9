import Configuration
import Ingest
package import Queue
import System

/// Accepts no more logs and delivers the queue, until an operator ends it or the gateway stops. A
/// gateway that starts accepts logs.
package struct Draining: Sendable {
    private let configuration: Locked<GatewayConfiguration>
    private let store: any GatewayQueue
    private let intake: IntakeSwitch
    private let audit: AuditTrail

    package init(_ parts: GatewayParts, _ audit: AuditTrail) {
        configuration = parts.configuration
        store = parts.store
        intake = parts.devices.intake
        self.audit = audit
    }

    /// Flushes too, so that logs do not wait for full packets. On the thread of changes.
    package func begin(_ entry: AuditEntry) {
        turn(off: true, entry)
        for destination in configuration.withLock(\.destinations) { store.flush(destination.name) }
    }

    /// On the thread of changes.
    package func end(_ entry: AuditEntry) {
        turn(off: false, entry)
    }

    private func turn(off isOff: Bool, _ entry: AuditEntry) {
        let wasOff = intake.isOff
        intake.turn(off: isOff)
        if isOff != wasOff { audit.record(entry) }
    }
}
