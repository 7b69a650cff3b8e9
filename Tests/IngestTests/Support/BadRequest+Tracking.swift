extension BadRequest {
    static let tracking: [BadRequest] = [
        .init(
            name: "a picture without fields",
            method: "GET",
            path: track + ".gif?APIVersion=0.6.0&__topic__=t",
            body: [],
            status: 400,
            code: "ParameterInvalid",
            reason: "the query has no field"
        ),
        .init(
            name: "GET without a query",
            method: "GET",
            path: track,
            body: [],
            status: 400,
            code: "ParameterInvalid",
            reason: "the query has no field"
        ),
        .init(
            name: "a topic that is too long",
            method: "GET",
            path: track + "?k=v&__topic__=" + String(repeating: "t", count: 129),
            body: [],
            status: 400,
            code: "ParameterInvalid",
            reason: "__topic__ must not exceed 128 bytes"
        ),
        .init(
            name: "GET with a body",
            method: "GET",
            path: track + "?k=v",
            status: 400,
            code: "ParameterInvalid",
            reason: "takes no body"
        ),
        .init(
            name: "a picture of another logstore",
            method: "GET",
            path: "/logstores/nope/track.gif?k=v",
            body: [],
            status: 404,
            code: "LogStoreNotExist",
            reason: "logstore nope does not exist"
        ),
        .init(
            name: "POST to a picture",
            path: track + "_ua.gif",
            status: 405,
            code: "InvalidMethod",
            reason: "GET, HEAD, OPTIONS"
        ),
        .init(
            name: "protobuf that ends early",
            path: track,
            body: [0x0A, 9, 0x08, 1],
            status: 400,
            code: "PostBodyInvalid",
            reason: "(at byte 0)"
        ),
    ]
}
