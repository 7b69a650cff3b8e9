import Logs

/// The answer to `_bulk`, with an item for each action in their order. It is written into one
/// buffer, since there may be ten thousand items, and before the logs are stored, since the queue's
/// thread must not spend time on it.
///
/// A small request must not cause a huge answer for a client that does not read. Beyond a number of
/// actions each item has its status only, and beyond a number of failures no reason. The same form
/// is used when the whole answer would be too large: names and ids take six times their size when
/// each byte is escaped.
struct BulkAnswer {
    /// More than agents send at once by default, so agents get whole answers.
    static let wholeItemsMax = 10_000
    static let reasonsMax = 1000

    let items: BulkItems
    let indices: [ElasticIndex]
    let parts: Parts

    /// nil when even the short form is larger.
    func body(atMost bytesMax: Int) -> [UInt8]? {
        let isWhole = items.count <= Self.wholeItemsMax
        return (isWhole ? body(of: parts, atMost: bytesMax) : nil)
            ?? body(of: parts.intersection(.brief), atMost: bytesMax)
    }

    private func body(of told: Parts, atMost bytesMax: Int) -> [UInt8]? {
        var text = BulkText(told)
        if parts.contains(.took) { text.member("took", "0") }
        if parts.contains(.errors) { text.member("errors", hasErrors ? "true" : "false") }
        return text.items(items, indices, atMost: bytesMax) ? text.finish() : nil
    }

    var hasErrors: Bool {
        items.items.contains { item in
            item.outcome != .taken || item.part.map { indices[$0].refusal != nil } != false
        }
    }
}
