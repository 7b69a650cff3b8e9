package import HTTPClient
package import SLS
package import System

/// Proves a credential before it is used, with a PutLogs as a packet would be sent, through the
/// same endpoints and proxies, but without any log. So the proof needs no permission that delivery
/// does not need, and stores nothing.
package struct CredentialProver: Sendable {
    /// Where a destination's logs go.
    package struct Place: Sendable {
        package var settings: DestinationSettings
        /// Nil where none is known.
        package var logstore: String?

        package init(_ settings: DestinationSettings, logstore: String?) {
            self.settings = settings
            self.logstore = logstore
        }
    }

    private let userAgent: String
    private let addresses: AddressLookup
    private let now: @Sendable () -> WallTime
    /// For all requests together: an operator waits for the answer.
    private let patience: Duration
    private let isInterrupted: @Sendable () -> Bool

    private static let connectionsMax = 64

    package init(
        userAgent: String = "sluice",
        addresses: AddressLookup = .system,
        patience: Duration = .seconds(30),
        now: @escaping @Sendable () -> WallTime = { .now },
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) {
        self.userAgent = userAgent
        self.addresses = addresses
        self.patience = patience
        self.now = now
        self.isInterrupted = isInterrupted
    }

    /// Asks at all places at once, at each until one of its endpoints answers, and until one
    /// refuses or patience ends. So it is not for a thread that others wait for. Returns what is
    /// known by then, in the order of the places.
    package func prove(
        _ credential: Credential,
        at places: [Place]
    ) throws(DeliveryError) -> [CredentialProof] {
        let loop = try TransferLoop(forDelivery: Self.connectionsMax)
        var questions: [ProofQuestion] = []
        var asked: [(place: Place, question: ProofQuestion)] = []
        for place in places {
            if let question = questions.first(where: { $0.isAsked(at: place) }) {
                asked.append((place, question))
                continue
            }
            let question = try ProofQuestion(credential, place, userAgent, addresses, now)
            questions.append(question)
            asked.append((place, question))
        }
        ask(questions, loop)
        return asked.compactMap { $0.question.proof(of: $0.place.settings) }
    }

    private func ask(_ questions: [ProofQuestion], _ loop: TransferLoop) {
        let deadline = Moment.now + patience
        for question in questions { question.start(on: loop) }
        while questions.contains(where: \.isOpen), !questions.contains(where: \.isRefused),
            Moment.now < deadline, !isInterrupted()
        {
            if loop.perform() == 0 {
                loop.wait(min(.milliseconds(200), max(.zero, deadline - .now)))
            }
        }
        // One refusal is enough to know, and says nothing about the others.
        let isRefused = questions.contains(where: \.isRefused)
        for question in questions where question.isOpen {
            question.cancel(on: loop)
            if !isRefused { question.giveUp() }
        }
    }
}
