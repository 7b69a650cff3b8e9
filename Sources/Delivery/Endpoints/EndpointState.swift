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

/// The endpoints of all destinations. Those with the same endpoint and proxy share one state.
typealias EndpointStates = SharedGates<EndpointKey, EndpointState>

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
