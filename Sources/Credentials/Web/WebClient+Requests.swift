package import Crypto
import SLS

/// What other rooms ask for.
extension WebClient {
    /// Gets the content of an address, up to 64 KiB.
    package func get(
        _ url: String,
        authorities: String?,
        limits: WebLimits
    ) throws(WebFailure) -> (status: Int, body: [UInt8]) {
        let answer = try ask(WebRequest(url: url, authorities: authorities, limits: limits))
        return (answer.status, answer.body.bytes)
    }

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
