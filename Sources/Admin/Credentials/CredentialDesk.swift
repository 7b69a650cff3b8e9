import Configuration
import Credentials
import Crypto
import Delivery
import HTTP
import JSON
import Operations
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
                let outcome = try shared.credentials.push(
                    name,
                    pushed,
                    proved: proofs,
                    if: condition,
                    entry("rotate", "credential \(name)")
                )
                return try credential(after: outcome)
            }
        }
        // A forced rotation has no proof, and must not wait for proofs of others.
        guard head.parameter("force") != "true" else { return exchange(CredentialProofs()) }
        respond(on: .proofs) { () throws(HTTPProblem) in
            exchange(try shared.credentials.prove(pushed, for: name, if: condition))
            // The next proof must see the result of this rotation.
            shared.parts.workers.changes.waitUntilHere()
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

extension AdminCall {
    func credential(after outcome: CredentialRotation.Outcome?) throws(HTTPProblem) -> Response {
        let status = try shared.credentials.status(of: values[0])
        var response = Response.json { json in
            json.credential(status)
            guard let outcome else { return }
            json.member("proved", outcome.isProved)
            json.member("stored", outcome.isStored)
            json.member("not_stored_because", outcome.reason)
            json.proofs(outcome.proofs)
        }
        response.fields.append(("etag", status.version))
        return response
    }

    /// The answer of one destination, with the same statuses as those of all.
    func answer(_ test: DestinationTest) -> Response {
        let status =
            switch test.verdict {
            case .accepted: 200
            case .refused: 422
            case .undecided: 502
            }
        return .json(status) { $0.proof(test) }
    }

    /// 422 if SLS refuses the credential and 502 without a result, so that scripts can tell.
    func answer(_ name: String, _ proofs: CredentialProofs) -> Response {
        let verdicts = proofs.verdicts
        let isTaken = verdicts.isEmpty || proofs.isProved
        return .json(proofs.isRefused ? 422 : isTaken ? 200 : 502) { json in
            json.member("name", name)
            json.member("verdict", (verdicts.first { $0 != .accepted } ?? verdicts.first)?.rawValue)
            json.proofs(proofs)
        }
    }
}

extension CredentialStatus.Kept {
    fileprivate var name: String {
        switch self {
        case .onDisk: "disk"
        case .inMemory: "memory"
        case .closed: "closed"
        }
    }
}

extension JSONWriter {
    mutating func credential(_ status: CredentialStatus) {
        member("name", status.name)
        member("source", status.source)
        member("state", status.state.rawValue)
        member("origin", status.origin)
        member("pushed", status.isPushed)
        member("access_key_id", status.shownID)
        member("fingerprint", status.fingerprint)
        member("expiration", status.expiration?.rfc3339)
        member("seconds_left", status.secondsLeft.map { Int($0) })
        if let next = status.next {
            object("next") { json in
                json.member("fingerprint", next.fingerprint)
                json.member("activation", next.activation.rfc3339)
            }
        }
        member("kept", status.kept?.name)
        member("kept_reason", status.kept?.reason)
        member("last_refresh", status.lastRefresh?.rfc3339)
        member("last_problem", status.lastProblem?.description)
        member("failures", status.failures)
        member("next_try", status.nextTry?.rfc3339)
    }

    fileprivate mutating func proof(_ proof: DestinationTest) {
        member("destination", proof.destination)
        member("endpoint", proof.endpoint)
        member("verdict", proof.verdict.rawValue)
        member("status", proof.status)
        member("code", proof.code)
        member("message", proof.message)
        member("request_id", proof.requestID)
        member("remedy", proof.verdict == .accepted ? nil : proof.remedy)
    }

    fileprivate mutating func proofs(_ proofs: CredentialProofs) {
        objects("proofs", proofs.destinations) { $0.proof($1) }
        objects("role_proofs", proofs.roles) { json, proof in
            json.member("role", proof.role)
            json.member("verdict", proof.verdict.rawValue)
            json.member("status", proof.problem?.words?.status)
            json.member("code", proof.problem?.words?.code)
            json.member("message", proof.problem?.words?.message ?? proof.problem?.what)
            json.member("request_id", proof.problem?.words?.requestID)
            json.member("remedy", proof.problem?.remedy)
        }
    }
}
