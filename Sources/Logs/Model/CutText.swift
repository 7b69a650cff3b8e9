extension String {
    /// The beginning of it, in at most so many bytes and whole characters.
    package func cut(to bytesMax: Int) -> String {
        guard utf8.count > bytesMax else { return self }
        var text = self
        return text.withUTF8 { text in
            guard let start = text.baseAddress else { return "" }
            return String(decoding: text[..<utf8Boundary(start, atMost: bytesMax)], as: UTF8.self)
        }
    }
}
