/// Logs whose way through filters and routes is asked for.
package struct RouteQuestion: Sendable {
    package static let logsMax = 100
    package static let bytesMax = 256 << 10
    package static let tagRule =
        "a tag has 1 to \(TagText.bytes.upperBound) bytes of UTF-8 "
        + "without control characters"

    package let tag: String
    /// Each is a JSON object. None stands for one log without fields.
    package var logs: [[UInt8]] = []
    package var topic: String?
    package var source: String?
    /// For the templates of filters.
    package var clientIP = ""
    package var receipt = ""
    /// For the conditions of filters.
    package var request: AskedRequest?
    /// The name of a device's key. Its destinations bound the routes.
    package var key: String?
    /// For a captured request: its sender's further bounds, and how it addressed and labelled each
    /// log. nil in place of labels: they are not kept.
    var rights: Set<String>?
    var host: String?
    var project: String?
    var labels: [CaptureRecord.Group?] = []

    /// nil: the text cannot be a tag.
    package init?(tag: String) {
        guard TagText.isSound(tag) else { return nil }
        self.tag = tag
    }

    /// A tag that a request had already.
    init(known tag: String) { self.tag = tag }

    func labels(ofLog number: Int) -> CaptureRecord.Group {
        if labels.indices.contains(number), let own = labels[number] { return own }
        return CaptureRecord.Group(
            address: .tag(tag),
            tag: tag,
            topic: topic,
            fallbackTopic: tag,
            source: source,
            tags: []
        )
    }
}
