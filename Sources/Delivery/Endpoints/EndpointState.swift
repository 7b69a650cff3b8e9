package import Configuration
import HTTPClient
import Queue
import SLS
import System

/// An endpoint and the proxy before it. Destinations that use both share its gate and its clock.
enum EndpointKey: Hashable {
    case server(Endpoint, proxy: Proxy?)
    /// A part of this machine.
    case here(String)

    /// Requests never leave this machine, so encryption protects nothing. A proxy counts as another
    /// machine.
    var staysHere: Bool {
        switch self {
        case .server(let endpoint, let proxy): endpoint.isLoopback && proxy == nil
        case .here: true
        }
    }

    /// No third party can read what goes there, or answer in its place.
    var isPrivate: Bool {
        switch self {
        case .server(let endpoint, _): endpoint.scheme == .https || staysHere
        case .here: true
        }
    }
}

extension EndpointKey: CustomStringConvertible {
    /// The address, as operators wrote it.
    var description: String {
        switch self {
        case .server(let endpoint, _): endpoint.description
        case .here(let name): name
        }
    }
}

/// One gate and one clock for all destinations that use the endpoint.
///
/// A single outlet that never gets an answer must not close the endpoint to others. So as long as
/// no answer asks to leave the endpoint alone, an outlet that was not met with silence may have one
/// request in flight whatever the gate says: if that witness is heard, the gate opens.
final class EndpointState: SharedGate<EndpointKey> {
    var notices = FailureNotices()
    /// SLS's time there.
    var clock: ServerClock
    /// How many outages have ended, and begun in silence.
    private(set) var recoveries = 0
    private(set) var closures = 0

    private var silent: Set<Outlet> = []
    private var isToBeLeftAlone = false

    required init(_ key: EndpointKey, waits: Backoff) {
        clock = ServerClock(key)
        super.init(key, waits: waits)
    }

    /// True when an outlet with so many requests in flight may send one more.
    func admits(_ outlet: Outlet, inFlight: Int, _ now: Moment) -> Bool {
        gate.permits(now) || hearsWitnesses && inFlight == 0 && !silent.contains(outlet)
    }

    var description: String { key.description }

    /// True when outlets may be admitted that the gate does not let through.
    var hearsWitnesses: Bool { !isToBeLeftAlone && !silent.isEmpty }

    /// Takes back a request with what its answer says.
    func leave(
        _ pass: Gate.Pass,
        _ judgement: Judgement,
        as verdict: Gate.Verdict,
        of outlet: Outlet,
        _ now: Moment
    ) -> Gate.Change? {
        if judgement.isAnswered {
            silent.remove(outlet)
            if judgement.scope == .endpoint { isToBeLeftAlone = true }
            if verdict == .stored { isToBeLeftAlone = false }
        } else if judgement.scope == .endpoint {
            silent.insert(outlet)
        }
        let change = gate.leave(
            pass,
            verdict,
            retryAfter: judgement.retryAfter(for: .endpoint),
            now,
            random: .random(in: 0...1)
        )
        // A request to wait is no silence, and another endpoint is the same SLS.
        if change == .closed, judgement.retryAfter == nil { closures += 1 }
        if change == .recovered {
            silent = []
            isToBeLeftAlone = false
            recoveries += 1
        }
        return change
    }

    func forget(_ outlet: Outlet) {
        silent.remove(outlet)
    }
}

/// A gate that destinations share, as wide as all their places together. Each outlet begins
/// carefully, so the places are what bounds it.
class SharedGate<Key: Hashable> {
    let key: Key
    var gate: Gate
    /// Why the gate is closed.
    var pause: Pause?
    var waiters = GateWaiters()
    /// Destinations that go through it.
    private(set) var users = 0
    private var places = 0

    /// The waits are those of the first destination that goes through it.
    required init(_ key: Key, waits: Backoff) {
        self.key = key
        gate = Gate(most: 1, waits: waits)
    }

    /// One more destination goes through it, with so many places in flight.
    func join(places: Int) {
        users += 1
        self.places += places
        gate.widen(to: self.places)
    }

    /// A destination does not go through it any more.
    func leave(places: Int) {
        precondition(users > 0 && self.places >= places, "a destination leaves a gate once")
        users -= 1
        self.places -= places
        gate.widen(to: max(1, self.places))
    }
}

/// The gates of one sort that destinations share, by what they have in common.
final class SharedGates<Key, State: SharedGate<Key>> {
    private var byKey: [Key: State] = [:]

    var count: Int { byKey.count }

    /// For one more destination with so many places.
    func join(_ key: Key, places: Int, waits: Backoff) -> State {
        let state = byKey[key] ?? State(key, waits: waits)
        byKey[key] = state
        state.join(places: places)
        return state
    }

    /// Requests in flight keep their gate until they end.
    func release(_ state: State, places: Int) {
        state.leave(places: places)
        if state.users == 0 { byKey[state.key] = nil }
    }
}

/// The endpoints of all destinations. Those with the same endpoint and proxy share one state.
typealias EndpointStates = SharedGates<EndpointKey, EndpointState>

/// The gate of a project's quota: a refusal of one destination slows down all that write to the
/// project, and none has to find the rate for itself.
///
/// Only quotas move it. A refused credential is a matter of the destination that has it.
typealias ProjectQuota = SharedGate<QuotaKey>

/// A project is the same by whatever endpoint of its region it is reached.
struct QuotaKey: Hashable {
    /// The region where it is known, else the first endpoint.
    let place: String
    let project: String
}

// Where a destination is reached, in words that hold for each kind.
extension Destination {
    /// The first is used while it answers, else the next (see `EndpointChoice`).
    var endpointKeys: [EndpointKey] {
        switch kind {
        case .sls: endpoints.map { .server($0, proxy: transfer.transport.proxy) }
        case .http: [.server(http.webAddress.place, proxy: transfer.transport.proxy)]
        case .file: [.here(file.path)]
        case .stdout: [.here("standard output")]
        }
    }

    /// Scheme, host and port of its requests, in the order of the endpoints.
    package var origins: [String] {
        switch kind {
        case .sls:
            endpoints.map { "\($0.scheme.rawValue)://\($0.authority(forProject: project))" }
        case .http: [http.webAddress.place.description]
        case .file, .stdout: []
        }
    }

    /// True when requests go to other endpoints, or by another way.
    func hasMoved(from old: Destination) -> Bool { endpointKeys != old.endpointKeys }

    /// Destinations that have it in common are slowed down together.
    var quota: QuotaKey {
        guard kind == .sls else {
            // Nobody knows what it shares with others. No project has such a name.
            return QuotaKey(place: "destination", project: "/\(name)")
        }
        let region = region ?? endpoints.compactMap(\.region).first
        // What stands on this machine is in no region of SLS, whatever its name.
        let place = endpoints[0].isLoopback ? nil : region
        return QuotaKey(place: place ?? endpoints[0].description, project: project)
    }
}
