import Configuration
import Credentials
import Crypto
import Delivery
import HTTP
import Operations
import SLS
import System

/// Answers what operators ask of credentials: look, rotate, give back to the source, verify. Secrets go in and
/// never out.
struct CredentialDesk: Sendable {
    let steering: Steering

    func handle(
        _ route: AdminRoute,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) {
        let wantsText = head.wantsText
        do throws(HTTPProblem) {
            switch (route, head.method) {
            case (.credentials, _):
                responder.send(CredentialAnswers.answer(steering.keeper.status, wantsText))
            case (.credential(let name), .put):
                try rotate(name, head, body, holder, responder)
            case (.credential(let name), .delete):
                let entry = steering.audit.entry(holder, head, "forget", "credential \(name)")
                let condition = try IfMatch(head)
                change(responder) { steering throws(HTTPProblem) in
                    try steering.forgetCredential(name, if: condition, entry)
                    return CredentialAnswers.forgotten(name, steering, wantsText)
                }
            case (.credential(let name), _):
                responder.send(try CredentialAnswers.answer(name, steering, wantsText))
            case (.credentialVerify(let name), _):
                steering.vaultHelm.post(answering: responder) { [steering] () throws(HTTPProblem) in
                    let proofs = try steering.verify(name)
                    responder.send(CredentialAnswers.answer(name, proofs: proofs, wantsText))
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
        let wantsText = head.wantsText
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
        let entry = steering.audit.entry(holder, head, "rotate", "credential \(name)")
        let exchange: @Sendable (Steering.Proofs) -> Void = { proofs in
            change(responder) { steering throws(HTTPProblem) in
                let rotation = try steering.rotate(name, pushed, proofs, if: condition, entry)
                return try CredentialAnswers.answer(name, steering, wantsText, after: rotation)
            }
        }
        // Forced, it asks nobody, and must not wait for others' proofs.
        guard !isForced else { return exchange(Steering.Proofs()) }
        steering.vaultHelm.post(answering: responder) { [steering] () throws(HTTPProblem) in
            exchange(try steering.proofs(of: pushed, for: name, if: condition))
            // What is proved next is meant to come after this one.
            steering.helm.waitUntilHere()
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

    /// Makes the change at the helm, one after the other, and answers with what comes of it.
    private func change(
        _ responder: Responder,
        _ change: @escaping @Sendable (Steering) throws(HTTPProblem) -> Response
    ) {
        steering.helm.post(answering: responder) { [steering] () throws(HTTPProblem) in
            responder.send(try change(steering))
        }
    }
}
