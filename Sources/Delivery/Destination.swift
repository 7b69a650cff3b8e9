import CCurl
import Queue
import SLS
import System

/// A destination on the delivery thread: which packets it sends next, and what becomes of them.
final class Destination {
    /// What all destinations share.
    struct Surroundings: Sendable {
        let source: any PacketSource
        let credentials: @Sendable (String) -> Credential?
        let journal: Journal
        let now: @Sendable () -> WallTime
    }

    let settings: DestinationSettings
    let output: SLSOutput
    let surroundings: Surroundings
    let status: Locked<DestinationStatus>

    var leases: Leases
    var access: CredentialAccess
    var failuresInARow = 0
    var notices = FailureNotices()
    var heldNotices = FailureNotices()
    private var idle: [Transfer] = []
    private var flying: [ObjectIdentifier: Transfer] = [:]

    init(
        _ output: SLSOutput,
        _ status: Locked<DestinationStatus>,
        _ surroundings: Surroundings
    ) {
        settings = output.settings
        self.output = output
        self.status = status
        self.surroundings = surroundings
        leases = Leases(
            concurrency: settings.concurrency,
            limit: settings.leases,
            parkedLimit: settings.parked
        )
        access = CredentialAccess(settings.credential)
    }

    var isIdle: Bool { flying.isEmpty }

    /// When there is something to do that no event tells.
    var nextDeadline: Moment? {
        // Without a credential nothing is due before the next look for one.
        access.nextLook ?? (leases.inFlight < leases.concurrency ? leases.nextRetry : nil)
    }

    func take(_ packet: SealedPacket) {
        leases.arrived(packet)
    }

    /// Lets everything try at once that a new credential may help.
    func credentialsChanged() {
        access.lookNow()
        leases.hasten([.unauthorized]) { .now }
    }

    /// Sends what can be sent, and asks the queue for what could be.
    func advance(_ now: Moment, _ multi: Multi) {
        if access.isWaiting { _ = credential(now) }
        while leases.canSend(now), let credential = credential(now), var lease = leases.next(now) {
            guard let request = request(for: lease, credential, now) else { continue }
            // The body is built: the blocks it was made of need no memory any more.
            lease.dropContent()
            let transfer = idle.popLast() ?? Transfer(settings)
            transfer.prepare(request, lease, credential)
            flying[ObjectIdentifier(transfer)] = transfer
            multi.add(transfer)
        }
        if !access.isWaiting {
            let count = leases.demand()
            if count > 0 { surroundings.source.request(count, for: settings.name) }
        }
        publish()
    }

    /// Takes back a transfer that has ended.
    func finish(_ transfer: Transfer, _ result: CURLcode) {
        flying[ObjectIdentifier(transfer)] = nil
        let outcome = transfer.outcome(result)
        let bodyBytes = transfer.bodyBytes
        guard let (lease, credential) = transfer.unload() else { return }
        let latency = Moment.now - transfer.started
        idle.append(transfer)
        switch outcome {
        case .answered(let answer):
            status.withLock { $0.latency.record(latency) }
            settle(Judge.verdict(on: answer), lease, credential, bodyBytes)
        case .failed(let problem):
            settle(Judge.verdict(on: problem), lease, credential, bodyBytes)
        }
    }

    /// Gives up what is in flight. Its packets were never acknowledged, so the queue has them.
    func abandon(_ multi: Multi) {
        for transfer in flying.values {
            transfer.leaveQuickly()
            multi.remove(transfer)
        }
        flying = [:]
        status.withLock { status in
            status.state = .stopped
            status.inFlight = 0
            status.waitingRetry = 0
            status.parked = 0
            status.leased = 0
        }
    }

    private func settle(
        _ verdict: Judge.Verdict,
        _ lease: Lease,
        _ credential: Credential,
        _ bodyBytes: Int
    ) {
        switch verdict {
        case .stored: stored(lease, bodyBytes)
        case .retry(var reason):
            reason.message = credential.redacted(reason.message)
            failed(lease, reason, Moment.now)
        }
    }

    private func publish() {
        status.withLock { status in
            status.inFlight = leases.inFlight
            status.waitingRetry = leases.waitingCount
            status.parked = leases.parkedCount
            status.leased = leases.inFlight + leases.waitingCount + leases.readyCount
        }
    }
}
