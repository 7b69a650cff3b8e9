import Net
import System

/// One client's connection: its phase, pending input and pending output.
///
/// It belongs to its loop thread. The loop moves it from phase to phase; see `EventLoop`.
final class ClientConnection {
    enum Phase {
        /// Waits for the proxy's PROXY header.
        case introducing
        /// The TLS handshake.
        case handshaking
        /// Between requests.
        case idle
        /// A head has begun.
        case head
        /// A body is being read, for the handler or to be dropped.
        case body
        /// The handler has the request. Further input stays in the kernel.
        case answering
        /// The answer's body is being streamed. Further input waits here too.
        case streaming
        /// The last answer is being written.
        case finishing
        /// The last answer is written and FIN is sent. The client may still be sending: closing now would make the
        /// kernel reset the connection, and destroy the answer before it is read.
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
    /// The neighbourhood whose share of the body budget it uses; nil uses the whole budget.
    private(set) var neighbourhood: Neighbourhood?
    /// The neighbourhood under which the connection is counted; nil for a proxy.
    private(set) var censusPlace: Neighbourhood?
    /// The connection is refused for lack of room, and counts nowhere.
    let isTurnedAway: Bool

    var phase: Phase
    var input = InputWindow()
    var scanner = HeadScanner()
    /// The present request's head and the handler's data from `admit`, until the handler has both.
    var head: RequestHead?
    var admitted: RequestHandler.Admitted?
    /// The facts of the request that the present answer depends on.
    var asked = ResponseWriter.Asked()
    var body: BodyReader?
    var bodyBegan = Moment(nanoseconds: 0)
    /// Set if this connection closes before its large request is answered.
    var abandonment: LargeRequest.Abandonment?
    var keepsAlive = true
    /// The body of the present answer, if it is streamed.
    var stream: StreamedBody?

    /// Answer bytes that the kernel has not accepted yet.
    var output: [UInt8] = []
    var outputSent = 0

    // Edge-triggered: true until a call would block.
    var mayRead = true
    var mayWrite = true
    /// FIN has come, possibly after unread bytes.
    var isFinishedByPeer = false

    var holdings = Holdings()
    /// Measures a client that does not take its answer at once.
    var pace: SendPace?
    var lingeredBytes = 0
    var lingeringBegan = Moment(nanoseconds: 0)

    var timer = Timer.none
    var mustRearm = false
    /// The client has begun its handshake.
    var isHeard = false
    /// It has a turn in this round or the next, whatever else happens.
    var isUnfinished = false
    /// The answer is incomplete, and the end of the connection must show that.
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

    /// Sets the client from the PROXY header; without a client in it, the proxy itself is the client. The connection
    /// counts at `place`.
    func beIntroduced(by header: ProxyHeader, at place: Neighbourhood?) {
        phase = socket.isSecure ? .handshaking : .idle
        censusPlace = place
        neighbourhood = place
        guard let client = header.client else { return peer.mayForward = false }
        peer = PeerAddress(client.address, port: client.port)
    }

    /// Sets the client's identity from its certificate, until that expires.
    func beIdentified(by certificate: ClientCertificate) {
        peer.clientNames = certificate.names
        nameExpires = certificate.expires
    }

    /// True if the client might not be admitted again now.
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

    /// True while the next request must wait.
    var isBusy: Bool { isAnswering || isStreaming }
}
