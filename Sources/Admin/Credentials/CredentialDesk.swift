import Configuration
import Credentials
import Crypto
import Delivery
import HTTP
import Operations
import SLS
import System

/// Answers requests of operators about credentials: show, rotate, forget, verify. An answer never holds a secret.
struct CredentialDesk: Sendable {
    let rotation: CredentialRotation
    let workers: OperatorWorkers
    let audit: AuditTrail

    func handle(
        _ route: AdminRoute,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) {
        do throws(HTTPProblem) {
            switch (route, head.method) {
            case (.credentials, _):
                responder.send(CredentialAnswers.answer(rotation.keeper.status))
            case (.credential(let name), .put):
                try rotate(name, head, body, holder, responder)
            case (.credential(let name), .delete):
                let entry = audit.entry(holder, head, "forget", "credential \(name)")
                let condition = try IfMatch(head)
                change(responder) { rotation throws(HTTPProblem) in
                    try rotation.forget(name, if: condition, entry)
                    return CredentialAnswers.forgotten(name, rotation)
                }
            case (.credential(let name), _):
                responder.send(try CredentialAnswers.answer(name, rotation))
            case (.credentialVerify(let name), _):
                workers.proofs.post(answering: responder) { [rotation] () throws(HTTPProblem) in
                    let proofs = try rotation.verify(name)
                    responder.send(CredentialAnswers.answer(name, proofs: proofs))
                }
            case (.destinationTest(let name), _):
                workers.proofs.post(answering: responder) { [rotation] () throws(HTTPProblem) in
                    let test = try rotation.test(destination: name)
                    responder.send(CredentialAnswers.answer(test))
                }
            default: responder.send(AdminRoute.unknownPath.response)
            }
        } catch {
            responder.send(error.response)
        }
    }

    private func rotate(
        _ name: String,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) throws(HTTPProblem) {
        let isForced = try isForced(head)
        let condition = try IfMatch(head)
        let pushed: PushedCredential
        var content = Array(body)
        defer { wipe(&content) }
        do throws(PushRefusal) {
            pushed = try PushedCredential(
                json: content,
                origin: "pushed by \(holder.name)",
                now: .now
            )
        } catch {
            throw HTTPProblem(error)
        }
        let entry = audit.entry(holder, head, "rotate", "credential \(name)")
        let exchange: @Sendable (CredentialProofs) -> Void = { proofs in
            change(responder) { rotation throws(HTTPProblem) in
                let outcome = try rotation.push(name, pushed, proofs, if: condition, entry)
                return try CredentialAnswers.answer(name, rotation, after: outcome)
            }
        }
        // A forced rotation has no proof, and must not wait for proofs of others.
        guard !isForced else { return exchange(CredentialProofs()) }
        workers.proofs.post(answering: responder) { [rotation, workers] () throws(HTTPProblem) in
            exchange(try rotation.prove(pushed, for: name, if: condition))
            // The next proof must see the result of this rotation.
            workers.changes.waitUntilHere()
        }
    }

    private func isForced(_ head: RequestHead) throws(HTTPProblem) -> Bool {
        guard let pairs = head.queryPairs else {
            throw HTTPProblem(400, "ParameterInvalid", "the query cannot be read")
        }
        guard let value = pairs.first?.value else { return false }
        guard ["true", "false"].contains(value) else {
            throw HTTPProblem(
                400,
                "ParameterInvalid",
                "force cannot be \(clipped(value)); it is true or false"
            )
        }
        return value == "true"
    }

    /// Makes the change on the thread of changes, and answers with its result.
    private func change(
        _ responder: Responder,
        _ change: @escaping @Sendable (CredentialRotation) throws(HTTPProblem) -> Response
    ) {
        workers.changes.post(answering: responder) { [rotation] () throws(HTTPProblem) in
            responder.send(try change(rotation))
        }
    }
}
