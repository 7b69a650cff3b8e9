import Logs

/// The answer to `_bulk`, with a part for each action in its order. Written into one piece of memory, since there may
/// be ten thousands, and before the logs are stored: the queue's thread has better things to do.
///
/// A small request must not become an enormous answer that waits for a client who does not read: beyond a number of
/// actions each is told by its status alone, and beyond a number of failures without the reason.
struct BulkAnswer {
    /// More than agents write at once by default, so that theirs are whole.
    static let wholeItemsMax = 10_000
    static let reasonsMax = 1000

    let items: BulkItems
    let indices: [ElasticIndex]
    let parts: Parts

    var body: [UInt8] {
        let isWhole = items.count <= Self.wholeItemsMax
        var text = BulkText(isWhole ? parts : parts.intersection(.brief))
        if parts.contains(.took) { text.member("took", "0") }
        if parts.contains(.errors) { text.member("errors", hasErrors ? "true" : "false") }
        text.items(items, indices)
        return text.finish()
    }

    var hasErrors: Bool {
        items.items.contains { item in
            item.outcome != .taken || item.place.map { indices[$0].refusal != nil } != false
        }
    }
}
