import Logs

extension BadRequest {
    static let balanced = "/logstores/app-log/shards/lb"
    private static let routed = "/logstores/app-log/shards/route"
    private static let key = "key=0123456789abcdef0123456789abcdef"
    private static let group: [UInt8] = [0x0A, 4, 0x12, 2, 0x0A, 0]

    static let putLogs: [BadRequest] = [
        .init(
            name: "GET on a logstore",
            method: "GET",
            path: "/logstores/app-log",
            body: [],
            status: 405,
            code: "InvalidMethod",
            reason: "POST, OPTIONS"
        ),
        .init(
            name: "PutLogs to another logstore",
            path: "/logstores/nope/shards/lb",
            status: 404,
            code: "LogStoreNotExist",
            reason: "logstore nope does not exist"
        ),
        .init(
            name: "PutLogs without a body",
            path: balanced,
            body: [],
            status: 400,
            code: "PostBodyInvalid",
            reason: "the body is empty"
        ),
        .init(
            name: "a LogGroup that ends early",
            path: balanced,
            body: group.dropLast(),
            status: 400,
            code: "PostBodyInvalid",
            reason: "(at byte 0)"
        ),
        .init(
            name: "no protobuf",
            path: "/logstores/app-log",
            body: Array("hello".utf8),
            status: 400,
            code: "PostBodyInvalid",
            reason: "at byte"
        ),
        .init(
            name: "no JSON where that was said",
            path: balanced,
            body: Array("hello".utf8),
            fields: [("content-type", "application/json; charset=utf-8")],
            status: 400,
            code: "PostBodyInvalid",
            reason: "at byte"
        ),
        .init(
            name: "packages that are none",
            path: balanced,
            body: [0x08, 1],
            fields: [("x-log-mode", "batch_group")],
            status: 400,
            code: "PostBodyInvalid",
            reason: "SlsLogPackageList"
        ),
        .init(
            name: "a package that is damaged",
            path: balanced,
            body: [0x0A, 8, 0x0A, 2, 1, 2, 0x10, 9, 0x18, 2],
            fields: [("x-log-mode", "batch_group")],
            status: 400,
            code: "PostBodyUncompressError",
            reason: "package 1: "
        ),
        .init(
            name: "a package that is too large",
            path: balanced,
            body: [0x0A, 11, 0x0A, 2, 1, 2, 0x10, 0x80, 0x80, 0x80, 0x20, 0x18, 2],
            fields: [("x-log-mode", "batch_group")],
            status: 413,
            code: "PostBodyTooLarge",
            reason: "package 1: the packages hold more than"
        ),
        .init(
            name: "a digest of another body",
            path: balanced,
            body: group,
            fields: [("content-md5", "47651B3A52D197A22E9A41A8A8EA5C75")],
            status: 400,
            code: "InvalidContentMD5",
            reason: "is not that of the body"
        ),
        .init(
            name: "a LogGroup of another size",
            path: balanced,
            body: Deflate.compress(group),
            fields: [("x-log-compresstype", "deflate"), ("x-log-bodyrawsize", "5")],
            status: 400,
            code: "PostBodyUncompressError",
            reason: "more bytes than x-log-bodyrawsize says (5)"
        ),
        .init(
            name: "a route without a key",
            path: routed,
            status: 400,
            code: "MissingParameter",
            reason: "needs key"
        ),
        .init(
            name: "a key that is too short",
            path: routed + "?key=0123",
            status: 400,
            code: "ParameterInvalid",
            reason: "key is not 32"
        ),
        .init(
            name: "a key of other digits",
            path: routed + "?key=g123456789abcdef0123456789abcdef",
            status: 400,
            code: "ParameterInvalid",
            reason: "is not 32"
        ),
        .init(
            name: "a number that is none",
            path: routed + "?\(key)&seqid=-1",
            status: 400,
            code: "ParameterInvalid",
            reason: "seqid is not a number"
        ),
        .init(
            name: "a query that ends in an escape",
            path: routed + "?\(key)&seqid=%3",
            status: 400,
            code: "ParameterInvalid",
            reason: "no escape"
        ),
    ]
}
