package import SLS

extension WebClient {
    /// Posts a JSON text and returns the status of the answer, of which nothing else is looked at.
    package func post(
        _ json: [UInt8],
        to url: Secret,
        _ headers: [String],
        limits: WebLimits
    ) throws(WebFailure) -> Int {
        try ask(
            WebRequest(
                method: "POST",
                url: url.revealed,
                headers: ["Content-Type: application/json"] + headers,
                content: json,
                isBodyWanted: false,
                limits: limits
            )
        ).status
    }
}
