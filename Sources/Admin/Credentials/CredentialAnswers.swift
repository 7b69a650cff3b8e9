import Credentials
import Delivery
import HTTP
import JSON
import Operations
import System

/// Answers about credentials, which never contain a secret.
enum CredentialAnswers {
    static func answer(_ all: [CredentialStatus]) -> Response {
        var json = JSONWriter()
        json.object { json in
            json.array("credentials") { json in
                for status in all { json.object { $0.credential(status) } }
            }
        }
        return Response(json: json.text + "\n")
    }

    static func answer(
        _ name: String,
        _ rotation: CredentialRotation,
        after outcome: CredentialRotation.Outcome? = nil
    ) throws(HTTPProblem) -> Response {
        let status = try rotation.status(of: name)
        var response = answer(status, after: outcome)
        response.fields.append(("etag", status.version))
        return response
    }

    private static func answer(
        _ status: CredentialStatus,
        after outcome: CredentialRotation.Outcome?
    ) -> Response {
        var json = JSONWriter()
        json.object { json in
            json.credential(status)
            guard let outcome else { return }
            json.member("proved", outcome.isProved)
            json.member("stored", outcome.isStored)
            json.member("not_stored_because", outcome.reason)
            json.proofs(outcome.proofs)
        }
        return Response(json: json.text + "\n")
    }

    /// The credential of the configured source, or only the name if there is none.
    static func forgotten(_ name: String, _ rotation: CredentialRotation) -> Response {
        if let answer = try? answer(name, rotation) { return answer }
        var json = JSONWriter()
        json.object { $0.member("name", name) }
        return Response(json: json.text + "\n")
    }

    /// The answer of one destination, with the same statuses as those of all.
    static func answer(_ test: DestinationTest) -> Response {
        let status =
            switch test.verdict {
            case .accepted: 200
            case .refused: 422
            case .undecided: 502
            }
        var json = JSONWriter()
        json.object { $0.proof(test) }
        return Response(status, json: json.text + "\n")
    }

    /// 422 if SLS refuses the credential and 502 if the proof has no result, so that scripts can tell.
    static func answer(_ name: String, proofs: CredentialProofs) -> Response {
        let isTaken = proofs.verdicts.isEmpty || proofs.isProved
        var json = JSONWriter()
        json.object { json in
            json.member("name", name)
            let verdicts = proofs.verdicts
            json.member(
                "verdict",
                (verdicts.first { $0 != .accepted } ?? verdicts.first)?.name
            )
            json.proofs(proofs)
        }
        return Response(proofs.isRefused ? 422 : isTaken ? 200 : 502, json: json.text + "\n")
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

extension CredentialProof.Verdict {
    fileprivate var name: String {
        switch self {
        case .accepted: "accepted"
        case .refused: "refused"
        case .undecided: "undecided"
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
        member("verdict", proof.verdict.name)
        member("status", proof.status)
        member("code", proof.code)
        member("message", proof.message)
        member("request_id", proof.requestID)
        member("remedy", proof.verdict == .accepted ? nil : proof.remedy)
    }

    fileprivate mutating func proofs(_ proofs: CredentialProofs) {
        array("proofs") { json in
            for proof in proofs.destinations {
                json.object { $0.proof(DestinationTest(proof)) }
            }
        }
        array("role_proofs") { json in
            for proof in proofs.roles {
                json.object { json in
                    json.member("role", proof.role)
                    json.member("verdict", proof.verdict.name)
                    json.member("status", proof.problem?.words?.status)
                    json.member("code", proof.problem?.words?.code)
                    json.member("message", proof.problem?.words?.message ?? proof.problem?.what)
                    json.member("request_id", proof.problem?.words?.requestID)
                    json.member("remedy", proof.problem?.remedy)
                }
            }
        }
    }
}
