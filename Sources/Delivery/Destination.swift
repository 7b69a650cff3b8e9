import CCurl
import Queue
import SLS
import System

/// A destination on the delivery thread: its outlets, which of them sends next, and what becomes of what
/// was sent.
final class Destination {
    /// What all destinations share.
    struct Surroundings: Sendable {
        let source: any PacketSource
        let credentials: CredentialDoor
        let journal: Journal
        let now: @Sendable () -> WallTime
        let clockOffsets = ClockOffsets()
    }

    /// Bytes of packets that wait in memory with their content; what comes beyond is read from disk when
    /// its turn has come.
    static let contentBytesMax = 32 << 20

    var settings: DestinationSettings
    var output: SLSOutput
    let surroundings: Surroundings
    let status: Locked<DestinationStatus>

    var ways: Ways
    var quota: ProjectQuota
    var project: Gate
    var pause: Pause?
    /// By an operator, until told otherwise.
    private(set) var isHeld = false
    var places: Places
    var access: CredentialAccess
    /// The credential that SLS refused last.
    var refused: Credential?
    var outlets: [String: DeliveryOutlet] = [:]
    var turns = Turns()
    /// Packets that could not be read.
    var rereads = DeadlineHeap<Lease>()
    /// Lone logs that were refused while the host's clock is wrong.
    var clockWaits = DeadlineHeap<Lease>()
    var hostWasWrong = false
    /// What others were told of it.
    var hostToldWrongBy: Duration?
    /// Packets that delivery has, and bytes that it keeps for them.
    var leased = 0
    var contentBytes = 0
    /// Outlets that have packets on lease.
    var busyCount = 0
    var failuresInARow = 0
    var notices = FailureNotices()
    /// For what passes without being over: quotas, and packets that are refused for what is in them.
    var remarks = FailureNotices()
    /// Outlets to which something happened in this turn.
    var touched: [DeliveryOutlet] = []
    private var wasOpen = false
    /// Transfers that have the present settings.
    var idle: [Transfer] = []
    var generation = 0
    /// Older connections are not used; nil when all may be.
    var connectionsSince: Moment?
    var flying: [ObjectIdentifier: Transfer] = [:]

    init(
        _ output: SLSOutput,
        _ regions: Regions,
        _ status: Locked<DestinationStatus>,
        _ surroundings: Surroundings
    ) {
        settings = output.settings
        self.output = output
        self.status = status
        self.surroundings = surroundings
        places = Places(total: 2 * settings.concurrency)
        ways = Ways(settings, regions, places: places.total)
        quota = regions.quotas.quota(for: settings, places: places.total)
        project = Gate(settings.bounds(most: places.total))
        // Each outlet begins carefully; together they are bounded by the places.
        project.limit = places.total
        access = CredentialAccess(settings.credential)
    }

    var isIdle: Bool { flying.isEmpty }

    /// The way that requests go now.
    var region: Region { ways.current }

    /// Whether requests flow, rather than single ones that try whether they could.
    var isOpen: Bool {
        !access.isWaiting && project.probing == nil && quota.gate.probing == nil
            && region.gate.probing == nil
    }

    /// When there is something to do that no event tells.
    func nextDeadline(_ now: Moment) -> Moment? {
        if isHeld { return nil }
        // Without a credential nothing is due before the next look for one.
        if let nextLook = access.nextLook { return nextLook }
        var deadlines = [turns.nextWaking, rereads.next, clockWaits.next]
        if turns.count > 0, let projectOpens = project.nextOpening,
            let quotaOpens = quota.gate.nextOpening, let regionOpens = ways.nextOpening
        {
            // What is open already waits for the end of a request.
            let opening = max(projectOpens, quotaOpens, regionOpens)
            if opening > now { deadlines.append(opening) }
        }
        return deadlines.compactMap(\.self).min()
    }

    /// Sends nothing more, or goes on.
    func hold(_ isHeld: Bool) {
        guard isHeld != self.isHeld else { return }
        self.isHeld = isHeld
        if isHeld { countPause(.held) }
        for outlet in outlets.values { touch(outlet) }
    }

    /// What became due since the last turn.
    func advance(_ now: Moment) {
        if access.isWaiting { _ = credential(now) }
        lookAtRegions(now)
        while let lease = rereads.takeDue(now) { lineUp(lease) }
        lookAtClock(now)
        turns.wake(now)
    }

    /// Tells what this turn has changed: to the queue, and to those who look.
    func settleTurn(_ now: Moment) {
        if isOpen != wasOpen {
            wasOpen = isOpen
            for outlet in outlets.values { touch(outlet) }
        }
        for outlet in touched { settle(outlet, now) }
        touched.removeAll(keepingCapacity: true)
        publish(now)
    }

    /// Gives up what is in flight. Its packets were never acknowledged, so the queue has them.
    func abandon(_ multi: Multi) {
        for transfer in flying.values {
            transfer.leaveQuickly()
            multi.remove(transfer)
        }
        flying = [:]
        status.withLock { $0.stop() }
    }
}
