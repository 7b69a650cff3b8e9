/// Names for the tag `__truncated__`, up to a size.
package struct TruncatedNames {
    package static let tag = "__truncated__"
    private static let bytesMax = 1024

    private var list = ""
    private var isFull = false

    package init() {}

    package mutating func add(_ name: String) {
        guard !isFull else { return }
        guard list.utf8.count + name.utf8.count <= Self.bytesMax else {
            list += ",..."
            isFull = true
            return
        }
        if !list.isEmpty { list += "," }
        list += name
    }

    /// The tags, and behind them which of them are not whole; it replaces what a device calls by that name.
    package func marking(
        _ tags: [(key: String, value: String)]
    ) -> [(key: String, value: String)] {
        guard !list.isEmpty else { return tags }
        return tags.filter { $0.key != Self.tag } + [(Self.tag, list)]
    }
}
