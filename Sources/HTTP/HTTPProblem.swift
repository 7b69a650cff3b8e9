import JSON

/// An error answer in the gateway's own format: `{"error":{"code":…,"message":…}}`.
package struct HTTPProblem: Error, Equatable, Sendable {
    package let status: Int
    /// For programs, for example `ParameterInvalid`.
    package let code: String
    /// One or two sentences for the client's developer.
    package let message: String
    /// The byte of the (inflated) body at which reading stopped.
    package var position: Int?
    /// Seconds after which the client may retry, if known.
    package var retryAfter: Int?

    package init(
        _ status: Int,
        _ code: String,
        _ message: String,
        position: Int? = nil,
        retryAfter: Int? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.position = position
        self.retryAfter = retryAfter
    }

    /// A request that the server refused before it asked the handler.
    package init(_ problem: RequestProblem) {
        let code =
            switch problem.status {
            case 408: "RequestTimeout"
            case 411: "MissingContentLength"
            case 413: "PostBodyTooLarge"
            case 500: "InternalServerError"
            case 503: "ServerBusy"
            default: "ParameterInvalid"
            }
        self.init(problem.status, code, problem.reason)
    }

    package var response: Response {
        let seconds = retryAfter ?? (status == 503 ? 1 : nil)
        return Response(
            status: status,
            contentType: "application/json",
            fields: seconds.map { [("retry-after", "\($0)")] } ?? [],
            text: body
        )
    }

    private var body: String {
        var json = JSONWriter()
        json.object { json in
            json.object("error") { json in
                json.member("code", code)
                json.member("message", message)
                if let position { json.member("position", position) }
            }
        }
        return json.text
    }
}
