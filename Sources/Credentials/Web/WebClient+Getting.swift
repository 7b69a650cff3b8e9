extension WebClient {
    /// Gets what is at an address, up to 64 KiB.
    package func get(
        _ url: String,
        authorities: String?,
        limits: WebLimits
    ) throws(WebFailure) -> (status: Int, body: [UInt8]) {
        let answer = try ask(WebRequest(url: url, authorities: authorities, limits: limits))
        return (answer.status, answer.body.bytes)
    }
}
