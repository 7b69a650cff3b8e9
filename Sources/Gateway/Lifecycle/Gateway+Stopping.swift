import Delivery
import HTTP
import Net
import Queue
import System

extension Gateway {
    /// Stops accepting, answers what is in flight, delivers what the time allows, and closes the queue:
    /// what is left waits there for the next start.
    package func stop(within time: Duration) {
        let deadline = Moment.now + time
        reporter.markStopping()
        // Admission stays open: a request that has begun may still be stored and acknowledged.
        deviceServer.stop(within: time)
        deliver(until: deadline)
        forwarder.stop(within: max(Duration.milliseconds(500), deadline - Moment.now))
        store.close()
        let left = store.status.ledger.queued
        journal.info(
            left == 0 ? "stopped, everything delivered" : "stopped, the rest waits in the queue",
            ["queued": left]
        )
        // The last to go, so that it tells how the stop proceeds.
        adminServer.stop(within: .milliseconds(500))
        reporter.forgetServers()
    }

    private func deliver(until deadline: Moment) {
        let names = configuration.withLock { $0.destinations.map(\.name) }
        names.forEach { store.flush($0) }
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
