import Credentials
import Delivery
import HTTP
import System

/// What is shown of credentials: nothing that signs.
enum CredentialDocument {
    static func answer(_ all: [CredentialStatus], _ wantsText: Bool) -> Response {
        guard !wantsText else { return Response(text: all.map(\.line).joined()) }
        var json = JSONText()
        json.object { json in
            json.array("credentials") { json in
                for status in all { json.object { $0.credential(status) } }
            }
        }
        return Response(json: json.text + "\n")
    }

    static func answer(
        _ name: String,
        _ steering: Steering,
        _ wantsText: Bool,
        after rotation: Steering.Rotation? = nil
    ) throws(Refusal) -> Response {
        let all = steering.keeper.status
        guard let status = all.first(where: { $0.name == name }) else {
            throw .noCredential(name, all.map(\.name))
        }
        guard !wantsText else {
            var note = rotation?.reason.map { "  not kept over a restart: \($0)\n" } ?? ""
            if rotation?.isProved == false {
                note += "  not proved: nobody was asked who could tell\n"
            }
            return Response(text: status.line + note)
        }
        var json = JSONText()
        json.object { json in
            json.credential(status)
            guard let rotation else { return }
            json.member("proved", rotation.isProved)
            json.member("stored", rotation.isStored)
            json.member("not_stored_because", rotation.reason)
            json.proofs(rotation.proofs)
        }
        return Response(json: json.text + "\n")
    }

    /// As the source has it again; nothing but its name where it has none.
    static func forgotten(_ name: String, _ steering: Steering, _ wantsText: Bool) -> Response {
        if let answer = try? answer(name, steering, wantsText) { return answer }
        guard !wantsText else { return Response(text: "\(name): forgotten\n") }
        var json = JSONText()
        json.object { $0.member("name", name) }
        return Response(json: json.text + "\n")
    }

    /// 422 where SLS refuses it and 502 where nobody could tell, so that a script sees it too.
    static func answer(_ name: String, proofs: [CredentialProof], _ wantsText: Bool) -> Response {
        let isRefused = proofs.contains { $0.verdict == .refused }
        let isTaken = proofs.isEmpty || proofs.contains { $0.verdict == .accepted }
        var response = document(name, proofs: proofs, wantsText)
        response.status = isRefused ? 422 : isTaken ? 200 : 502
        return response
    }

    private static func document(
        _ name: String,
        proofs: [CredentialProof],
        _ wantsText: Bool
    ) -> Response {
        guard !wantsText else {
            guard !proofs.isEmpty else {
                return Response(
                    text: "\(name): no destination uses it, so there is nobody to ask\n"
                )
            }
            return Response(text: proofs.map { $0.line(of: name) }.joined())
        }
        var json = JSONText()
        json.object { json in
            json.member("name", name)
            json.member(
                "verdict",
                (proofs.first { $0.verdict != .accepted } ?? proofs.first)?.verdictName
            )
            json.proofs(proofs)
        }
        return Response(json: json.text + "\n")
    }
}

extension CredentialStatus {
    /// "default: ok, environment, LTAI…9f2c (fingerprint 1a2b3c4d), expires in 2 h"
    var line: String {
        let key = fingerprint.map { ", \(shownID ?? "") (fingerprint \($0))" } ?? ""
        let end =
            secondsLeft.map { left in
                left > 0
                    ? ", expires in \(spanText(.seconds(left)))"
                    : ", expired \(spanText(.seconds(-left))) ago"
            } ?? ""
        let pushed = isPushed ? " (pushed)" : ""
        let coming =
            next.map { "\n  next: fingerprint \($0.fingerprint) from \($0.activation.rfc3339)" }
            ?? ""
        let problem = lastProblem.map { "\n  \(printable($0.description))" } ?? ""
        return "\(name): \(state.rawValue), \(source)\(pushed)\(key)\(end)\(coming)\(problem)\n"
    }
}

extension CredentialProof {
    var verdictName: String {
        switch verdict {
        case .accepted: "accepted"
        case .refused: "refused"
        case .undecided: "undecided"
        }
    }

    fileprivate func line(of name: String) -> String {
        let said =
            verdict == .accepted
            ? "" : ": \([code, message].compactMap(\.self).joined(separator: ": "))"
        let help = verdict == .accepted ? "" : "; \(remedy)"
        return "\(name) at \(destination): \(verdictName)\(printable(said))\(help)\n"
    }
}

extension JSONText {
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
        member("last_refresh", status.lastRefresh?.rfc3339)
        member("last_problem", status.lastProblem?.description)
        member("failures", status.failures)
        member("next_try", status.nextTry?.rfc3339)
    }

    fileprivate mutating func proofs(_ proofs: [CredentialProof]) {
        array("proofs") { json in
            for proof in proofs {
                json.object { json in
                    json.member("destination", proof.destination)
                    json.member("endpoint", proof.endpoint)
                    json.member("verdict", proof.verdictName)
                    json.member("status", proof.status)
                    json.member("code", proof.code)
                    json.member("message", proof.message)
                    json.member("request_id", proof.requestID)
                    json.member("remedy", proof.verdict == .accepted ? nil : proof.remedy)
                }
            }
        }
    }
}
