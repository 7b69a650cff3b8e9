import JSON
import System

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

    /// Why the gateway refuses, safe for a terminal: `{"error":{"code":…,"message":…}}` as a
    /// sentence, or the lines of `{"ready":false,"reasons":[…]}`.
    var problem: String? {
        let json = try? JSONValue(parsing: body)
        if let message = json?["error"]?["message"]?.text {
            let code = json?["error"]?["code"]?.text.map { " (\($0))" } ?? ""
            return TerminalText.sentence(message + code)
        }
        let reasons = (json?["reasons"]?.elements ?? []).compactMap(\.text).prefix(20)
        guard !reasons.isEmpty else { return nil }
        return reasons.map { TerminalText.sentence($0) }.joined(separator: "\n")
    }
}
