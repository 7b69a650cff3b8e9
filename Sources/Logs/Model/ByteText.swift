import Glibc

extension UnsafeBufferPointer<UInt8> {
    @inline(__always)
    func hasSameBytes(as other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        guard let first = baseAddress, let second = other.baseAddress else { return true }
        return memcmp(first, second, count) == 0
    }

    /// True when this text comes first by its bytes.
    @inline(__always)
    func precedes(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = baseAddress, let second = other.baseAddress else {
            return count < other.count
        }
        let order = memcmp(first, second, Swift.min(count, other.count))
        return order == 0 ? count < other.count : order < 0
    }
}

extension String {
    /// True when the bytes are the same. `==` compares canonical forms, which costs a hundred times
    /// as much for text that is not ASCII, and takes different texts for the same.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}

/// A text in a set or a dictionary, compared by its bytes, as `hasSameBytes` does.
package struct ByteText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: ByteText, right: ByteText) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
