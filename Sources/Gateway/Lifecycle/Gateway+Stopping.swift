import Configuration
import Credentials
import Delivery
import HTTP
import Ingest
import Net
import Operations
import Queue
import SQLiteQueue
import System

extension Gateway {
    /// Stops accepting, answers what is in flight, delivers what the time allows, and closes the queue:
    /// what is left waits there for the next start.
    ///
    /// Delivery goes on while requests finish. They have half of the time, so that a client that never
    /// ends its request leaves the other half to what it added last.
    package func stop(within time: Duration) {
        let deadline = Moment.now + time
        reporter.markStopping()
        steering.helm.stop()
        steering.proofEnd.set()
        steering.vaultHelm.stop()
        steering.views.stop()
        steering.webhook.stop()
        steering.devices.door.keySources.stop()
        // Admission stays open: a request that has begun may still be stored and acknowledged.
        flush()
        let doors = [deviceServer, secureDeviceServer].compactMap(\.self)
        HTTPServer.stop(doors, within: time / 2)
        flush()
        deliver(until: deadline)
        forwarder.stop(within: max(Duration.milliseconds(500), deadline - Moment.now))
        steering.tail.stop()
        store.close()
        // After what must not be missed: a source may hang where nothing interrupts it.
        steering.keeper.stop()
        let left = store.status.ledger.queued
        journal.info(
            left == 0 ? "stopped, everything delivered" : "stopped, the rest waits in the queue",
            ["queued": left]
        )
        // The last to go, so that it tells how the stop proceeds.
        adminServer.stop(within: .milliseconds(500))
        reporter.forgetServers()
    }

    private var destinationNames: [String] {
        configuration.withLock { $0.destinations.map(\.name) }
    }

    private func flush() {
        destinationNames.forEach { store.flush($0) }
    }

    private func deliver(until deadline: Moment) {
        // What an operator paused does not leave, however long one waits.
        let held = steering.decided.withLock(\.held)
        let names = destinationNames.filter { !held.contains($0) }
        while Moment.now < deadline {
            let status = store.status
            guard names.contains(where: { status.destinations[$0]?.ledger.queued ?? 0 > 0 })
            else { return }
            // The queue has no event for its emptiness, and a stop happens once.
            pause(.milliseconds(20))
        }
    }

    private func pause(_ time: Duration) {
        guard let sleeper = try? WakeUp() else { return }
        sleeper.wait(timeout: time)
    }
}
