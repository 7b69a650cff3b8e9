import System

final class ClientCore: Sendable {
    static let inboxesMax = 1000
    /// What may wait to be sent: the parts of the largest commit.
    private static let outputBytesMax = 256 << 20

    private struct Shared {
        var state: NATSClient.State = .disconnected(since: .now, nil)
        var inboxes: [UInt64: Unowned] = [:]
        var lastInbox: UInt64 = 0
        var output = OutputQueue()
        var isStopping = false
        var leavesServer = false
    }

    /// An inbox removes itself at its end, on whatever thread that is.
    private struct Unowned: Sendable {
        weak var inbox: NATSInbox?
        /// It takes what others publish, and waits for no answer.
        var listens = false
    }

    let wake: WakeUp
    private let change: WakeUp
    private let shared = Locked(Shared())
    /// Random, so that no other client's answers come here.
    let inboxPrefix: String

    init(inboxPrefix: String) throws(SystemError) {
        self.inboxPrefix = "\(inboxPrefix).\(hex(randomBytes(12)))"
        wake = try WakeUp()
        change = try WakeUp()
    }

    // MARK: - For callers

    var state: NATSClient.State { shared.withLock { $0.state } }

    func waitForChange(atMost time: Duration) { change.wait(timeout: time) }

    func stop() {
        shared.withLock { $0.isStopping = true }
        wake.signal()
    }

    func inbox(_ subscribes: Bool) throws(NATSError) -> NATSInbox {
        let number = shared.withLock { shared in
            shared.lastInbox += 1
            return shared.lastInbox
        }
        let subject = subscribes ? "\(inboxPrefix)s.\(number)" : "\(inboxPrefix).\(number)"
        let subscription = number + 1
        let inbox = try NATSError.onSystem { () throws(SystemError) in
            try NATSInbox(subject) { [weak self] in
                self?.shared.withLock { _ = $0.inboxes.removeValue(forKey: number) }
                if subscribes { try? self?.send(Array("UNSUB \(subscription)\r\n".utf8)) }
            }
        }
        let hasRoom = shared.withLock { shared in
            guard shared.inboxes.count < Self.inboxesMax else { return false }
            shared.inboxes[number] = Unowned(inbox: inbox)
            return true
        }
        guard hasRoom else {
            throw .disconnected("more than \(Self.inboxesMax) requests wait for answers")
        }
        if subscribes { try send(Array("SUB \(subject) \(subscription)\r\n".utf8)) }
        return inbox
    }

    /// An inbox for what others publish to these subjects.
    func inbox(listeningTo subjects: [String]) throws(NATSError) -> NATSInbox {
        let first = shared.withLock { shared in
            shared.lastInbox += UInt64(subjects.count)
            return shared.lastInbox - UInt64(subjects.count) + 1
        }
        let numbers = first..<first + UInt64(subjects.count)
        let inbox = try NATSError.onSystem { () throws(SystemError) in
            try NATSInbox(subjects[0]) { [weak self] in
                for number in numbers {
                    self?.shared.withLock { _ = $0.inboxes.removeValue(forKey: number) }
                    try? self?.send(Array("UNSUB \(number + 1)\r\n".utf8))
                }
            }
        }
        shared.withLock { shared in
            for number in numbers {
                shared.inboxes[number] = Unowned(inbox: inbox, listens: true)
            }
        }
        for (subject, number) in zip(subjects, numbers) {
            inbox.sends(to: subject)
            try send(Array("SUB \(subject) \(number + 1)\r\n".utf8))
        }
        return inbox
    }

    /// What is posted while there is a connection goes out on that connection, or fails with it.
    func send(_ bytes: [UInt8]) throws(NATSError) {
        let problem = shared.withLock { shared -> NATSError? in
            if shared.isStopping { return .disconnected("the client was closed") }
            if case .disconnected(_, let error) = shared.state {
                return error ?? .disconnected("there is no connection to a server yet")
            }
            guard shared.output.byteCount + bytes.count <= Self.outputBytesMax else {
                return .disconnected("the server takes messages too slowly")
            }
            shared.output.append(bytes)
            return nil
        }
        if let problem { throw problem }
        wake.signal()
    }

    func changeServer() {
        shared.withLock { $0.leavesServer = true }
        wake.signal()
    }

    // MARK: - For the client's thread

    /// True once after `changeServer`.
    func takeLeave() -> Bool {
        shared.withLock { shared in
            defer { shared.leavesServer = false }
            return shared.leavesServer
        }
    }

    var isStopping: Bool { shared.withLock { $0.isStopping } }

    /// Ends the use of the connection, unless someone waits for an answer.
    func leave(_ error: NATSError) -> Bool {
        shared.withLock { shared in
            guard shared.inboxes.values.allSatisfy(\.listens), shared.output.isEmpty else {
                return false
            }
            shared.state = .disconnected(since: .now, error)
            return true
        }
    }

    func takeOutput() -> OutputQueue { shared.withLock { $0.output.take() } }

    func connected(_ address: NATSServerAddress, _ info: ServerInfo) {
        shared.withLock { $0.state = .connected(address, info) }
        change.signal()
    }

    /// Fails all who wait: their answers do not come any more.
    func disconnected(_ error: NATSError) {
        let inboxes = shared.withLock { shared -> [NATSInbox] in
            if case .disconnected(let since, _) = shared.state {
                shared.state = .disconnected(since: since, error)
            } else {
                shared.state = .disconnected(since: .now, error)
            }
            shared.output = OutputQueue()
            return shared.inboxes.values.compactMap(\.inbox)
        }
        // Without the lock, which the end of an inbox takes.
        for inbox in inboxes { inbox.fail(.disconnected(error.description)) }
        change.signal()
    }

    /// Subscription 1 is that of all inboxes that have none of their own.
    func deliver(_ message: NATSMessage, from subscription: UInt64) {
        var number: UInt64? = subscription &- 1
        if subscription == 1 {
            let rest = message.subject.dropFirst(inboxPrefix.count + 1)
            number = UInt64(rest.prefix { $0 != "." })
        }
        guard let number else { return }
        let inbox = shared.withLock { $0.inboxes[number]?.inbox }
        inbox?.add(message)
    }

    /// The server refused an operation, and the connection goes on.
    func refused(_ text: String) {
        let inboxes = shared.withLock { $0.inboxes.values.compactMap(\.inbox) }
        let error = NATSError.refused("the server refused it: \(text)")
        // Publish to "…", Publish with Reply of "…", Subscription to "…"
        let parts = text.split(separator: "\"", omittingEmptySubsequences: false)
        let subject = parts.count > 2 ? String(parts[1]) : nil
        for inbox in inboxes where subject.map({ inbox.uses($0) }) ?? true { inbox.fail(error) }
    }
}

struct OutputQueue: Sendable {
    /// Smaller messages leave together.
    private static let pieceBytes = 16 << 10

    private var pieces: [[UInt8]] = []
    /// The place of the first piece that is not sent yet.
    private var first = 0
    /// How much of it is sent.
    private var sentBytes = 0
    private(set) var byteCount = 0

    var isEmpty: Bool { byteCount == 0 }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        byteCount += bytes.count
        if let last = pieces.indices.last, pieces[last].count + bytes.count <= Self.pieceBytes {
            pieces[last] += bytes
        } else {
            pieces.append(bytes)
        }
    }

    mutating func take() -> OutputQueue {
        defer { self = OutputQueue() }
        return self
    }

    /// Lends bytes from the front on. There must be some.
    func withFront<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        pieces[first].withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[sentBytes...])) }
    }

    /// Removes bytes that were lent and are sent.
    mutating func remove(_ count: Int) {
        byteCount -= count
        sentBytes += count
        guard sentBytes == pieces[first].count else { return }
        pieces[first] = []
        (first, sentBytes) = (first + 1, 0)
        guard first == pieces.count else { return }
        self = OutputQueue()
    }
}
