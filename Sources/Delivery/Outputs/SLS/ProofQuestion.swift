import HTTPClient
import SLS
import System

/// One request of a proof: it goes from endpoint to endpoint until SLS answers.
final class ProofQuestion {
    /// It has no answer yet.
    private(set) var isOpen = false
    private let transfer: Transfer
    private let credential: Credential
    private let place: CredentialProver.Place
    private let output: SLSOutput
    private let addresses: AddressLookup
    private var address: FoundAddress?
    private let now: @Sendable () -> WallTime

    private var endpoints: ArraySlice<Endpoint>
    private var isResigned = false
    private var judgement: (Judgement, at: Endpoint)?

    /// Where no logstore is known: an answer about this one says nothing.
    private static let anyLogstore = "sluice-proof"

    init(
        _ credential: Credential,
        _ place: CredentialProver.Place,
        _ userAgent: String,
        _ addresses: AddressLookup,
        _ now: @escaping @Sendable () -> WallTime
    ) throws(DeliveryError) {
        do throws(EndpointError) {
            output = try SLSOutput(place.settings, userAgent: userAgent)
        } catch {
            throw DeliveryError(description: error.description)
        }
        guard !place.settings.sls.endpoints.isEmpty else {
            throw DeliveryError(description: "there is no endpoint to ask")
        }
        self.credential = credential
        self.place = place
        self.addresses = addresses
        self.now = now
        endpoints = place.settings.sls.endpoints[...]
        transfer = Transfer(place.settings.transport.options())
    }

    /// True when the answer here holds there as well.
    func isAsked(at other: CredentialProver.Place) -> Bool {
        let (mine, others) = (place.settings, other.settings)
        return place.logstore == other.logstore && mine.endpoints == others.endpoints
            && mine.project == others.project && mine.sls.region == others.sls.region
            && mine.sls.signature == others.sls.signature
            && mine.transport.certificateAuthorities == others.transport.certificateAuthorities
            && mine.transport.resolvers == others.transport.resolvers
            && mine.clockOffset == others.clockOffset
    }

    func start(on loop: TransferLoop) {
        isOpen = true
        prepare(at: now() + place.settings.clockOffset)
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

    /// Judges the outcome. True when the request was prepared once more: with SLS's own time, if
    /// SLS found the clock wrong, or for the next endpoint.
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
        prepare(at: now() + place.settings.clockOffset)
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
    func proof(of settings: DestinationSettings) -> CredentialProof? {
        judgement.map { judgement, endpoint in
            CredentialProof(
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
        let transport = place.settings.transport
        // A proxy resolves by itself.
        let resolvers = transport.proxy == nil ? transport.resolvers : []
        address = addresses.address(for: request.url, resolvers)
        request.target = address?.target
        transfer.prepare(request)
    }
}
