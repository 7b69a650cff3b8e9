import Crypto
import HTTPClient
import SLS
import System

extension CredentialFetch {
    /// Asks the instance's metadata service for a token, the role's name and the role's credential.
    func read(_ role: ECSRole) throws(SourceProblem) -> SuppliedCredential {
        let tokenIsRequired =
            role.isTokenRequired ?? context.isSet("ALIBABA_CLOUD_IMDSV1_DISABLED")
        let token = try metadataToken(role.limits, isRequired: tokenIsRequired)
        func get(_ path: String) throws(SourceProblem) -> WebAnswer {
            let answer = try metadata(path, token: token, role.limits)
            // Some instances know the token's path but give no token, and report that in many ways.
            guard answer.status != 200, token != nil, !tokenIsRequired else { return answer }
            return try metadata(path, token: nil, role.limits)
        }

        let name: String
        if let known = role.roleName ?? context.variable("ALIBABA_CLOUD_ECS_METADATA") {
            name = known
        } else {
            let answer = try get("")
            guard answer.status == 200 else { throw metadataRefusal(answer, role: nil) }
            let text = String(decoding: answer.body.bytes, as: UTF8.self)
            name = text.split(whereSeparator: \.isWhitespace).first.map(String.init) ?? ""
        }
        guard ECSRole.isRoleName(name) else {
            throw .permanent(
                "the instance reports an invalid name for its RAM role",
                remedy: "bind a RAM role to the ECS instance, or correct role_name"
            )
        }
        let answer = try get(name)
        guard answer.status == 200 else { throw metadataRefusal(answer, role: name) }
        let document = CredentialDocument(json: answer.body.bytes)
        if let code = document?.code, code != "Success" {
            throw .temporary(
                "the metadata service has no credential of the RAM role \(name)",
                remedy: "check the role and its binding in the console of ECS",
                words: ServerWords(status: 200, code: code, message: document?.message)
            )
        }
        let origin = "the ECS instance's RAM role \(name)"
        return try supplied(document, answer, origin: origin, place: place)
    }

    private var place: String { "the metadata service at \(context.metadata)" }

    /// Returns nil on instances that work without a token.
    private func metadataToken(
        _ limits: WebLimits,
        isRequired: Bool
    ) throws(SourceProblem) -> Secret? {
        let request = WebRequest(
            method: "PUT",
            url: "\(context.metadata)/latest/api/token",
            headers: ["X-aliyun-ecs-metadata-token-ttl-seconds: 21600", "Content-Length: 0"],
            limits: limits
        )
        do throws(SourceProblem) {
            let answer = try answer(to: request, from: place)
            let token = answer.body.bytes.withUnsafeBytes { Secret(copying: $0) }
            let isToken = token.withBytes { $0.allSatisfy { $0 > 0x20 && $0 < 0x7f } }
            if answer.status == 200, (1...4096).contains(token.byteCount), isToken { return token }
            guard isRequired else { return nil }
            throw .temporary(
                "\(place) gives no token",
                remedy: "allow the instance's metadata in the hardened mode, or set imds_v1: true",
                words: ServerWords(status: answer.status)
            )
        } catch {
            guard !isRequired, !web.interruption.isSet else { throw error }
            return nil
        }
    }

    private func metadata(
        _ path: String,
        token: Secret?,
        _ limits: WebLimits
    ) throws(SourceProblem) -> WebAnswer {
        let request = WebRequest(
            url: "\(context.metadata)/latest/meta-data/ram/security-credentials/\(path)",
            headers: token.map { ["X-aliyun-ecs-metadata-token: \($0.revealed)"] } ?? [],
            limits: limits
        )
        return try answer(to: request, from: place)
    }

    private func metadataRefusal(_ answer: WebAnswer, role: String?) -> SourceProblem {
        let words = ServerWords(status: answer.status)
        guard answer.status == 404 else {
            return .temporary(
                "\(place) refuses",
                remedy: "none needed unless it lasts; then check the instance's metadata settings",
                words: words
            )
        }
        let what = role.map { "the RAM role \($0)" } ?? "a RAM role"
        return .permanent(
            "\(place) does not know \(what)",
            remedy: "bind the role to this ECS instance",
            words: words
        )
    }
}

extension ECSRole {
    /// The name becomes part of a path and must not leave its folder.
    static func isRoleName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && !name.hasPrefix(".")
            && name.utf8.allSatisfy { $0.isWordCharacter || $0 == UInt8(ascii: ".") }
    }
}
