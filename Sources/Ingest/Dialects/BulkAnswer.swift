import Logs

/// The answer to `_bulk`, with a part for each action in its order. Written into one piece of memory, since there may
/// be ten thousands, and before the logs are stored: the queue's thread has better things to do.
///
/// A small request must not become an enormous answer that waits for a client who does not read: beyond a number of
/// actions each is told by its status alone, and beyond a number of failures without the reason. So it is where the
/// whole would be too large; names and ids come back six times as long where each byte is escaped.
struct BulkAnswer {
    /// More than agents write at once by default, so that theirs are whole.
    static let wholeItemsMax = 10_000
    static let reasonsMax = 1000

    let items: BulkItems
    let indices: [ElasticIndex]
    let parts: Parts

    /// Nil where even the short form is larger than that.
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
            item.outcome != .taken || item.place.map { indices[$0].refusal != nil } != false
        }
    }
}
