import Net
import System

/// One client's connection: its phase, pending input and pending output.
///
/// It belongs to its loop thread. The loop moves it from phase to phase; see `EventLoop`.
final class ClientConnection {
    enum Phase {
        /// Waits for the proxy's PROXY header.
        case proxyHeader
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
        /// The answer's body is being streamed. Further input stays in the kernel.
        case streaming
        /// The last answer is being written.
        case finishing
        /// The last answer is written and FIN is sent. The client may still be sending: closing now
        /// would make the kernel reset the connection, and destroy the answer before it is read.
        case lingering
        case closed
    }

    let socket: Socket
    let token: PollToken
    var client: ClientIdentity
    /// The connection only gets an answer that refuses it. No limit counts it.
    let isRefused: Bool

    var phase: Phase
    var timer = ConnectionTimer()
    var readiness = SocketReadiness()
    var input = InputWindow()
    var request = PresentRequest()
    /// False: the connection ends after the present answer.
    var keepsAlive = true
    /// The body of the present answer, if it is streamed.
    var stream: StreamedBody?
    var unsent = UnsentOutput()
    var holdings = Holdings()
    var lingering = Lingering()
    /// The loop's list of unfinished work has it, so no event gives it another turn in this round.
    var isUnfinished = false

    init(
        _ socket: consuming Socket,
        token: PollToken,
        client: ClientIdentity,
        awaitsProxyHeader: Bool,
        isRefused: Bool
    ) {
        phase = awaitsProxyHeader ? .proxyHeader : socket.isSecure ? .handshaking : .idle
        self.socket = socket
        self.token = token
        self.client = client
        self.isRefused = isRefused
    }

    /// Ends the first phase of a connection through a proxy.
    func applyProxyHeader(_ header: ProxyHeader, neighbourhood: Neighbourhood?) {
        phase = socket.isSecure ? .handshaking : .idle
        client.applyProxyHeader(header, neighbourhood: neighbourhood)
    }

    /// A new connection with the same client certificate might be refused by now.
    var isStale: Bool { socket.isOutdated || client.isExpired }

    var hasOutput: Bool { !unsent.isEmpty }

    var isClosed: Bool { phase == .closed }
    var isHandshaking: Bool { phase == .handshaking }
    var awaitsProxyHeader: Bool { phase == .proxyHeader }
    var isIdle: Bool { phase == .idle }
    var isAnswering: Bool { phase == .answering }
    var isStreaming: Bool { stream != nil }

    /// True while the next request must wait.
    var isBusy: Bool { isAnswering || isStreaming }
}

// The parts of a connection's state; `ClientConnection` holds one of each.

/// Who the other end is, as far as it is verified.
struct ClientIdentity {
    private(set) var peer: PeerAddress
    /// The network that limits count the connection and its memory for; nil for a proxy, which
    /// speaks for many clients.
    private(set) var neighbourhood: Neighbourhood?
    private var certificateExpires: WallTime?

    init(_ peer: PeerAddress, neighbourhood: Neighbourhood?) {
        self.peer = peer
        self.neighbourhood = neighbourhood
    }

    /// Takes the client's address from the PROXY header. A header without an address is the proxy's
    /// own, such as a health check, and its sender may not forward for others.
    mutating func applyProxyHeader(_ header: ProxyHeader, neighbourhood: Neighbourhood?) {
        self.neighbourhood = neighbourhood
        guard let client = header.client else { return peer.mayForward = false }
        peer = PeerAddress(client.address, port: client.port)
    }

    /// Takes the client's names from its certificate, until that expires.
    mutating func applyCertificate(_ certificate: ClientCertificate) {
        peer.clientNames = certificate.names
        certificateExpires = certificate.expires
    }

    var isExpired: Bool { certificateExpires.map { $0 < .now } ?? false }
}

/// What epoll said about the socket. Edge-triggered: a flag stays true until a call would block.
struct SocketReadiness {
    var mayRead = true
    var mayWrite = true
    /// FIN has come, possibly with bytes before it.
    var isFinished = false
    /// The client has begun its handshake.
    var hasFirstBytes = false
}

/// The request that is being read or answered.
struct PresentRequest {
    /// Reads the head; a fresh one waits for the next request.
    var scanner = HeadScanner()
    /// The head and what the handler's `admit` kept about it, until the handler has both.
    var head: RequestHead?
    var admitted: RequestHandler.Admitted?
    /// What the answer has to know of the request.
    var asked = ResponseWriter.Asked()
    var body: BodyReader?
    var bodyBegan = Moment(nanoseconds: 0)
    /// Set when the connection closes before its large request was answered.
    var abandonment: LargeRequest.Abandonment?
}

/// Answer bytes that the kernel has not accepted yet.
struct UnsentOutput {
    var bytes: [UInt8] = []
    /// Bytes at the front of `bytes` that the kernel has.
    var sentCount = 0
    /// How fast the client takes an answer that the kernel did not take at once.
    var pace: SendPace?
    /// The answer is incomplete, so the connection's end must not look like the answer's.
    var isCut = false

    var isEmpty: Bool { sentCount >= bytes.count }
    var count: Int { bytes.count - sentCount }
}

/// How long, and with how many bytes, a client goes on after its last answer.
struct Lingering {
    var bytes = 0
    var began = Moment(nanoseconds: 0)
}

/// The one timer of a connection.
struct ConnectionTimer {
    enum Kind {
        case none, idle, head, body, write, linger
    }

    var kind = Kind.none
    /// The timer's time begins again although its kind stays the same.
    var mustRearm = false
}

/// Measures how fast a client takes its answer, by the bytes that its side has acknowledged.
///
/// The bytes that the kernel accepts say little: its buffer fills at once and then moves in large
/// steps. So the kernel is asked for its unacknowledged bytes, and only at deadlines.
struct SendPace {
    private let began: Moment
    /// The kernel's unacknowledged bytes when the answer began to wait.
    private let kernelBytes: Int
    /// Bytes given to the kernel since then.
    private var givenBytes = 0
    private var takenBytes = 0
    private var lastProgress: Moment
    /// The next deadline; sending does not move it.
    private(set) var nextCheck: Moment

    init(at now: Moment, kernelBytes: Int, _ limits: HTTPServer.Limits) {
        began = now
        self.kernelBytes = kernelBytes
        lastProgress = now
        nextCheck = now + limits.writeTime
    }

    mutating func addSent(_ bytes: Int) {
        givenBytes += bytes
    }

    /// Returns true if the client makes progress in each `writeTime`, and keeps the average after
    /// the first one.
    mutating func check(at now: Moment, kernelBytes left: Int, _ limits: HTTPServer.Limits) -> Bool
    {
        let taken = kernelBytes + givenBytes - left
        if taken > takenBytes {
            takenBytes = taken
            lastProgress = now
        }
        let average = Duration.seconds(Double(takenBytes) / Double(max(1, limits.answerRateMin)))
        let end = min(lastProgress + limits.writeTime, began + limits.writeTime + average)
        nextCheck = end
        return now < end
    }
}

/// The connections of one loop, by slot.
///
/// A slot is used again after its connection has closed. Its generation tells the present user from
/// earlier ones, so a late event or answer for a closed connection finds nothing.
struct ConnectionTable {
    /// The first slots have fixed users.
    static let listener = 0
    static let wakeUp = 1
    private static let firstConnection = 2

    private var slots: [ClientConnection?]
    private var generations: [UInt32]
    private var freeSlots: [Int] = []

    init() {
        slots = Array(repeating: nil, count: Self.firstConnection)
        generations = Array(repeating: 0, count: Self.firstConnection)
    }

    static func token(ofFixedSlot slot: Int) -> PollToken {
        PollToken(slot: UInt32(slot), generation: 0)
    }

    var count: Int { slots.count - freeSlots.count - Self.firstConnection }

    var isEmpty: Bool { count == 0 }

    /// A copy, so a connection may close while the caller goes through it.
    var all: [ClientConnection] { slots.compactMap(\.self) }

    subscript(slot: Int) -> ClientConnection? { slots[slot] }

    /// The present user of the slot, if the token means it and not an earlier one.
    subscript(token: PollToken) -> ClientConnection? {
        guard let connection = slots[Int(token.slot)], connection.token == token else { return nil }
        return connection
    }

    /// A free slot with a new generation. The caller inserts a connection with this token.
    mutating func reserve() -> PollToken {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = slots.count
            slots.append(nil)
            generations.append(0)
        }
        generations[slot] &+= 1
        return PollToken(slot: UInt32(slot), generation: generations[slot])
    }

    mutating func insert(_ connection: ClientConnection) {
        let slot = Int(connection.token.slot)
        precondition(slots[slot] == nil, "a slot has one connection")
        slots[slot] = connection
    }

    mutating func remove(_ token: PollToken) {
        let slot = Int(token.slot)
        precondition(
            slots[slot]?.token == token,
            "a closed connection gives back only its own slot"
        )
        slots[slot] = nil
        freeSlots.append(slot)
    }
}
