import Configuration
import Credentials
import Crypto
import Delivery
import HTTP
import JSON
import Operations
import SLS
import System

/// Credentials: show, rotate, forget, verify. An answer never holds a secret.
extension AdminCall {
    private var name: String { values[0] }

    func credentials() -> Response {
        let all = shared.credentials.keeper.status
        return .json { json in json.objects("credentials", all) { $0.credential($1) } }
    }

    func credential() throws(HTTPProblem) -> Response { try credential(after: nil) }

    /// The credential of the configured source, or only the name if there is none.
    func forgetCredential() throws(HTTPProblem) -> Response {
        let condition = try IfMatch(head)
        try shared.credentials.forget(name, if: condition, entry("forget", "credential \(name)"))
        return (try? credential()) ?? forgotten(name)
    }

    func verifyCredential() throws(HTTPProblem) -> Response {
        answer(name, try shared.credentials.verify(name))
    }

    func testDestination() throws(HTTPProblem) -> Response {
        answer(try shared.credentials.test(destination: name))
    }

    fileprivate func rotate(_ pushed: PushedCredential) throws(HTTPProblem) {
        let condition = try IfMatch(head)
        let exchange: @Sendable (CredentialProofs) -> Void = { proofs in
            respond(on: .changes) { () throws(HTTPProblem) in
                let line = entry("rotate", "credential \(name)")
                let outcome = try shared.credentials.push(name, pushed, proofs, if: condition, line)
                return try credential(after: outcome)
            }
        }
        // A forced rotation has no proof, and must not wait for proofs of others.
        guard head.parameter("force") != "true" else { return exchange(CredentialProofs()) }
        respond(on: .proofs) { () throws(HTTPProblem) in
            exchange(try shared.credentials.prove(pushed, for: name, if: condition))
            // The next proof must see the result of this rotation.
            shared.workers.changes.waitUntilHere()
            return nil
        }
    }
}

extension AdminHandler {
    func rotate(
        _ call: AdminCall,
        _ body: UnsafeRawBufferPointer
    ) throws(HTTPProblem) -> Response? {
        let origin = "pushed by \(call.visitor?.holder.name ?? "")"
        let pushed: PushedCredential
        var content = Array(body)
        defer { wipe(&content) }
        do throws(PushRefusal) {
            pushed = try PushedCredential(json: content, origin: origin, now: .now)
        } catch {
            throw HTTPProblem(error)
        }
        try call.rotate(pushed)
        return nil
    }
}
