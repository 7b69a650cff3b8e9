import JSON

/// An error answer of SLS, or of a resolver's look-alike: status, error code and message.
struct SLSRefusal: Error, Equatable, Sendable {
    let status: Int
    let code: String
    let message: String

    init(_ status: Int, _ code: String, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    static func badRequest(_ code: String, _ message: String) -> SLSRefusal {
        SLSRefusal(400, code, message)
    }

    static func forbidden(_ code: String, _ message: String) -> SLSRefusal {
        SLSRefusal(403, code, message)
    }

    static func notFound(_ code: String, _ message: String) -> SLSRefusal {
        SLSRefusal(404, code, message)
    }

    static func badMethod(_ code: String, _ message: String) -> SLSRefusal {
        SLSRefusal(405, code, message)
    }

    static func internalError(_ message: String) -> SLSRefusal {
        SLSRefusal(500, "InternalServerError", message)
    }

    static func badParameter(_ message: String) -> SLSRefusal {
        SLSRefusal.badRequest("ParameterInvalid", message)
    }

    static func badBody(_ message: String) -> SLSRefusal {
        SLSRefusal.badRequest("PostBodyInvalid", message)
    }

    static func tooLarge(_ message: String) -> SLSRefusal {
        SLSRefusal(413, "PostBodyTooLarge", message)
    }

    static func unauthorized(_ message: String) -> SLSRefusal {
        SLSRefusal(401, "Unauthorized", message)
    }
}

/// SLS's status for each error code, so that a fault may name either.
enum KnownCode {
    static let statuses: [String: Int] = [
        "RequestTimeExpired": 400, "RequestTimeTooSkewed": 400, "InvalidRequestTime": 400,
        "PostBodyInvalid": 400, "PostBodyUncompressError": 400, "InvalidTimestamp": 400,
        "InvalidEncoding": 400, "InvalidKey": 400, "ParameterInvalid": 400,
        "MissingParameter": 400, "InvalidHost": 400, "InvalidSequenceId": 400,
        "SignatureNotMatch": 401, "Unauthorized": 401, "InvalidAccessKeyId": 401,
        "SecurityTokenExpired": 401,
        "WriteQuotaExceed": 403, "ShardWriteQuotaExceed": 403, "ProjectQuotaExceed": 403,
        "ExceedQuota": 403, "QuotaExceed": 403, "ProjectForbidden": 403,
        "ProjectNotExist": 404, "LogStoreNotExist": 404, "InvalidMethod": 405,
        "MissingContentLength": 411, "PostBodyTooLarge": 413, "InvalidContentType": 415,
        "InternalServerError": 500, "RequestTimeout": 500, "ServerBusy": 503,
    ]

    /// Those of Alibaba's HTTPDNS.
    private static let ofResolvers: [String: Int] = [
        "MissingArgument": 400, "InvalidHost": 400, "TooManyHosts": 400, "SdnsNotSupported": 400,
        "LimitExceeded": 400, "SignatureExpired": 403, "InvalidSignature": 403,
        "InvalidDuration": 403, "UnsignedInterfaceDisabled": 403, "InvalidAccount": 403,
        "AccountNotExists": 403, "ServiceLevelDeny": 403, "MethodNotAllowed": 405,
        "InternalError": 500,
    ]

    static func status(of code: String, _ isOfResolver: Bool) -> Int? {
        (isOfResolver ? ofResolvers : statuses)[code]
    }

    /// The code of a fault that names only a status.
    static func usual(for status: Int) -> String? {
        switch status {
        case 400: "PostBodyInvalid"
        case 401: "Unauthorized"
        case 403: "WriteQuotaExceed"
        case 404: "LogStoreNotExist"
        case 405: "InvalidMethod"
        case 411: "MissingContentLength"
        case 413: "PostBodyTooLarge"
        case 415: "InvalidContentType"
        case 500: "InternalServerError"
        case 503: "ServerBusy"
        default: nil
        }
    }
}

struct AnswerContent: Sendable, Equatable {
    var body: [UInt8] = []
    var type = "application/json"

    static func json(_ members: (inout JSONWriter) -> Void) -> AnswerContent {
        AnswerContent(body: JSONWriter(members).bytes)
    }

    static func plain(_ text: String) -> AnswerContent {
        AnswerContent(body: Array(text.utf8), type: "text/plain")
    }

    static let empty = AnswerContent()
}
