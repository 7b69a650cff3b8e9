import Net
import System

/// One client's connection: what it is doing, and what has come and has to go.
///
/// It belongs to its loop thread. The loop moves it from phase to phase; see `EventLoop`.
final class ClientConnection {
    enum Phase {
        /// The proxy that it comes through has to say for whom it speaks.
        case introducing
        /// The first phase of a TLS connection.
        case handshaking
        /// Between requests.
        case idle
        /// A head has begun.
        case head
        /// A body is read, for the handler or to be dropped.
        case body
        /// The handler has the request. What the client sends meanwhile stays in the kernel.
        case answering
        /// The body of the answer comes as its writer gives it. What the client sends waits as well.
        case streaming
        /// The last answer is being written.
        case finishing
        /// The last answer is written and FIN sent. The client may still be sending; closing now would
        /// make the kernel reset the connection and destroy the answer before it is read.
        case lingering
        case closed
    }

    enum Timer {
        case none, idle, head, body, write, linger
    }

    let socket: Socket
    let token: PollToken
    private(set) var peer: PeerAddress
    private var nameExpires: WallTime?
    /// Whose share of the budget of bodies it takes; nil takes of the whole.
    private(set) var neighbourhood: Neighbourhood?
    /// Whose connections it is one of; nil for a proxy's.
    private(set) var censusPlace: Neighbourhood?
    /// It is told that there is no room and is not counted anywhere.
    let isTurnedAway: Bool

    var phase: Phase
    var input = InputWindow()
    var scanner = HeadScanner()
    /// The present request's head and what the handler's `admit` kept about it, until the handler has both.
    var head: RequestHead?
    var admitted: RequestHandler.Admitted?
    /// What the present answer has to know of its request.
    var asked = ResponseWriter.Asked()
    var body: BodyReader?
    var bodyBegan = Moment(nanoseconds: 0)
    /// Set when this connection closes before its large request was answered.
    var abandonment: LargeRequest.Abandonment?
    var keepsAlive = true
    /// The body of the present answer, if it comes over time.
    var stream: StreamedBody?

    /// Answers that the kernel has not taken yet.
    var output: [UInt8] = []
    var outputSent = 0

    // Edge-triggered: true until a call has said otherwise.
    var mayRead = true
    var mayWrite = true
    /// FIN has come, possibly with bytes before it.
    var isFinishedByPeer = false

    var holdings = Holdings()
    /// Of the client that does not take its answer at once.
    var pace: SendPace?
    var lingeredBytes = 0
    var lingeringBegan = Moment(nanoseconds: 0)

    var timer = Timer.none
    var mustRearm = false
    /// The client has begun its handshake.
    var isHeard = false
    /// It has a turn in this round or the next, whatever happens meanwhile.
    var isUnfinished = false
    /// What the client has is not all, and the end must not say that it is.
    var isCut = false

    init(
        _ socket: consuming Socket,
        token: PollToken,
        peer: PeerAddress,
        neighbourhood: Neighbourhood?,
        isIntroduced: Bool,
        isTurnedAway: Bool
    ) {
        phase = isIntroduced ? .introducing : socket.isSecure ? .handshaking : .idle
        self.socket = socket
        self.token = token
        self.peer = peer
        self.neighbourhood = neighbourhood
        censusPlace = neighbourhood
        self.isTurnedAway = isTurnedAway
    }

    /// The client is who the proxy says; the proxy itself when it says nothing. The census counts it at `place`.
    func beIntroduced(by header: ProxyHeader, at place: Neighbourhood?) {
        phase = socket.isSecure ? .handshaking : .idle
        censusPlace = place
        neighbourhood = place
        guard let client = header.client else { return peer.mayForward = false }
        peer = PeerAddress(client.address, port: client.port)
    }

    /// The client is who its certificate says, until that ends.
    func beIdentified(by certificate: ClientCertificate) {
        peer.clientNames = certificate.names
        nameExpires = certificate.expires
    }

    /// Whether the client might not be let in any more if it came now.
    var isStale: Bool {
        socket.isOutdated || nameExpires.map { $0 < .now } ?? false
    }

    var hasOutput: Bool { outputSent < output.count }

    var isClosed: Bool {
        if case .closed = phase { true } else { false }
    }

    var isHandshaking: Bool {
        if case .handshaking = phase { true } else { false }
    }

    var isIntroducing: Bool {
        if case .introducing = phase { true } else { false }
    }

    var isIdle: Bool {
        if case .idle = phase { true } else { false }
    }

    var isAnswering: Bool {
        if case .answering = phase { true } else { false }
    }

    var isStreaming: Bool { stream != nil }

    /// Nothing of the next request is looked at.
    var isBusy: Bool { isAnswering || isStreaming }
}
