/// "1 log", "2 logs".
package func counted(_ count: some BinaryInteger, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
}

/// Shortens a client's text for an error message that repeats it.
package func clipped(_ text: String, to count: Int = 64) -> String {
    text.count <= count ? text : text.prefix(count - 3) + "..."
}

/// Makes foreign text, such as field names, safe for a terminal: escapes line ends and control characters.
package func printable(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
        let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
        return isControl ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
    }.joined()
}
