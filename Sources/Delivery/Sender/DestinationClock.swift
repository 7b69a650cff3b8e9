import System

/// What a destination makes of the host's clock and of SLS's: the time to sign with, and whether
/// the host's clock is so wrong that SLS refuses logs which got their time from it.
struct DestinationClock {
    private let destination: String
    private let host: @Sendable () -> WallTime
    private let offsets: ClockOffsets
    /// SLS's clock minus the host's, as the operator says; counts until SLS has told.
    var assumed: Duration
    private var wasWrong = false
    /// The error of the host's clock that was published last.
    private var told: Duration?

    init(
        _ destination: String,
        host: @escaping @Sendable () -> WallTime,
        _ offsets: ClockOffsets,
        assuming assumed: Duration
    ) {
        self.destination = destination
        self.host = host
        self.offsets = offsets
        self.assumed = assumed
    }

    /// The host's time.
    var now: WallTime { host() }

    /// SLS's time at an endpoint when the host's is `host`.
    func time(of endpoint: EndpointState, at host: WallTime) -> WallTime {
        endpoint.clock.time(at: host, assuming: assumed)
    }

    func offset(of endpoint: EndpointState) -> Duration {
        endpoint.clock.offset ?? assumed
    }

    /// By how much the host's clock is wrong; nil while it is near enough.
    func wrongness(at endpoint: EndpointState) -> Duration? {
        endpoint.clock.hostIsWrong(assuming: assumed)
    }

    /// Takes the time from an answer that came at `received`, to a request that was signed at
    /// `signed`.
    func learn(
        from answer: AnswerTime,
        at endpoint: EndpointState,
        signed: WallTime,
        received: WallTime
    ) -> ServerClock.Change? {
        endpoint.clock.learn(from: answer, sent: signed, received: received, assuming: assumed)
    }

    /// Returns true once after the host's clock was wrong and is right again.
    mutating func takeRecovery(at endpoint: EndpointState) -> Bool {
        let isWrong = wrongness(at: endpoint) != nil
        defer { wasWrong = isWrong }
        return wasWrong && !isWrong
    }

    /// Publishes the error of the host's clock for ingest, which measures logs by that clock.
    mutating func publish(_ wrongness: Duration?) {
        guard told != wrongness else { return }
        told = wrongness
        offsets.set(wrongness, for: destination)
    }
}
