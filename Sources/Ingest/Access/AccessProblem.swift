import System
import Tokens

/// Why a request has no known sender. The raw value is a label of metrics.
enum AccessProblem: String, CounterKey, Error {
    case missingKey = "missing_key"
    case unknownKey = "unknown_key"
    /// The key is known, but not accepted in the way it came.
    case unacceptedWay = "unaccepted_way"
    case unknownAccessKey = "unknown_access_key"
    case badSignature = "bad_signature"
    /// For requests signed by SLS's SDKs.
    case wrongClock = "wrong_clock"
    case wrongBody = "wrong_body"
    // For requests with a token.
    case unreadableToken = "unreadable_token"
    case untrustedToken = "untrusted_token"
    case expiredToken = "expired_token"
    case unfitToken = "unfit_token"
    case keysAwaited = "token_keys_awaited"
    // For requests with `x-sluice-signature`.
    case unreadableSignature = "unreadable_signature"
    case expired
    case replayed
    case tooManyNonces = "too_many_nonces"

    var refusal: Refusal {
        switch self {
        case .badSignature, .wrongBody: Refusal(401, "SignatureNotMatch", reason)
        // SLS's own status and code: the C SDK sets its clock by them.
        case .wrongClock: Refusal(400, "RequestTimeExpired", reason)
        // SDKs drop logs that are answered with 401, and this token may be good.
        case .keysAwaited: .busy(reason, retryAfter: 5)
        case .tooManyNonces: .busy(reason)
        default: .unauthorized(reason)
        }
    }

    /// It never repeats what the client sent: that may be a key of another service.
    private var reason: String {
        switch self {
        case .missingKey:
            "logs need a device key: send Authorization: Bearer KEY, x-sluice-key: KEY, or ?key=KEY"
        case .unknownKey: "the device key is unknown here; see devices.keys"
        case .unacceptedWay: "this key is not accepted in this form; see accept of devices.keys"
        case .unknownAccessKey:
            "the AccessKey id of the signature is unknown here; see id of devices.keys"
        case .badSignature: "the signature does not fit this request and the key that it names"
        case .wrongClock:
            "the signed time is more than 15 minutes from the gateway's; see x-log-time"
        case .unreadableToken: "the token is not a readable JSON Web Token"
        case .untrustedToken: "the token is not signed with a key and the algorithm of devices.jwt"
        case .expiredToken: "the token has expired; get a new one"
        case .unfitToken:
            "the token is not valid yet, for another audience or from another issuer, or has no exp "
                + "or destinations; see devices.jwt"
        case .keysAwaited:
            "the issuer's key that this token names is not here yet; send the logs again later"
        case .unreadableSignature: "x-sluice-signature is not \(RequestSignature.form)"
        case .expired: "the signed time is too far from the gateway's, which is in x-log-time"
        case .replayed: "the nonce was used before; sign each attempt with a new nonce"
        case .tooManyNonces:
            "no room for another nonce; send the logs again later, and see devices.hmac.nonces"
        case .wrongBody: "the body differs from the signed one"
        }
    }
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
