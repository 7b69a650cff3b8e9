import Credentials
import SLS
import System

/// Asks STS for all roles at once that are asked for with a credential, each on a thread of its own.
final class RoleInquiry: Sendable {
    private let roles: [String]
    /// Ends what is waited for.
    private let end: Interruption
    private let told: WakeUp
    private let proofs = Locked<[String: RoleProof]>([:])
    private let workers = Locked<[Worker]>([])

    private static let lookPause: Duration = .milliseconds(200)

    /// Begins. `stop` has to be called, whatever comes.
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

    /// Waits for all of them; who has not answered by then is undecided. For a thread that may wait.
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
