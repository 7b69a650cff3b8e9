/// Names for the tag `__truncated__`, up to a size.
package struct TruncatedNames {
    package static let tag = "__truncated__"
    private static let bytesMax = 1024

    private var names = ""
    private var isFull = false

    package init() {}

    /// The name is asked for only while there is room.
    package mutating func add(_ name: @autoclosure () -> String) {
        guard !isFull else { return }
        let name = name()
        guard names.utf8.count + name.utf8.count <= Self.bytesMax else {
            names += ",..."
            isFull = true
            return
        }
        if !names.isEmpty { names += "," }
        names += name
    }

    /// The names, with commas; nil when there are none.
    var list: String? { names.isEmpty ? nil : names }

    /// The tags, and behind them the one that names those that are not whole. It replaces a
    /// device's tag of that name.
    package func marking(
        _ tags: [(key: String, value: String)]
    ) -> [(key: String, value: String)] {
        guard let list else { return tags }
        return tags.filter { !$0.key.hasSameBytes(as: Self.tag) } + [(Self.tag, list)]
    }
}
