package import Credentials
package import Delivery
import SLS
import System

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
