package import Credentials
package import Delivery

/// What STS said when it was asked for a role with a credential that is to be put in place.
package struct RoleProof: Sendable {
    /// The credential that the role is.
    package let role: String
    package let verdict: CredentialProof.Verdict
    package let problem: SourceProblem?

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
