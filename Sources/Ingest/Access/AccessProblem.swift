import Tokens

/// Why nobody known sends a request. Its name is a label of metrics.
enum AccessProblem: String, CaseIterable, Error {
    case missingKey = "missing_key"
    case unknownKey = "unknown_key"
    /// It is known, and not meant to come this way.
    case unacceptedWay = "unaccepted_way"
    case unknownAccessKey = "unknown_access_key"
    case badSignature = "bad_signature"
    /// Of a request signed as SLS's SDKs do.
    case wrongClock = "wrong_clock"
    case wrongBody = "wrong_body"
    // Of one with a token.
    case unreadableToken = "unreadable_token"
    case untrustedToken = "untrusted_token"
    case expiredToken = "expired_token"
    case unfitToken = "unfit_token"
    case keysAwaited = "token_keys_awaited"
    // Of one with a signature of our own.
    case unreadableSignature = "unreadable_signature"
    case expired
    case replayed
    case tooManyNonces = "too_many_nonces"

    /// What was shown is never repeated: it may be a key of another place.
    var refusal: Refusal {
        switch self {
        case .missingKey:
            Refusal(
                401,
                "Unauthorized",
                "logs are taken from devices with a key only: send it as Authorization: Bearer KEY, "
                    + "x-sluice-key: KEY, or ?key=KEY"
            )
        case .unknownKey:
            Refusal(401, "Unauthorized", "the key that was sent is not one of those known here")
        case .unacceptedWay:
            Refusal(
                401,
                "Unauthorized",
                "this key is not taken in the way it came; see accept of devices.keys"
            )
        case .unknownAccessKey:
            Refusal(
                401,
                "Unauthorized",
                "the AccessKey id that signed is not one of those known here; see id of devices.keys"
            )
        case .badSignature:
            Refusal(
                401,
                "SignatureNotMatch",
                "the signature is not that of this request with the key that it names"
            )
        // SLS's own status and code: the C SDK sets its clock by them.
        case .wrongClock:
            Refusal(
                400,
                "RequestTimeExpired",
                "the signed time is more than 15 minutes from that of the gateway; see x-log-time"
            )
        case .unreadableToken:
            Refusal(401, "Unauthorized", "what was sent is no JSON Web Token that can be read")
        case .untrustedToken:
            Refusal(
                401,
                "Unauthorized",
                "the token is not signed with a key and the algorithm of devices.jwt"
            )
        case .expiredToken:
            Refusal(401, "Unauthorized", "the token has expired; get a new one")
        case .unfitToken:
            Refusal(
                401,
                "Unauthorized",
                "the token is not valid yet, for another audience or from another issuer, or has no exp "
                    + "or destinations; see devices.jwt"
            )
        // SDKs drop what is answered with 401, and nobody can say that this token is bad.
        case .keysAwaited:
            Refusal(
                503,
                "ServerBusy",
                "the key that this token names has not come from its issuer yet; send it again later",
                retryAfter: 5
            )
        case .unreadableSignature:
            Refusal(401, "Unauthorized", "x-sluice-signature is not \(RequestSignature.form)")
        case .expired:
            Refusal(
                401,
                "Unauthorized",
                "the signed time is too far from that of the gateway, which is in x-log-time"
            )
        case .replayed:
            Refusal(
                401,
                "Unauthorized",
                "the nonce was used before; sign each attempt anew, with another one"
            )
        case .tooManyNonces:
            Refusal(
                503,
                "ServerBusy",
                "no room for one more nonce; send it again later, and see devices.hmac.nonces"
            )
        case .wrongBody:
            Refusal(401, "SignatureNotMatch", "the body is not the one that was signed")
        }
    }

    var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

extension AccessProblem {
    init(_ problem: TokenProblem) {
        self =
            switch problem {
            case .unreadable: .unreadableToken
            case .untrusted: .untrustedToken
            case .expired: .expiredToken
            case .unfit: .unfitToken
            case .keysAwaited: .keysAwaited
            }
    }
}
