import Configuration
package import Credentials
package import Delivery
package import HTTP
import Queue
import SLS
import SQLiteQueue
import System

// Asks SLS and STS about credentials. To be called on the thread for it, since they may let it wait.
extension Steering {
    private static let proofPatience: Duration = .seconds(30)

    /// What everybody said who was asked with a credential: the destinations that use it, and STS for the roles
    /// that are asked for with it.
    package struct Proofs {

        package init() {}
        package var destinations: [CredentialProof] = []
        package var roles: [RoleProof] = []
        /// Which generation of the credential they are to replace; nil where nobody was asked.
        var generation: Int?

        package var verdicts: [CredentialProof.Verdict] {
            destinations.map(\.verdict) + roles.map(\.verdict)
        }
        package var isProved: Bool { verdicts.contains(.accepted) }
        package var isRefused: Bool { verdicts.contains(.refused) }
    }

    /// What is said of a credential that is to be used, or why it is not worth using.
    package func proofs(
        of pushed: PushedCredential,
        for name: String,
        if condition: IfMatch
    ) throws(HTTPProblem) -> Proofs {
        let before = try known(name)
        // Nobody is to wait for proofs of what is refused in the end.
        try condition.check(before.version)
        try refuseExpired(pushed)
        var proofs = try prove(pushed.supplied.credential, as: name)
        try judge(proofs, before)
        proofs.generation = before.generation
        return proofs
    }

    /// Asks SLS whether it takes the credential in use, on behalf of each destination that uses it, and STS on
    /// behalf of each role that is asked for with it.
    package func verify(_ name: String) throws(HTTPProblem) -> Proofs {
        _ = try known(name)
        guard let credential = keeper.credential(named: name) else {
            let reason = keeper.absence(of: name) ?? "there is no credential"
            throw HTTPProblem(409, "CredentialMissing", reason)
        }
        return try prove(credential, as: name)
    }

    /// Everybody at once, and all of them have one patience: somebody waits for the answer.
    private func prove(_ credential: Credential, as name: String) throws(HTTPProblem) -> Proofs {
        if let problem = credential.problem { throw HTTPProblem(PushRefusal.unsendable(problem)) }
        let deadline = Moment.now + Self.proofPatience
        let inquiry: RoleInquiry
        do throws(SystemError) {
            inquiry = try RoleInquiry(credential, as: name, keeper)
        } catch {
            throw HTTPProblem(503, "ServerBusy", "STS cannot be asked: \(error)")
        }
        defer { inquiry.stop() }
        let prover = CredentialProver(
            userAgent: "sluice/\(Version.current)",
            patience: Self.proofPatience,
            isInterrupted: { [vaultHelm] in vaultHelm.isEnding }
        )
        var proofs = Proofs()
        do throws(DeliveryError) {
            proofs.destinations = try prover.prove(credential, at: places(deliveringWith: name))
        } catch {
            throw HTTPProblem(503, "ServerBusy", error.description)
        }
        // One refusal is enough to know.
        guard !proofs.isRefused else { return proofs }
        proofs.roles = inquiry.answers(by: deadline) { proofEnd.isSet }
        return proofs
    }

    private func places(deliveringWith name: String) -> [CredentialProver.Place] {
        let users = configuration.withLock { $0.destinations.filter { $0.credential == name } }
        let delivery = forwarder.status
        let queue = store.status.destinations
        return users.map { destination in
            let logstore: String? =
                switch destination.logstore {
                case .named(let name): name
                // It may be allowed to write to few: where logs went or want to go, it has to be.
                case .any:
                    delivery.first { $0.name == destination.name }?.provenLogstore
                        ?? queue[destination.name]?.outlets.keys.sorted().first
                }
            return CredentialProver.Place(destination.deliverySettings, logstore: logstore)
        }
    }

    /// One that takes it is enough, since others may be away; where the one in use is good for nothing any more, so
    /// is the doubt.
    private func judge(_ proofs: Proofs, _ before: CredentialStatus) throws(HTTPProblem) {
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
    init(_ proof: CredentialProof) {
        let said = [proof.code, proof.message].compactMap(\.self).joined(separator: ": ")
        let id = proof.requestID.map { " (request id \($0))" } ?? ""
        self.init(
            unproved: proof.verdict == .refused,
            "\(proof.verdict == .refused ? "SLS refuses it" : "it cannot be proved") for destination "
                + "\(proof.destination): \(said)\(id); \(proof.remedy)"
        )
    }

    init(_ proof: RoleProof) {
        let said = proof.problem?.description ?? "nobody was asked"
        self.init(
            unproved: proof.verdict == .refused,
            "\(proof.verdict == .refused ? "STS refuses it" : "it cannot be proved") for the role "
                + "\(proof.role): \(said)"
        )
    }

    private init(unproved isRefused: Bool, _ reason: String) {
        self.init(
            isRefused ? 422 : 502,
            isRefused ? "CredentialRefused" : "CredentialUnproved",
            reason + "; the old one stays in use, ?force=true skips the proof"
        )
    }
}
