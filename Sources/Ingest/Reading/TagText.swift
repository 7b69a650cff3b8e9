/// A tag as a request brings it: what topics and routes are made of.
enum TagText {
    static let bytes = 1...128

    static func isSound(_ text: String) -> Bool {
        bytes.contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
    }
}

extension Refusal {
    /// Of clients that call a tag an index.
    static let badIndex = Refusal(
        400,
        "IndexInvalid",
        "an index has 1 to 128 bytes of UTF-8 without control characters"
    )
}
