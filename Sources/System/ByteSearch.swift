import CSystem

extension UnsafeRawBufferPointer {
    /// True if the text is somewhere in these bytes, as an empty one always is. The C library
    /// searches.
    package func contains(_ text: [UInt8]) -> Bool {
        baseAddress.map { sluice_find($0, count, text, text.count) } ?? text.isEmpty
    }
}
