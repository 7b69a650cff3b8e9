import Credentials
import Delivery
import HTTP
import System

/// Answers what operators ask of credentials: look, rotate, give back to the source, verify. Secrets go in and
/// never out.
struct CredentialDesk {
    let steering: Steering

    func handle(
        _ route: AdminRoute,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) {
        let wantsText = head.wantsText
        do throws(Refusal) {
            switch (route, head.method) {
            case (.credentials, _):
                responder.send(CredentialDocument.answer(steering.keeper.status, wantsText))
            case (.credential(let name), .put):
                try rotate(name, head, body, holder, responder)
            case (.credential(let name), .delete):
                let entry = steering.audit.entry(holder, head, "forget", "credential \(name)")
                change(responder) { steering throws(Refusal) in
                    try steering.forgetCredential(name, entry)
                    return CredentialDocument.forgotten(name, steering, wantsText)
                }
            case (.credential(let name), _):
                responder.send(try CredentialDocument.answer(name, steering, wantsText))
            case (.credentialVerify(let name), _):
                change(responder) { steering throws(Refusal) in
                    CredentialDocument.answer(name, proofs: try steering.verify(name), wantsText)
                }
            default: responder.send(ErrorShape.plain.response(.unknownPath))
            }
        } catch {
            responder.send(ErrorShape.plain.response(error))
        }
    }

    private func rotate(
        _ name: String,
        _ head: RequestHead,
        _ body: UnsafeRawBufferPointer,
        _ holder: AdminHolder,
        _ responder: Responder
    ) throws(Refusal) {
        let isForced = try isForced(head)
        let wantsText = head.wantsText
        let pushed: PushedCredential
        do throws(PushRefusal) {
            pushed = try PushedCredential(
                json: Array(body),
                origin: "pushed by \(holder.name)",
                now: .now
            )
        } catch {
            throw Refusal(error)
        }
        let entry = steering.audit.entry(holder, head, "rotate", "credential \(name)")
        // Forced, it asks nobody, and must not wait for others' proofs.
        change(responder, at: isForced ? steering.helm : steering.vaultHelm) {
            steering throws(Refusal) in
            let rotation = try steering.rotate(name, pushed, isForced: isForced, entry)
            return try CredentialDocument.answer(name, steering, wantsText, after: rotation)
        }
    }

    private func isForced(_ head: RequestHead) throws(Refusal) -> Bool {
        guard let pairs = head.queryPairs else {
            throw Refusal(400, "ParameterInvalid", "the query cannot be read")
        }
        guard let value = pairs.first?.value else { return false }
        guard ["true", "false"].contains(value) else {
            throw Refusal(
                400,
                "ParameterInvalid",
                "force cannot be \(clipped(value)); it is true or false"
            )
        }
        return value == "true"
    }

    private func change(
        _ responder: Responder,
        at helm: Helm? = nil,
        _ change: @escaping @Sendable (Steering) throws(Refusal) -> Response
    ) {
        let steering = steering
        let isTaken = (helm ?? steering.vaultHelm).post {
            do throws(Refusal) {
                responder.send(try change(steering))
            } catch {
                responder.send(ErrorShape.plain.response(error))
            }
        }
        if !isTaken { responder.send(ErrorShape.plain.response(.tooManyChanges)) }
    }
}
