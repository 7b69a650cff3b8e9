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
        let error = (try? JSONValue(parsing: body))?["error"]
        guard let message = error?["message"]?.text else { return nil }
        return error?["code"]?.text.map { "\(message) (\($0))" } ?? message
    }
}
