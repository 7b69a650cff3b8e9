import Crypto
import HTTPClient
import SLS
import System

extension SourceVisit {
    /// Calls STS, and once more if the first refusal can be corrected.
    func ask(_ call: STSCall, _ access: STSAccess) throws(SourceProblem) -> SuppliedCredential {
        let endpoint = try access.url(surroundings)
        var time = now
        var isSecond = false
        while true {
            let nonce = hex(randomBytes(16))
            var request = WebRequest(
                method: "POST",
                url: call.url(endpoint: endpoint, time: time, nonce: nonce),
                form: call.form,
                limits: access.limits
            )
            request.resolvers = access.resolvers
            let answer = try answer(to: request, from: "STS at \(endpoint)")
            let document = CredentialDocument(json: answer.body.bytes)
            if answer.status == 200 {
                return try supplied(document, answer, call.origin, "STS at \(endpoint)")
            }
            let code = document?.code ?? ""
            if !isSecond {
                isSecond = true
                if code == "SignatureNonceUsed" { continue }
                if code == "InvalidTimeStamp.Expired",
                    let date = answer.date.flatMap(WallTime.init(httpDate:))
                {
                    time = date
                    continue
                }
            }
            throw refusal(answer, document, call, endpoint)
        }
    }

    private func refusal(
        _ answer: WebAnswer,
        _ document: CredentialDocument?,
        _ call: STSCall,
        _ endpoint: String
    ) -> SourceProblem {
        guard let document, let code = document.code else {
            return SourceProblem(
                .temporary,
                "the server at \(endpoint) is not STS",
                remedy: "check sts_endpoint and any proxy on the way",
                words: ServerWords(status: answer.status)
            )
        }
        let meaning = STSRefusal(code: code, status: answer.status)
        return SourceProblem(
            meaning.kind,
            "STS refuses \(call.action) for \(call.subject)",
            remedy: meaning.remedy,
            words: ServerWords(
                status: answer.status,
                code: code,
                message: document.message,
                requestID: document.requestID,
                hiding: call.secrets
            )
        )
    }

    /// Reads a good answer, which must have all four members.
    func supplied(
        _ document: CredentialDocument?,
        _ answer: WebAnswer,
        _ origin: String,
        _ place: String
    ) throws(SourceProblem) -> SuppliedCredential {
        guard let document else {
            throw SourceProblem(
                .temporary,
                "the answer of \(place) is not a JSON object with a credential",
                remedy: "check the address and any proxy on the way"
            )
        }
        let expiration = document.expiration.flatMap { WallTime(iso8601: $0) }
        guard let credential = document.credential, credential.securityToken != nil,
            let expiration
        else {
            var missing = document.missing
            if document.securityToken.map({ $0.byteCount == 0 }) ?? true {
                missing.append("SecurityToken")
            }
            if expiration == nil { missing.append("Expiration (as 2025-01-14T08:30:00Z)") }
            throw SourceProblem(
                .temporary,
                "the answer of \(place) has no \(missing.joined(separator: " and no "))",
                remedy: "check the address and any proxy on the way"
            )
        }
        // Corrects for this host's clock, so that a wrong clock does not make a good credential
        // look expired.
        let date = answer.date.flatMap(WallTime.init(httpDate:))
        let offset = date.map { $0 - now } ?? .zero
        let noise = SuppliedCredential.clockNoise
        let isNoise = offset > .zero - noise && offset < noise
        return SuppliedCredential(
            credential,
            expiration: expiration,
            origin: origin,
            obtainedAt: now,
            clockOffset: isNoise ? .zero : offset
        )
    }

    /// Returns an answer of any status.
    func answer(to request: WebRequest, from place: String) throws(SourceProblem) -> WebAnswer {
        do throws(WebFailure) {
            return try web.ask(request)
        } catch {
            switch error {
            case .interrupted:
                throw SourceProblem(
                    .temporary,
                    "the request to \(place) was cancelled",
                    remedy: "none needed: the gateway stops, or its settings changed"
                )
            case .tooLarge:
                throw SourceProblem(
                    .temporary,
                    "the answer of \(place) is larger than 64 KiB",
                    remedy: "check the address and any proxy on the way"
                )
            case .noAnswer(let reason):
                throw SourceProblem(
                    .temporary,
                    "\(place) does not answer: \(reason)",
                    remedy:
                        "check the address, the network and, with https, the certificate"
                )
            }
        }
    }
}
