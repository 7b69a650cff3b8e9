import Configuration
package import Credentials
package import Delivery
import HTTP
import HTTPClient
import Queue
import Resolvers
import SLS
import System

/// The answers about a credential: of the destinations that use it, and of STS for roles based on
/// it.
package struct CredentialProofs {
    package var destinations: [DestinationTest] = []
    package var roles: [RoleProof] = []
    /// The generation of the credential that this one is to replace; nil when nothing was asked.
    var generation: Int?

    package init() {}

    package var verdicts: [DestinationTest.Verdict] {
        destinations.map(\.verdict) + roles.map(\.verdict)
    }
    package var isProved: Bool { verdicts.contains(.accepted) }
    package var isRefused: Bool { verdicts.contains(.refused) }
}

/// Asks SLS and STS whether they accept a credential, on the thread of proofs: it may take long.
package struct CredentialInquiry: Sendable {
    private static let patience: Duration = .seconds(30)

    private let parts: GatewayParts
    private var tester = DestinationTester()
    /// The stop of the thread of proofs ends an inquiry.
    private var worker: SerialWorker { parts.workers.proofs }

    init(_ parts: GatewayParts) {
        self.parts = parts
        tester.userAgent = "sluice/\(Version.current)"
        tester.addresses = parts.names.lookup
        tester.isInterrupted = { [worker = parts.workers.proofs] in worker.isEnding }
    }

    /// Asks for each destination and role that uses the credential, all at once with one deadline:
    /// an operator waits.
    func ask(_ credential: Credential, as name: String) throws(HTTPProblem) -> CredentialProofs {
        if let problem = credential.problem { throw HTTPProblem(PushRefusal.unsendable(problem)) }
        let deadline = Moment.now + Self.patience
        let inquiry: RoleInquiry
        do throws(SystemError) {
            inquiry = try RoleInquiry(credential, as: name, parts.keeper)
        } catch {
            throw .busy("cannot send a request to STS: \(error)")
        }
        defer { inquiry.stop() }
        var proofs = CredentialProofs()
        proofs.destinations = try busy { () throws(DeliveryError) in
            try tester.prove(credential, at: places(deliveringWith: name), within: Self.patience)
        }
        // One refusal decides.
        guard !proofs.isRefused else { return proofs }
        proofs.roles = inquiry.answers(by: deadline) { worker.isEnding }
        return proofs
    }

    /// Asks SLS for one destination, with a request without logs.
    func test(_ destination: Destination, _ credential: Credential) throws(HTTPProblem)
        -> DestinationTest?
    {
        try busy { () throws(DeliveryError) in
            try tester.prove(credential, at: places([destination]), within: Self.patience).first
        }
    }

    /// Tests a destination that needs no credential, without delivering a log.
    func test(_ destination: Destination) throws(HTTPProblem) -> DestinationTest {
        try busy { () throws(DeliveryError) in try tester.test(destination) }
    }

    private func busy<Value>(
        _ work: () throws(DeliveryError) -> Value
    ) throws(HTTPProblem) -> Value {
        do throws(DeliveryError) {
            return try work()
        } catch {
            throw .busy(error.description)
        }
    }

    /// The configured destination of this name.
    func destination(_ name: String) -> Destination? {
        parts.configuration.withLock { $0.destinations.first { $0.name == name } }
    }

    private func places(deliveringWith name: String) -> [DestinationTester.Place] {
        places(
            parts.configuration.withLock { $0.destinations.filter { $0.credentialInUse == name } }
        )
    }

    private func places(_ users: [Destination]) -> [DestinationTester.Place] {
        let delivery = parts.forwarder.status
        let queue = parts.store.status.destinations
        return users.map { destination in
            let logstore: String? =
                switch destination.logstore {
                case .named(let name): name
                // It may have rights for few logstores, but must have them where logs went or wait
                // to go.
                case .any:
                    delivery.first { $0.name == destination.name }?.provenLogstore
                        ?? queue[destination.name]?.outlets.keys.sorted().first
                }
            return DestinationTester.Place(destination, logstore: logstore)
        }
    }

    /// Refuses a credential that was refused. Also one that no party accepted, as long as the
    /// credential in use still works. One acceptance is enough: the other parties may be
    /// unreachable.
    func judge(_ proofs: CredentialProofs, _ before: CredentialStatus) throws(HTTPProblem) {
        if let refused = proofs.destinations.first(where: { $0.verdict == .refused }) {
            throw HTTPProblem(refused)
        }
        if let refused = proofs.roles.first(where: { $0.verdict == .refused }) {
            throw HTTPProblem(refused)
        }
        let isUsable = ![.expired, .missing, .refused].contains(before.state)
        guard isUsable, !proofs.isProved else { return }
        if let doubtful = proofs.destinations.first { throw HTTPProblem(doubtful) }
        if let doubtful = proofs.roles.first { throw HTTPProblem(doubtful) }
    }
}

extension HTTPProblem {
    fileprivate init(_ proof: DestinationTest) {
        let said = [proof.code, proof.message].compactMap(\.self).joined(separator: ": ")
        let id = proof.requestID.map { " (request id \($0))" } ?? ""
        self.init(
            unproved: proof.verdict == .refused,
            "\(proof.verdict == .refused ? "SLS refuses the credential" : "the credential cannot be proved") for destination "
                + "\(proof.destination): \(said)\(id); \(proof.remedy)"
        )
    }

    fileprivate init(_ proof: RoleProof) {
        let said = proof.problem?.description ?? "no request was sent"
        self.init(
            unproved: proof.verdict == .refused,
            "\(proof.verdict == .refused ? "STS refuses the credential" : "the credential cannot be proved") for the role "
                + "\(proof.role): \(said)"
        )
    }

    private init(unproved isRefused: Bool, _ reason: String) {
        self.init(
            isRefused ? 422 : 502,
            isRefused ? "CredentialRefused" : "CredentialUnproved",
            reason + "; the old credential stays in use; ?force=true skips the proof"
        )
    }
}

/// What STS answered when it was asked for a role with a new credential.
package struct RoleProof: Sendable {
    /// The name of the credential that the role yields.
    package let role: String
    package let verdict: DestinationTest.Verdict
    package let problem: SourceProblem?

    /// `problem` is nil when STS gave the role.
    init(_ role: String, _ problem: SourceProblem?) {
        self.role = role
        self.problem = problem
        guard let problem else {
            verdict = .accepted
            return
        }
        // A wrong question says nothing about the caller.
        let isAboutCaller = problem.words?.code.map { !$0.hasPrefix("InvalidParameter") } ?? false
        verdict = problem.kind == .permanent && isAboutCaller ? .refused : .undecided
    }
}

/// Asks STS with a credential for all roles that are based on it, each on a thread of its own.
final class RoleInquiry: Sendable {
    private let roles: [String]
    /// Ends the threads' waits.
    private let end: Interruption
    private let told: WakeUp
    private let proofs = Locked<[String: RoleProof]>([:])
    private let workers = Locked<[Worker]>([])

    private static let lookPause: Duration = .milliseconds(200)

    /// Starts asking. The caller must call `stop` in any case.
    init(
        _ credential: Credential,
        as name: String,
        _ keeper: CredentialKeeper
    ) throws(SystemError) {
        roles = keeper.roles(askedForBy: name)
        end = try Interruption()
        told = try WakeUp()
        do throws(SystemError) {
            for role in roles {
                let worker = try Worker("proof") { [end, told, proofs] in
                    let proof = Self.prove(credential, as: name, for: role, keeper, end)
                    proofs.withLock { $0[role] = proof }
                    told.signal()
                }
                workers.withLock { $0.append(worker) }
            }
        } catch {
            stop()
            throw error
        }
    }

    /// Waits for all answers until the deadline. A role without an answer by then is undecided.
    func answers(by deadline: Moment, unless isInterrupted: () -> Bool) -> [RoleProof] {
        while proofs.withLock({ $0.count }) < roles.count, Moment.now < deadline, !isInterrupted() {
            told.wait(timeout: min(Self.lookPause, max(.zero, deadline - .now)))
        }
        stop()
        let all = proofs.withLock { $0 }
        return roles.compactMap { all[$0] }
    }

    func stop() {
        end.set()
        let workers = workers.withLock { workers in
            defer { workers = [] }
            return workers
        }
        workers.forEach { $0.join() }
    }

    private static func prove(
        _ credential: Credential,
        as name: String,
        for role: String,
        _ keeper: CredentialKeeper,
        _ end: Interruption
    ) -> RoleProof {
        do throws(SourceProblem) {
            try keeper.prove(credential, as: name, for: role, end)
            return RoleProof(role, nil)
        } catch {
            return RoleProof(role, error)
        }
    }
}
