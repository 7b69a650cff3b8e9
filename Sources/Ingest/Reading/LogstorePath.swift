/// `/logstores/{logstore}`, and what follows it.
struct LogstorePath {
    /// As it stands in the head.
    let logstore: Range<Int>
    /// From the name's end on: nothing, or a slash and more.
    let rest: UnsafeBufferPointer<UInt8>

    init?(_ path: UnsafeBufferPointer<UInt8>, at offset: Int) {
        guard path.begins(with: "/logstores/") else { return nil }
        let start = "/logstores/".utf8.count
        let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
        guard end > start else { return nil }
        logstore = start + offset..<end + offset
        rest = UnsafeBufferPointer(rebasing: path[end...])
    }
}
