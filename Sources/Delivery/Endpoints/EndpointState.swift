import Queue
import SLS
import System

/// An endpoint and the proxy that leads to it. A failure there concerns every destination that uses
/// both, and the clock behind them is the same, so gates and clocks are kept by this key.
enum EndpointKey: Hashable {
    case server(Endpoint, proxy: Proxy?)
    /// A part of this machine.
    case here(String)

    /// True when requests never leave this machine, so encryption protects nothing. A proxy counts
    /// as another machine.
    var staysHere: Bool {
        switch self {
        case .server(let endpoint, let proxy): endpoint.isLoopback && proxy == nil
        case .here: true
        }
    }

    /// True when no third party can read what goes there, or answer in its place.
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

/// The state of an endpoint, and of the proxy before it, for all destinations that use it: one gate
/// for them together, and one clock.
///
/// A single outlet that never gets an answer must not close the endpoint to others. So as long as
/// no answer asks to leave the endpoint alone, an outlet that was not met with silence itself may
/// have one request in flight whatever the gate says: it is a witness, and if it is heard the gate
/// opens.
final class EndpointState: SharedGate {
    let key: EndpointKey
    var notices = FailureNotices()
    /// SLS's time there.
    var clock: ServerClock
    /// How many outages have ended, and begun in silence.
    private(set) var recoveries = 0
    private(set) var closures = 0

    private var silent: Set<Outlet> = []
    private var isToBeLeftAlone = false

    init(_ key: EndpointKey, waits: Backoff) {
        self.key = key
        clock = ServerClock(key)
        super.init(waits: waits)
    }

    /// True when an outlet with so many requests in flight may send one more.
    func admits(_ outlet: Outlet, inFlight: Int, _ now: Moment) -> Bool {
        gate.permits(now) || hearsWitnesses && inFlight == 0 && !silent.contains(outlet)
    }

    var description: String { key.description }

    /// True when outlets may be admitted that the gate does not let through.
    var hearsWitnesses: Bool { !isToBeLeftAlone && !silent.isEmpty }

    /// Takes back a request and what its answer says; tells what that changes.
    func leave(
        _ pass: Gate.Pass,
        _ judgement: Judgement,
        _ verdict: Gate.Verdict,
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
        // SLS may ask to be left alone; then it is not silent, and another endpoint is the same
        // SLS.
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
final class EndpointStates {
    private var byKey: [EndpointKey: EndpointState] = [:]

    /// For one more destination with so many places.
    func endpoint(for key: EndpointKey, places: Int, waits: Backoff) -> EndpointState {
        let endpoint = byKey[key] ?? EndpointState(key, waits: waits)
        byKey[key] = endpoint
        endpoint.join(places: places)
        return endpoint
    }

    /// A destination uses other endpoints from now on. Requests in flight keep their endpoint until
    /// they end.
    func release(_ endpoints: DestinationEndpoints, places: Int) {
        for endpoint in endpoints.endpoints {
            endpoint.leave(places: places)
            if endpoint.users == 0 { byKey[endpoint.key] = nil }
        }
    }
}
