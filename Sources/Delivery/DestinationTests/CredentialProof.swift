package import Configuration
import HTTPClient
package import SLS
import System

// Proofs of a credential before it is used: a PutLogs through the same endpoints and proxies, but
// without any log. It needs no further permission and stores nothing.
extension DestinationTester {
    /// Where a destination's logs go.
    package struct Place: Sendable {
        package var settings: Destination
        /// Nil where none is known.
        package var logstore: String?

        package init(_ settings: Destination, logstore: String?) {
            self.settings = settings
            self.logstore = logstore
        }
    }

    private static let connectionsMax = 64

    /// Asks at all places at once, at each until one of its endpoints answers, one place refuses,
    /// or patience ends; the caller's thread waits. Returns what is known by then, in order.
    package func prove(
        _ credential: Credential,
        at places: [Place],
        within patience: Duration = .seconds(30)
    ) throws(DeliveryError) -> [DestinationTest] {
        let loop = try TransferLoop(forDelivery: Self.connectionsMax)
        var questions: [ProofQuestion] = []
        var asked: [(place: Place, question: ProofQuestion)] = []
        for place in places {
            if let question = questions.first(where: { $0.isAsked(at: place) }) {
                asked.append((place, question))
                continue
            }
            let question = try ProofQuestion(credential, at: place, self)
            questions.append(question)
            asked.append((place, question))
        }
        ask(questions, until: .now + patience, loop)
        return asked.compactMap { $0.question.proof(of: $0.place.settings) }
    }

    private func ask(
        _ questions: [ProofQuestion],
        until deadline: Moment,
        _ loop: TransferLoop
    ) {
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

/// One request of a proof: it goes from endpoint to endpoint until SLS answers.
final class ProofQuestion {
    /// It has no answer yet.
    private(set) var isOpen = false
    private let transfer: Transfer
    private let credential: Credential
    private let place: DestinationTester.Place
    private let output: SLSOutput
    private let tester: DestinationTester
    private var address: FoundAddress?

    private var endpoints: ArraySlice<Endpoint>
    private var isResigned = false
    private var judgement: (Judgement, at: Endpoint)?

    /// Where no logstore is known: an answer about this one says nothing.
    private static let anyLogstore = "sluice-proof"

    init(
        _ credential: Credential,
        at place: DestinationTester.Place,
        _ tester: DestinationTester
    ) throws(DeliveryError) {
        do throws(EndpointError) {
            output = try SLSOutput(place.settings, userAgent: tester.userAgent)
        } catch {
            throw DeliveryError(description: error.description)
        }
        guard !place.settings.endpoints.isEmpty else {
            throw DeliveryError(description: "there is no endpoint to ask")
        }
        self.credential = credential
        self.place = place
        self.tester = tester
        endpoints = place.settings.endpoints[...]
        transfer = Transfer(place.settings.options())
    }

    /// True when the answer here holds there as well.
    func isAsked(at other: DestinationTester.Place) -> Bool {
        let (mine, others) = (place.settings, other.settings)
        return place.logstore == other.logstore && mine.endpointKeys == others.endpointKeys
            && mine.project == others.project && mine.region == others.region
            && mine.signature == others.signature
            && mine.transfer.transport.certificateAuthorities
                == others.transfer.transport.certificateAuthorities
            && mine.transfer.transport.resolvers == others.transfer.transport.resolvers
            && mine.transfer.clockOffset == others.transfer.clockOffset
    }

    func start(on loop: TransferLoop) {
        isOpen = true
        prepare(at: tester.now() + place.settings.transfer.clockOffset)
        run(on: loop)
    }

    func cancel(on loop: TransferLoop) {
        transfer.leaveQuickly()
        loop.cancel(transfer)
    }

    private func run(on loop: TransferLoop) {
        loop.start(transfer) { [self] _, outcome in
            isOpen = goesOn(after: outcome)
            if isOpen { run(on: loop) }
        }
    }

    /// True when the request was prepared once more: with SLS's own time if SLS found the clock
    /// wrong, or for the next endpoint.
    private func goesOn(after outcome: TransferOutcome) -> Bool {
        address?.note(outcome)
        let endpoint = endpoints[endpoints.startIndex]
        let judged = output.judge(.request(outcome), of: Attempt(), by: credential)
        judgement = (judged, endpoint)
        if judged.action == .resign, !isResigned, let told = judged.time?.told {
            isResigned = true
            prepare(at: told)
            return true
        }
        guard judged.requestID == nil, endpoints.count > 1 else { return false }
        endpoints = endpoints.dropFirst()
        isResigned = false
        prepare(at: tester.now() + place.settings.transfer.clockOffset)
        return true
    }

    /// Patience is over. The outcome at an earlier endpoint counts, if there is one.
    func giveUp() {
        guard judgement == nil else { return }
        let problem = TransportProblem(
            .timedOut,
            detail: "no answer came for as long as the proof waits",
            proxyStatus: 0
        )
        judgement = (Judge.judge(problem), endpoints[endpoints.startIndex])
    }

    var isRefused: Bool { !isOpen && proof(of: place.settings)?.verdict == .refused }

    /// For a destination that it is asked for; nil while nothing is known.
    func proof(of settings: Destination) -> DestinationTest? {
        judgement.map { judgement, endpoint in
            DestinationTest(
                judgement,
                of: settings,
                at: endpoint,
                isRealLogstore: place.logstore != nil
            )
        }
    }

    private func prepare(at time: WallTime) {
        var request = output.proof(
            place.logstore ?? Self.anyLogstore,
            to: endpoints[endpoints.startIndex],
            by: credential,
            at: time
        )
        address = tester.addresses.address(for: request.url, place.settings.resolversAsked)
        request.target = address?.target
        transfer.prepare(request)
    }
}

extension DestinationTest {
    fileprivate init(
        _ judgement: Judgement,
        of settings: Destination,
        at endpoint: Endpoint,
        isRealLogstore: Bool
    ) {
        let verdict = Verdict(judgement, isRealLogstore: isRealLogstore)
        self.init(
            destination: settings.name,
            endpoint: endpoint.description,
            verdict: verdict,
            status: judgement.status,
            code: judgement.code,
            // The judgement says "stored", which would mislead.
            message: verdict == .accepted
                ? "SLS accepts a signed request. No log was sent" : judgement.message,
            requestID: judgement.requestID,
            remedy: judgement.remedy
        )
    }
}

extension DestinationTest.Verdict {
    /// SLS looks at the signature before anything else: a refusal for another reason accepts it.
    fileprivate init(_ judgement: Judgement, isRealLogstore: Bool) {
        self =
            switch judgement.kind {
            // It may be allowed to write to other logstores, or to none.
            case .unauthorized where !isRealLogstore && judgement.action == .pause(.logstore):
                .undecided
            case .unauthorized: .refused
            case .content, .sequence, .suspended: .accepted
            // A 403 with an unknown code counts as a quota, and may mean anything.
            case .quota: judgement.code.flatMap(ErrorCode.known) == nil ? .undecided : .accepted
            case .notFound:
                judgement.code?.lowercased().hasPrefix("logstore") == true ? .accepted : .undecided
            case .other: judgement.action == .acknowledge ? .accepted : .undecided
            case .network, .notSLS, .server, .clock, .request, .queue, .write: .undecided
            }
    }
}
