extension ErrorCode {
    /// All codes that SLS is known to answer on PutLogs.
    package static let table: [ErrorCode] =
        clocks + contents + requests + permissions + quotas + addresses + server

    private static let syncClock = "synchronise the host's clock (NTP)"
    private static let reportBug = "report this as a defect of Sluice"

    private static let clocks = [
        ErrorCode(
            "RequestTimeExpired",
            "the gateway's clock and that of SLS differ by more than 15 minutes",
            syncClock
        ),
        ErrorCode(
            "RequestTimeTooSkewed",
            "the gateway's clock and that of SLS differ by more than 15 minutes",
            syncClock
        ),
    ]

    private static let contents = [
        ErrorCode(
            "PostBodyInvalid",
            "SLS cannot read a log, or its time is not within the last 7 days and the next "
                + "15 minutes",
            "check the clocks of the devices that sent these logs"
        ),
        ErrorCode(
            "PostBodyTooLarge",
            "the packet is larger than SLS accepts",
            "lower packet.bytes of the destination; SLS accepts 10 MiB before compression"
        ),
        ErrorCode(
            "InvalidTimestamp",
            "a log's time is not valid",
            "check the clocks of the devices that sent these logs"
        ),
        ErrorCode(
            "InvalidEncoding",
            "a log is not UTF-8",
            "find the application that sends other encodings"
        ),
        ErrorCode(
            "InvalidKey",
            "a log has a field name that SLS does not accept",
            "rename the field in the application"
        ),
        ErrorCode(
            "InvalidSequenceId",
            "SLS has seen this sequence number already",
            "none needed: stored logs count as delivered, others get another lane"
        ),
    ]

    private static let requests =
        [
            ErrorCode(
                "ParameterInvalid",
                "SLS does not accept a parameter of the request",
                "compare signature, compress and region of the destination with what the project "
                    + "supports; if they are right, \(reportBug)"
            ),
            ErrorCode(
                "PostBodyUncompressError",
                "SLS could not decompress the packet",
                "set another compress for the destination and \(reportBug)"
            ),
            ErrorCode(
                "InvalidCompressType",
                "this endpoint does not know the compression",
                "set compress: lz4 for the destination"
            ),
        ]
        + [
            "InvalidRequestTime", "InvalidDateFormat", "MissingDate", "MissingParameter",
            "MissingContentType", "InvalidContentType", "MissingContentLength",
            "MissingBodyRawSize", "InvalidBodyRawSize", "MissingHost", "MissingAPIVersion",
            "InvalidAPIVersion", "MissAccessKeyId", "MissingSignatureMethod",
            "InvalidSignatureMethod", "InvalidMethod",
        ].map {
            ErrorCode(
                $0,
                "SLS calls the request malformed",
                "make sure that no proxy on the way changes headers; otherwise \(reportBug)"
            )
        }

    private static let permissions =
        [
            ErrorCode(
                "Unauthorized",
                "the key is unknown, disabled or expired, or has no permission to write here",
                "check the credential, and that its RAM policy allows log:PostLogStoreLogs on this "
                    + "logstore"
            ),
            ErrorCode(
                "SignatureNotMatch",
                "the secret does not belong to the access key id",
                "enter the complete credential again, without spaces"
            ),
            ErrorCode(
                "InvalidAccessKeyId",
                "the access key is not valid, or its account has not opened SLS",
                "check the access key id, and that Simple Log Service is activated"
            ),
            ErrorCode(
                "ProjectForbidden",
                "the project is suspended",
                "settle the account's overdue payment"
            ),
        ]
        + ["SecurityTokenExpired", "SecurityToken.Expired"].map {
            ErrorCode(
                $0,
                "the security token has expired",
                "rotate the credential, or use a source that renews it by itself"
            )
        }

    private static let quotas =
        [
            ErrorCode(
                "ShardWriteQuotaExceed",
                "a shard has reached its write limit",
                "split shards of the logstore, or switch on automatic splitting"
            ),
            ErrorCode(
                "MetaOperationQpsLimitExceeded",
                "too many requests at once",
                "none needed unless it lasts"
            ),
        ]
        + [
            "WriteQuotaExceed", "ProjectQuotaExceed", "ExceedQuota", "QuotaExceed",
            "ReadQuotaExceed",
        ]
        .map {
            ErrorCode(
                $0,
                "the project's quota is used up",
                "raise the project's write quota, or spread the logs over several projects"
            )
        }

    private static let addresses =
        ["ProjectNotExist", "ProjectNotExists"].map {
            ErrorCode(
                $0,
                "there is no such project at this endpoint",
                "check project and endpoint; a new project needs a moment to be known"
            )
        }
        + ["LogStoreNotExist", "LogstoreNotExists"].map {
            ErrorCode(
                $0,
                "the project has no such logstore",
                "create the logstore, or correct its name; a new one needs about a minute"
            )
        }
        + [
            ErrorCode(
                "InvalidHost",
                "the host name does not lead to a project",
                "check project and endpoint"
            )
        ]

    private static let server = ["InternalServerError", "RequestTimeout", "ServerBusy"].map {
        ErrorCode($0, "SLS has an internal problem", "none needed unless it lasts")
    }
}
