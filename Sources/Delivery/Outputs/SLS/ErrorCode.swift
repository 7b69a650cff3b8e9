/// What an SLS error code means: the rule for delivery, the explanation for the operator.
package struct ErrorCode: Sendable {
    /// Codes with the same meaning.
    let names: [String]
    let rule: Rule
    /// The event, for an operator.
    package let meaning: String
    /// The remedy.
    package let remedy: String

    private init(_ names: [String], rule: Rule, meaning: String, remedy: String) {
        self.names = names
        self.rule = rule
        self.meaning = meaning
        self.remedy = remedy
    }

    package static func known(_ name: String) -> ErrorCode? { byName[name] }

    private static let byName = Dictionary(
        table.flatMap { code in code.names.map { ($0, code) } },
        uniquingKeysWith: { first, _ in first }
    )
}

extension ErrorCode {
    private static let malformed = "SLS calls the request malformed"
    private static let reportBug = "report this as a defect of Sluice"
    private static let sparesHeaders =
        "make sure that no proxy on the way changes headers; otherwise \(reportBug)"

    /// All codes that SLS is known to answer on PutLogs. A code decides before the status that it
    /// came with.
    static let table: [ErrorCode] = [
        ErrorCode(
            ["RequestTimeExpired", "RequestTimeTooSkewed"],
            rule: Rule(.resign, .clock, .sendTimeError),
            meaning: "the gateway's clock and that of SLS differ by more than 15 minutes",
            remedy: "synchronise the host's clock (NTP)"
        ),
        ErrorCode(
            ["PostBodyInvalid"],
            rule: .content,
            meaning:
                "SLS cannot read a log, or its time is not within the last 7 days and the next "
                + "15 minutes",
            remedy: "check the clocks of the devices that sent these logs"
        ),
        ErrorCode(
            ["PostBodyTooLarge"],
            rule: .content,
            meaning: "the packet is larger than SLS accepts",
            remedy: "lower packet.bytes of the destination; SLS accepts 10 MiB before compression"
        ),
        ErrorCode(
            ["InvalidTimestamp"],
            rule: .content,
            meaning: "a log's time is not valid",
            remedy: "check the clocks of the devices that sent these logs"
        ),
        ErrorCode(
            ["InvalidEncoding"],
            rule: .content,
            meaning: "a log is not UTF-8",
            remedy: "find the application that sends other encodings"
        ),
        ErrorCode(
            ["InvalidKey"],
            rule: .content,
            meaning: "a log has a field name that SLS does not accept",
            remedy: "rename the field in the application"
        ),
        ErrorCode(
            ["ParameterInvalid"],
            rule: .suspect,
            meaning: "SLS does not accept a parameter of the request",
            remedy: "compare signature, compress and region of the destination with what the "
                + "project supports; if they are right, \(reportBug)"
        ),
        ErrorCode(
            ["PostBodyUncompressError"],
            rule: .suspect,
            meaning: "SLS could not decompress the packet",
            remedy: "set another compress for the destination and \(reportBug)"
        ),
        ErrorCode(
            ["InvalidCompressType"],
            rule: .suspect,
            meaning: "this endpoint does not know the compression",
            remedy: "set compress: lz4 for the destination"
        ),
        ErrorCode(
            [
                "InvalidRequestTime", "InvalidDateFormat", "MissingDate", "MissingParameter",
                "MissingContentType", "InvalidContentType", "MissingContentLength",
                "MissingBodyRawSize", "InvalidBodyRawSize", "MissingHost", "MissingAPIVersion",
                "InvalidAPIVersion", "MissAccessKeyId", "MissingSignatureMethod",
                "InvalidSignatureMethod",
            ],
            rule: .suspect,
            meaning: malformed,
            remedy: sparesHeaders
        ),
        ErrorCode(
            ["InvalidMethod"],
            rule: Rule(.suspect, .request, .parametersInvalid),
            meaning: malformed,
            remedy: sparesHeaders
        ),
        ErrorCode(
            ["InvalidSequenceId"],
            rule: Rule(.sequence, .sequence, .sendDiscardError),
            meaning: "SLS has seen this sequence number already",
            remedy: "none needed: stored logs count as delivered, others get another lane"
        ),
        ErrorCode(
            ["SignatureNotMatch"],
            rule: .unauthorized,
            meaning: "the secret does not belong to the access key id",
            remedy: "enter the complete credential again, without spaces"
        ),
        ErrorCode(
            ["InvalidAccessKeyId"],
            rule: .unauthorized,
            meaning: "the access key is not valid, or its account has not opened SLS",
            remedy: "check the access key id, and that Simple Log Service is activated"
        ),
        ErrorCode(
            ["SecurityTokenExpired", "SecurityToken.Expired"],
            rule: .unauthorized,
            meaning: "the security token has expired",
            remedy: "rotate the credential, or use a source that renews it by itself"
        ),
        ErrorCode(
            ["Unauthorized"],
            rule: Rule(.pause(.logstore), .unauthorized, .sendUnauthorized),
            meaning: "the key is unknown, disabled or expired, or has no permission to write here",
            remedy: "check the credential, and that its RAM policy allows log:PostLogStoreLogs on "
                + "this logstore"
        ),
        ErrorCode(
            ["ShardWriteQuotaExceed"],
            rule: Rule(.slowDown(.logstore), .quota, .sendQuotaError),
            meaning: "a shard has reached its write limit",
            remedy: "split shards of the logstore, or switch on automatic splitting"
        ),
        ErrorCode(
            [
                "WriteQuotaExceed", "ProjectQuotaExceed", "ExceedQuota", "QuotaExceed",
                "ReadQuotaExceed",
            ],
            rule: .quota,
            meaning: "the project's quota is used up",
            remedy: "raise the project's write quota, or spread the logs over several projects"
        ),
        ErrorCode(
            ["MetaOperationQpsLimitExceeded"],
            rule: .quota,
            meaning: "too many requests at once",
            remedy: "none needed unless it lasts"
        ),
        ErrorCode(
            ["ProjectForbidden"],
            rule: Rule(.pause(.project), .suspended, .sendQuotaError),
            meaning: "the project is suspended",
            remedy: "settle the account's overdue payment"
        ),
        ErrorCode(
            ["ProjectNotExist", "ProjectNotExists"],
            rule: Rule(.pause(.project), .notFound, .sendUnauthorized),
            meaning: "there is no such project at this endpoint",
            remedy: "check project and endpoint; a new project needs a moment to be known"
        ),
        ErrorCode(
            ["InvalidHost"],
            rule: Rule(.pause(.project), .notFound, .sendDiscardError),
            meaning: "the host name does not lead to a project",
            remedy: "check project and endpoint"
        ),
        ErrorCode(
            ["LogStoreNotExist", "LogstoreNotExists"],
            rule: .noLogstore,
            meaning: "the project has no such logstore",
            remedy: "create the logstore, or correct its name; a new one needs about a minute"
        ),
        ErrorCode(
            ["InternalServerError", "RequestTimeout", "ServerBusy"],
            rule: .server,
            meaning: "SLS has an internal problem",
            remedy: "none needed unless it lasts"
        ),
    ]
}
