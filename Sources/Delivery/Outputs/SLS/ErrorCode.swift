import SLS

/// What an SLS error code means: the rule for delivery, the explanation for the operator.
package struct ErrorCode: Sendable {
    /// Codes with the same meaning.
    let names: [String]
    let rule: Rule
    /// The event, for an operator.
    package let meaning: String
    package let remedy: String

    package static func known(_ name: String) -> ErrorCode? { byName[name] }

    private static let byName = Dictionary(
        uniqueKeysWithValues: table.flatMap { code in code.names.map { ($0, code) } }
    )

    /// All codes that SLS is known to answer on PutLogs. A code decides before the status that it
    /// came with.
    static let table = rows.map { codes, rule, meaning, remedy in
        ErrorCode(
            names: codes.split(separator: " ").map(String.init),
            rule: rule,
            meaning: meaning,
            remedy: remedy
        )
    }

    private static let reportBug = "report this as a defect of Sluice"
    private static let malformed = "SLS calls the request malformed"
    private static let sparesHeaders =
        "make sure that no proxy on the way changes headers; otherwise \(reportBug)"

    private static let rows: [(codes: String, rule: Rule, meaning: String, remedy: String)] = [
        (
            "RequestTimeExpired RequestTimeTooSkewed", Rule(.resign, .clock, .sendTimeError),
            "the gateway's clock and that of SLS differ by more than 15 minutes",
            "synchronise the host's clock (NTP)"
        ),
        (
            "PostBodyInvalid", .content,
            "SLS cannot read a log, or its time is not within the last 7 days and the next 15 minutes",
            "check the clocks of the devices that sent these logs"
        ),
        (
            "PostBodyTooLarge", .content, "the packet is larger than SLS accepts",
            "lower packet.bytes of the destination; SLS accepts 10 MiB before compression"
        ),
        (
            "InvalidTimestamp", .content, "a log's time is not valid",
            "check the clocks of the devices that sent these logs"
        ),
        (
            "InvalidEncoding", .content, "a log is not UTF-8",
            "find the application that sends other encodings"
        ),
        (
            "InvalidKey", .content, "a log has a field name that SLS does not accept",
            "rename the field in the application"
        ),
        (
            "ParameterInvalid", .suspect, "SLS does not accept a parameter of the request",
            "compare signature, compress and region of the destination with what the project "
                + "supports; if they are right, \(reportBug)"
        ),
        (
            "PostBodyUncompressError", .suspect, "SLS could not decompress the packet",
            "set another compress for the destination and \(reportBug)"
        ),
        (
            "InvalidCompressType", .suspect, "this endpoint does not know the compression",
            "set compress: lz4 for the destination"
        ),
        (
            "InvalidRequestTime InvalidDateFormat MissingDate MissingParameter MissingContentType "
                + "InvalidContentType MissingContentLength MissingBodyRawSize InvalidBodyRawSize "
                + "MissingHost MissingAPIVersion InvalidAPIVersion MissAccessKeyId "
                + "MissingSignatureMethod InvalidSignatureMethod",
            .suspect, malformed, sparesHeaders
        ),
        (
            "InvalidMethod", Rule(.suspect, .request, .parametersInvalid), malformed,
            sparesHeaders
        ),
        (
            "InvalidSequenceId", Rule(.relane, .sequence, .sendDiscardError),
            "SLS has seen this sequence number already",
            "none needed: stored logs count as delivered, others get another lane"
        ),
        (
            "SignatureNotMatch", .unauthorized, "the secret does not belong to the access key id",
            "enter the complete credential again, without spaces"
        ),
        (
            "InvalidAccessKeyId", .unauthorized,
            "the access key is not valid, or its account has not opened SLS",
            "check the access key id, and that Simple Log Service is activated"
        ),
        (
            "SecurityTokenExpired SecurityToken.Expired", .unauthorized,
            "the security token has expired",
            "rotate the credential, or use a source that renews it by itself"
        ),
        (
            "Unauthorized", Rule(.pause(.logstore), .unauthorized, .sendUnauthorized),
            "the key is unknown, disabled or expired, or has no permission to write here",
            "check the credential, and that its RAM policy allows log:PostLogStoreLogs on this logstore"
        ),
        (
            "ShardWriteQuotaExceed", Rule(.slowDown(.logstore), .quota, .sendQuotaError),
            "a shard has reached its write limit",
            "split shards of the logstore, or switch on automatic splitting"
        ),
        (
            "WriteQuotaExceed ProjectQuotaExceed ExceedQuota QuotaExceed ReadQuotaExceed", .quota,
            "the project's quota is used up",
            "raise the project's write quota, or spread the logs over several projects"
        ),
        (
            "MetaOperationQpsLimitExceeded", .quota, "too many requests at once",
            "none needed unless it lasts"
        ),
        (
            "ProjectForbidden", Rule(.pause(.project), .suspended, .sendQuotaError),
            "the project is suspended", "settle the account's overdue payment"
        ),
        (
            "ProjectNotExist ProjectNotExists",
            Rule(.pause(.project), .notFound, .sendUnauthorized),
            "there is no such project at this endpoint",
            "check project and endpoint; a new project needs a moment to be known"
        ),
        (
            "InvalidHost", Rule(.pause(.project), .notFound, .sendDiscardError),
            "the host name does not lead to a project", "check project and endpoint"
        ),
        (
            "LogStoreNotExist LogstoreNotExists", .noLogstore, "the project has no such logstore",
            "create the logstore, or correct its name; a new one needs about a minute"
        ),
        (
            "InternalServerError RequestTimeout ServerBusy", .server, "SLS has an internal problem",
            "none needed unless it lasts"
        ),
    ]
}

/// What an answer with a request id and an unknown code means, or without a code. The first row
/// that fits counts.
struct StatusRule {
    let statuses: ClosedRange<Int>
    /// One of these has to be in the code or the message; when there are none, any will do.
    let words: [String]
    let rule: Rule
    let remedy: String

    static let table = rows.map { StatusRule(statuses: $0, words: $1, rule: $2, remedy: $3) }

    private static let rows: [(ClosedRange<Int>, [String], Rule, String)] = [
        // The one status that is about the credential. Where it is about one logstore all the same,
        // the destination notices when other logstores store packets.
        (
            401...401, [], .unauthorized,
            "check the credential and its permission to write to this logstore"
        ),
        (
            403...403, ["quota", "exceed"], .quota,
            "look the code up in the documentation of SLS; it may be a quota to raise"
        ),
        // A refusal for a reason of one logstore must not slow down the whole project.
        (
            403...403, [], Rule(.pause(.logstore), .other, .sendQuotaError),
            "look the code up in the documentation of SLS; it may be a permission or an access rule"
        ),
        (404...404, [], .noLogstore, "check endpoint, project and logstore"),
        (
            405...405, [], Rule(.suspect, .request, .parametersInvalid),
            "check the endpoint, and that nothing on the way changes requests"
        ),
        (413...413, [], .content, "lower packet.bytes of the destination"),
        (
            429...429, [], Rule(.slowDown(.logstore), .quota, .sendDiscardError),
            "none needed unless it lasts"
        ),
        (500...599, [], .server, "none needed unless it lasts"),
        (
            300...399, [], Rule(.pause(.project), .request, .sendDiscardError),
            "set the endpoint that the redirection leads to; Sluice follows none"
        ),
        (400...499, [], .suspect, "look the code up in the documentation of SLS"),
        (
            0...999, [], Rule(.again(.endpoint), .other, .sendDiscardError),
            "check the endpoint: SLS answers a write with 200 or an error"
        ),
    ]

    func fits(_ answer: SLSAnswer) -> Bool {
        guard statuses.contains(answer.status) else { return false }
        if words.isEmpty { return true }
        let said = [answer.errorCode, answer.errorMessage].compactMap { $0?.lowercased() }
        return words.contains { word in said.contains { $0.contains(word) } }
    }
}

extension Rule {
    static let content = Rule(.split, .content, .sendDiscardError)
    static let suspect = Rule(.suspect, .request, .sendDiscardError)
    static let unauthorized = Rule(.pause(.project), .unauthorized, .sendUnauthorized)
    static let quota = Rule(.slowDown(.quota), .quota, .sendQuotaError)
    static let noLogstore = Rule(.pause(.logstore), .notFound, .sendUnauthorized)
    static let server = Rule(.again(.endpoint), .server, .sendServerError)
}
