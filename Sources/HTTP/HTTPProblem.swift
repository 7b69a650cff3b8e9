import JSON

/// Why the server itself refuses a request, or ends it before its handler answers.
package struct RequestProblem: Error, Equatable, Sendable {
    /// 400, 408, 413, 414, 417, 431, 500, 501, 503 or 505.
    package let status: Int
    /// One sentence for the client's developer.
    package let reason: String

    // MARK: - Unreadable or slow requests

    static func malformed(_ reason: String) -> RequestProblem {
        RequestProblem(status: 400, reason: reason)
    }

    static let plainHTTP = malformed(
        "this port speaks TLS, but the client sent plain HTTP; use https"
    )
    static let headTooSlow = RequestProblem(
        status: 408,
        reason: "the head of the request did not arrive in time"
    )
    static let bodyTooSlow = RequestProblem(
        status: 408,
        reason: "the body of the request stopped or arrived too slowly"
    )

    // MARK: - Too large

    static func bodyTooLarge(_ bodyBytesMax: Int) -> RequestProblem {
        RequestProblem(status: 413, reason: "the body is larger than \(bodyBytesMax) bytes")
    }

    static func answerTooLarge(_ count: Int, most: Int) -> RequestProblem {
        RequestProblem(
            status: 500,
            reason:
                "the answer would have \(count) bytes, more than the limit of \(most); request less"
        )
    }

    // MARK: - No room now

    private static func busy(_ reason: String) -> RequestProblem {
        RequestProblem(status: 503, reason: reason)
    }

    static let tooManyHeads = busy(
        "too many request heads are in flight (limits.heads_in_flight), in total or from one "
            + "address; try again"
    )
    static let tooManyBodies = busy(
        "too many request bodies are in flight (limits.bodies_in_flight), in total or from one "
            + "address; try again"
    )
    static let tooManyLargeRequests = busy(
        "large requests fill half of limits.bodies_in_flight in total, or a quarter from one "
            + "address; try again, or send smaller ones"
    )
    static let waitedTooLong = busy(
        "the gateway could not start this request within limits.large_wait; try again"
    )
    static let tooManyAnswers = busy(
        "too many answers are unread (limits.answers_in_flight), in total or from one address; "
            + "try again"
    )

    // MARK: - No longer admitted

    /// 503 makes clients keep their logs and reconnect; TLS then decides if they are still
    /// admitted.
    static let staleClient = busy(
        "the client certificate of this connection has expired, or the rules for clients have "
            + "changed; reconnect"
    )
}

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

extension HTTPProblem {
    package static func busy(_ reason: String) -> HTTPProblem {
        HTTPProblem(503, "ServerBusy", reason)
    }

    package static func notFound(_ code: String, _ reason: String) -> HTTPProblem {
        HTTPProblem(404, code, reason)
    }

    package static func conflict(_ code: String, _ reason: String) -> HTTPProblem {
        HTTPProblem(409, code, reason)
    }

    package static func query(_ reason: String) -> HTTPProblem {
        HTTPProblem(400, "ParameterInvalid", reason)
    }
}
