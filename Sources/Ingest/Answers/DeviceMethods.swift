import HTTP

/// What a path answers to.
struct DeviceMethods: Sendable {
    let all: [RequestHead.Method]
    /// As `Allow` and its cousin of CORS have it.
    let names: String

    static let post = DeviceMethods(all: [.post, .options], names: "POST, OPTIONS")
    static let bulk = DeviceMethods(all: [.post, .put, .options], names: "POST, PUT, OPTIONS")
    static let track = DeviceMethods(
        all: [.get, .head, .post, .options],
        names: "GET, HEAD, POST, OPTIONS"
    )
    static let look = DeviceMethods(all: [.get, .head, .options], names: "GET, HEAD, OPTIONS")
    static let options = DeviceMethods(all: [.options], names: "GET, HEAD, POST, OPTIONS")
    static let none = DeviceMethods(all: [], names: "GET, HEAD, POST, OPTIONS")
}
