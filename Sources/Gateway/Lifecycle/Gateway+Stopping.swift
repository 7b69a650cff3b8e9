import Configuration
import Credentials
import Delivery
import HTTP
import Ingest
import Net
import Operations
import Queue
import Resolvers
import SQLiteQueue
import System

extension Gateway {
    /// Stops accepting, answers the requests in flight, delivers as much as the time allows, and
    /// closes the queue. The remaining logs wait there for the next start.
    ///
    /// Delivery continues while requests finish. Requests have half of the time, so that a client
    /// that never ends its request leaves the other half to deliver the logs that were added last.
    package func stop(within time: Duration) {
        let deadline = Moment.now + time
        reporter.markStopping()
        // A change may wait for another gateway.
        store.others?.stopAsking()
        workers.stop()
        webhook.stop()
        devices.door.keySources.stop()
        // Admission stays open: a request that has begun may still be stored and acknowledged.
        flush()
        let forDevices = [servers.devices, servers.secureDevices].compactMap(\.self)
        HTTPServer.stop(forDevices, within: time / 2)
        flush()
        deliver(until: deadline)
        forwarder.stop(within: max(Duration.milliseconds(500), deadline - Moment.now))
        names.stop()
        tail.stop()
        history.stop()
        store.close()
        devices.captures.stop()
        // After everything that must happen: a source may hang where nothing interrupts it.
        keeper.stop()
        let left = store.status.ledger.queued
        journal.info(
            left == 0
                ? "stopped; all logs are delivered" : "stopped; undelivered logs stay in the queue",
            ["queued": left]
        )
        // The last to stop, so that it shows how the stop proceeds.
        servers.admin.stop(within: .milliseconds(500))
        reporter.forgetServers()
    }

    private var destinationNames: [String] {
        configuration.withLock { $0.destinations.map(\.name) }
    }

    private func flush() {
        destinationNames.forEach { store.flush($0) }
    }

    private func deliver(until deadline: Moment) {
        // Paused destinations send nothing, so waiting for them is useless.
        let held = decided.withLock(\.held)
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
