import Credentials
import Delivery

/// What STS said when it was asked for a role with a credential that is to be put in place.
struct RoleProof: Sendable {
    /// The credential that the role is.
    let role: String
    let verdict: CredentialProof.Verdict
    let problem: SourceProblem?

    /// Nil when the role was given.
    init(_ role: String, _ problem: SourceProblem?) {
        self.role = role
        self.problem = problem
        guard let problem else {
            verdict = .accepted
            return
        }
        // What is wrong with the question says nothing about who asks.
        let isAboutCaller = problem.words?.code.map { !$0.hasPrefix("InvalidParameter") } ?? false
        verdict = problem.kind == .permanent && isAboutCaller ? .refused : .undecided
    }
}
