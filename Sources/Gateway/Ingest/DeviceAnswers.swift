import HTTP

/// The answers to devices. Also used on the queue's thread, after a commit.
struct DeviceAnswers: Sendable {
    let counters: IngestCounters

    /// Pages of any origin may send: a beacon cannot carry a key anyway, and who may send is not
    /// decided by what a browser says about itself.
    private static let openToPages = (name: "access-control-allow-origin", value: "*")

    func refused(
        _ refusal: Refusal,
        _ route: DeviceRoute,
        isSLSPath: Bool = false
    ) -> Response {
        counters.countRefused(route.name, refusal)
        // Also where the head could not be read: nothing in a refusal is secret, and a page can show it.
        var fields = [Self.openToPages]
        if refusal.status == 405 { fields.append(("allow", route.methodNames)) }
        if refusal.status == 415 {
            fields.append(("accept-encoding", "gzip, deflate, zstd, lz4, identity"))
        }
        let shape: ErrorShape =
            switch route {
            case .track, .serverTime: .sls
            case .logs, .health, .server, .unknown: isSLSPath ? .sls : .plain
            }
        var response = shape.response(refusal, fields: fields)
        response.label = route.label
        return response
    }

    func accepted(_ route: DeviceRoute, receipt: [UInt8], count: Int) -> Response {
        let receipt = String(decoding: receipt, as: UTF8.self)
        var response = Response(
            status: 200,
            fields: [("x-log-requestid", receipt), Self.openToPages]
        )
        response.label = route.label
        if case .logs = route {
            response.fields.append(("content-type", "application/json"))
            response.body = Array("{\"receipt\":\"\(receipt)\",\"count\":\(count)}\n".utf8)
        }
        return response
    }

    func preflight(_ route: DeviceRoute) -> Response {
        var response = Response(
            status: 204,
            fields: [
                ("allow", route.methodNames),
                Self.openToPages,
                ("access-control-allow-methods", route.methodNames),
                (
                    "access-control-allow-headers",
                    "content-type, content-encoding, idempotency-key, x-log-apiversion, "
                        + "x-log-bodyrawsize, x-log-client-time, x-log-compresstype"
                ),
                ("access-control-max-age", "86400"),
            ]
        )
        response.label = route.label
        return response
    }

    func plain(_ route: DeviceRoute, text: String? = nil) -> Response {
        var response =
            text.map { Response(status: 200, contentType: "text/plain", text: $0) }
            ?? Response(status: 200)
        response.label = route.label
        return response
    }
}
