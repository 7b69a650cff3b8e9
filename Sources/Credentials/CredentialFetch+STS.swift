import Crypto
import Glibc
import HTTPClient
import SLS
import System

extension CredentialFetch {
    /// Calls STS, and once more if the first refusal can be corrected.
    func ask(_ call: STSCall, _ access: STSAccess) throws(SourceProblem) -> SuppliedCredential {
        let endpoint = try access.url(context)
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
                let place = "STS at \(endpoint)"
                return try supplied(document, answer, origin: call.origin, place: place)
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
            throw refusal(answer, document, of: call, at: endpoint)
        }
    }

    private func refusal(
        _ answer: WebAnswer,
        _ document: CredentialDocument?,
        of call: STSCall,
        at endpoint: String
    ) -> SourceProblem {
        guard let document, let code = document.code else {
            return .temporary(
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
        origin: String,
        place: String
    ) throws(SourceProblem) -> SuppliedCredential {
        guard let document else {
            throw .temporary(
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
            throw .temporary(
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
                throw .temporary(
                    "the request to \(place) was cancelled",
                    remedy: "none needed: the gateway stops, or its settings changed"
                )
            case .tooLarge:
                throw .temporary(
                    "the answer of \(place) is larger than 64 KiB",
                    remedy: "check the address and any proxy on the way"
                )
            case .noAnswer(let reason):
                throw .temporary(
                    "\(place) does not answer: \(reason)",
                    remedy:
                        "check the address, the network and, with https, the certificate"
                )
            }
        }
    }
}

extension CredentialFetch {
    func assume(_ role: AssumeRole) throws(SourceProblem) -> SuppliedCredential {
        let caller = try credential(from: role.caller).credential
        var form = [
            (name: "RoleArn", value: role.roleARN),
            ("RoleSessionName", sessionName(role.sessionName)),
            ("DurationSeconds", "\(role.seconds)"),
        ]
        if let policy = role.policy { form.append(("Policy", policy)) }
        if let id = role.externalID { form.append(("ExternalId", id)) }
        let call = STSCall(
            action: "AssumeRole",
            subject: role.roleARN,
            form: form,
            caller: caller
        )
        return try ask(call, role.access)
    }

    func assume(_ role: OIDCRole) throws(SourceProblem) -> SuppliedCredential {
        let roleARN = try setting(role.roleARN, "role_arn", "ALIBABA_CLOUD_ROLE_ARN")
        let provider = try setting(
            role.providerARN,
            "oidc_provider_arn",
            "ALIBABA_CLOUD_OIDC_PROVIDER_ARN"
        )
        let path = try setting(
            role.tokenFile,
            "oidc_token_file",
            "ALIBABA_CLOUD_OIDC_TOKEN_FILE"
        )
        let token = try oidcToken(path)
        var form = [
            (name: "RoleArn", value: roleARN), ("OIDCProviderArn", provider),
            ("OIDCToken", token.revealed),
            ("RoleSessionName", sessionName(role.sessionName)),
            ("DurationSeconds", "\(role.seconds)"),
        ]
        if let policy = role.policy { form.append(("Policy", policy)) }
        let call = STSCall(
            action: "AssumeRoleWithOIDC",
            subject: roleARN,
            form: form,
            proof: token
        )
        return try ask(call, role.access)
    }

    /// Read each time, because the kubelet replaces the token long before it expires.
    private func oidcToken(_ path: String) throws(SourceProblem) -> Secret {
        let content = try fileContent(path)
        let isSpace = { (byte: UInt8) in byte <= 0x20 }
        let start = content.bytes.drop(while: isSpace)
        let end = start.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start.startIndex
        let token = content.bytes.withUnsafeBytes { bytes in
            Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[start.startIndex..<end]))
        }
        guard (4...20_000).contains(token.byteCount),
            token.withBytes({ $0.allSatisfy { $0 > 0x20 && $0 < 0x7f } })
        else {
            throw .temporary(
                "the file \(path) does not hold an OIDC token",
                remedy: "check that it is the projected token of the service account"
            )
        }
        return token
    }

    private func setting(
        _ value: String?,
        _ key: String,
        _ variable: String
    ) throws(SourceProblem) -> String {
        guard let value = value ?? context.variable(variable) else {
            throw .permanent(
                "the role for OIDC has no \(key)",
                remedy: "set it, or \(variable); ACK sets the variable for pods with RRSA"
            )
        }
        return value
    }

    private func sessionName(_ name: String?) -> String {
        name ?? context.variable("ALIBABA_CLOUD_ROLE_SESSION_NAME") ?? "sluice"
    }
}
