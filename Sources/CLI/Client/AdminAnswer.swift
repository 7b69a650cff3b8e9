import JSON

/// The gateway's answer.
package struct AdminAnswer: Sendable {
    package var status = 0
    package var body: [UInt8] = []
    /// The start of the listing's next page; nil after the last page.
    package var next: String?
    /// Gateways of the cluster that are not in it.
    package var missing: String?

    package var text: String { String(decoding: body, as: UTF8.self) }
    package var isFine: Bool { (200..<300).contains(status) }

    /// The gateway's error `{"error":{"code":…,"message":…}}` as a sentence.
    var problem: String? {
        var json = JSONReader(body)
        guard json.take("{"), json.string() == "error", json.take(":"), json.take("{") else {
            return nil
        }
        var code: String?
        var message: String?
        repeat {
            guard let name = json.string(), json.take(":") else { return nil }
            switch name {
            case "code": code = json.string()
            case "message": message = json.string()
            default: guard json.skipValue() else { return nil }
            }
        } while json.take(",")
        guard let message else { return nil }
        return code.map { "\(message) (\($0))" } ?? message
    }
}
