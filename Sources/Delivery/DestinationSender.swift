import HTTPClient
import Queue
import SLS
import System

/// A destination on the delivery thread: its outlets, which of them sends next, and what becomes of what
/// was sent.
final class DestinationSender {
    /// What all destinations share.
    struct Surroundings: Sendable {
        let source: any PacketSource
        let credentials: CredentialDoor
        let journal: Journal
        let now: @Sendable () -> WallTime
        let clockOffsets = ClockOffsets()
    }

    var settings: DestinationSettings
    var output: SLSOutput
    let surroundings: Surroundings
    let status: Locked<DestinationStatus>

    var endpoints: DestinationEndpoints
    var quota: ProjectQuota
    var project: Gate
    var pause: Pause?
    /// By an operator, until told otherwise.
    private(set) var isHeld = false
    var places: Places
    var access: CredentialAccess
    var standing = CredentialStanding()
    let refusals: CredentialRefusals
    var outlets: [String: DeliveryOutlet] = [:]
    var turns = Turns()
    /// Packets that could not be read.
    var rereads = PriorityQueue<Moment, Lease>()
    /// Lone logs that were refused while the host's clock is wrong.
    var clockWaits = PriorityQueue<Moment, Lease>()
    var hostWasWrong = false
    /// What others were told of it.
    var hostToldWrongBy: Duration?
    /// Packets that delivery has, and bytes that it keeps for them.
    var leased = 0
    let memory: DeliveryMemory
    private(set) var contentBytes = 0
    private(set) var bodyBytes = 0
    /// Its next request waits until others leave room for its body.
    var waitsForMemory = false
    /// Outlets that have packets on lease.
    var busyCount = 0
    var failuresInARow = 0
    var notices = FailureNotices()
    /// For what passes without being over: quotas, and packets that are refused for what is in them.
    var remarks = FailureNotices()
    /// Outlets to which something happened, and how many of them were looked at since.
    var touched: [DeliveryOutlet] = []
    private var settled = 0
    var hasMoreToSettle: Bool { !touched.isEmpty }
    /// Looks at some thousand outlets, as after a rotation, are spread over turns of so many.
    static let settledAtOnce = 512

    let agenda: DeliveryAgenda
    /// It is to be looked at in the next turn.
    var isNoted = false
    /// When it is looked at unless something happens before, and how often that was planned.
    var plannedFor: Moment?
    var planned = 0
    /// Grows with each request: of several destinations the one with the lowest goes first.
    var lastSent = 0
    /// What outlets were last told of `appetite`.
    private var toldAppetite = Appetite.nothing
    /// Transfers that have the present settings.
    var idle: [Transfer] = []
    var generation = 0
    /// Older connections are not used; nil when all may be.
    var connectionsSince: Moment?
    var flying: [ObjectIdentifier: Transfer] = [:]

    init(
        _ output: SLSOutput,
        _ states: EndpointStates,
        _ status: Locked<DestinationStatus>,
        _ surroundings: Surroundings
    ) {
        settings = output.settings
        self.output = output
        self.status = status
        self.surroundings = surroundings
        agenda = states.agenda
        places = Places(total: 2 * settings.concurrency)
        endpoints = DestinationEndpoints(settings, states, places: places.total)
        quota = states.quotas.quota(for: settings, places: places.total)
        project = Gate(settings.bounds(most: places.total))
        // Each outlet begins carefully; together they are bounded by the places.
        project.limit = places.total
        access = CredentialAccess(settings.credential)
        refusals = states.refusals
        memory = states.memory
    }

    var isIdle: Bool { flying.isEmpty }

    /// The endpoint that requests use now.
    var endpoint: EndpointState { endpoints.current }

    /// How much the queue is asked for.
    enum Appetite {
        /// Nothing may be sent: an operator holds the destination, or it has no credential.
        case nothing
        /// A gate that all outlets share lets single requests through: each outlet needs one packet that can be
        /// the probe.
        case probes
        /// Requests flow.
        case all
    }

    var appetite: Appetite {
        if isHeld || access.isWaiting { return .nothing }
        let isProbing =
            project.probing != nil || quota.gate.probing != nil || endpoint.gate.probing != nil
        return isProbing ? .probes : .all
    }

    /// When there is something to do that no event tells.
    func nextDeadline(_ now: Moment) -> Moment? {
        if isHeld { return nil }
        // Without a credential nothing is due before the next look for one.
        if let nextLook = access.nextLook { return nextLook }
        var deadlines = [turns.nextWaking, rereads.nextKey, clockWaits.nextKey]
        if turns.count > 0, let projectOpens = project.nextOpening {
            // The first one that is closed. Without a time it opens when a request ends, and what is open already waits
            // for that, too.
            var gates: [Moment?] = [projectOpens, quota.gate.nextOpening, endpoints.nextOpening]
            while let opening = gates.first, let time = opening, time <= now { gates.removeFirst() }
            if let opening = gates.first { deadlines.append(opening) }
            // All logstores in line may have been refused themselves.
            if let opening = project.nextOpeningOfRefused, opening > now {
                deadlines.append(opening)
            }
        }
        return deadlines.compactMap(\.self).min()
    }

    /// Sends nothing more, or goes on.
    func hold(_ isHeld: Bool) {
        guard isHeld != self.isHeld else { return }
        self.isHeld = isHeld
        agenda.note(self)
        if isHeld { countPause(.held) }
    }

    /// What became due since the last turn.
    func advance(_ now: Moment) {
        if access.isWaiting { _ = credential(now) }
        lookAtEndpoints(now)
        while let lease = rereads.takeFirst(upTo: now)?.element { lineUp(lease) }
        lookAtClock(now)
        turns.wake(now)
    }

    /// Tells what this turn has changed: to the queue, and to those who look.
    func settleTurn(_ now: Moment) {
        // Every outlet asks again whenever the answer may be another one: what was recalled while nothing was asked
        // for left it without a packet, so that no result would ever touch it.
        let appetite = appetite
        if appetite != toldAppetite {
            toldAppetite = appetite
            for outlet in outlets.values { touch(outlet) }
        }
        let end = min(touched.count, settled + Self.settledAtOnce)
        while settled < end {
            settle(touched[settled], now)
            settled += 1
        }
        if settled == touched.count {
            touched.removeAll(keepingCapacity: true)
            settled = 0
        }
        publish(now)
    }

    /// Keeps the content of a packet that waits, if there is room.
    func keepsContent(_ bytes: Int) -> Bool {
        guard memory.takeContent(bytes, holding: contentBytes) else { return false }
        contentBytes += bytes
        return true
    }

    func letGo(content bytes: Int) {
        contentBytes -= bytes
        memory.freeContent(bytes)
    }

    func keep(body bytes: Int) {
        bodyBytes += bytes
        memory.takeBody(bytes)
    }

    func letGo(body bytes: Int) {
        bodyBytes -= bytes
        memory.freeBody(bytes)
    }

    /// Gives up what is in flight. Its packets were never acknowledged, so the queue has them.
    func abandon(_ loop: TransferLoop) {
        for transfer in flying.values {
            transfer.leaveQuickly()
            loop.cancel(transfer)
        }
        flying = [:]
        status.withLock { $0.stop() }
    }
}
