import JSON
import System

/// The logs of one accepted request, in the stored form.
struct ReceivedLogs: Sendable {
    struct Entry: Sendable {
        let time: UInt32
        let nanoseconds: UInt32?
        /// The range in `json` of its fields: `{"level":"info"}`.
        let fields: Range<Int>
    }

    var topic = ""
    var source = ""
    /// `"__tag__:env":"prod","__tag__:app":"shop"`, members for a JSON object.
    var tags = JSONWriter()
    var packID: String?
    /// The fields of all logs, one object a line.
    var json = JSONWriter()
    var entries: [Entry] = []
    var rawBytes = 0

    mutating func appendTag(_ name: String, _ value: String) {
        tags.member("__tag__:" + name, value)
        if name == "__pack_id__" { packID = value }
    }

    mutating func append(
        time: UInt32,
        nanoseconds: UInt32?,
        _ fields: (inout JSONWriter) -> Void
    ) {
        let start = json.bytes.count
        json.object(fields)
        entries.append(
            Entry(time: time, nanoseconds: nanoseconds, fields: start..<json.bytes.count)
        )
        json.endLine()
    }
}

/// SLS's rules for a log's content, independent of its encoding.
struct LogChecks {
    let limits: SandboxConfiguration.Limits
    let now: WallTime
    var poisons: Poisons?

    private static let reservedKeys: [StaticString] = [
        "__time__", "__source__", "__topic__", "__partition_time__", "_extract_others_",
        "__extract_others__",
    ]

    func checkKey(_ key: UnsafeRawBufferPointer) throws(SLSRefusal) {
        guard (1...limits.keyBytesMax).contains(key.count) else {
            throw .badRequest(
                "InvalidKey",
                "A key has \(key.count) bytes, 1 to \(limits.keyBytesMax) are allowed."
            )
        }
        try poisons?.check(key)
        // All reserved keys begin with an underscore, and most keys do not.
        guard key[0] == UInt8(ascii: "_") else { return }
        for reserved in Self.reservedKeys where reserved.utf8CodeUnitCount == key.count {
            let name = UnsafeRawBufferPointer(start: reserved.utf8Start, count: key.count)
            guard !name.elementsEqual(key) else {
                throw .badRequest("InvalidKey", "The key \(reserved) is reserved.")
            }
        }
    }

    /// `what` begins the sentence of the refusal: "A value".
    private func check(_ what: String, byteCount: Int, most: Int) throws(SLSRefusal) {
        guard byteCount <= most else {
            throw .badBody("\(what) has \(byteCount) bytes, \(most) are allowed.")
        }
    }

    func checkValue(byteCount: Int) throws(SLSRefusal) {
        try check("A value", byteCount: byteCount, most: limits.valueBytesMax)
    }

    func checkTopic(byteCount: Int) throws(SLSRefusal) {
        try check("The topic", byteCount: byteCount, most: limits.topicBytesMax)
    }

    func checkSource(byteCount: Int) throws(SLSRefusal) {
        try check("The source", byteCount: byteCount, most: limits.sourceBytesMax)
    }

    /// SLS refuses the whole request for a log outside the time window.
    func checkTime(_ time: UInt32, log: Int) throws(SLSRefusal) {
        let oldest = now.seconds - limits.oldestLog.components.seconds
        let newest = now.seconds + limits.newestLog.components.seconds
        guard Int64(time) >= oldest, Int64(time) <= newest else {
            throw .badBody(
                "Invalid data time: log \(log) has \(time), outside the range [\(oldest), \(newest)]."
            )
        }
    }

    func checkCount(_ count: Int) throws(SLSRefusal) {
        guard count <= limits.logsPerRequestMax else {
            throw .tooLarge("Logs count \(count) must little than \(limits.logsPerRequestMax).")
        }
    }

    func checkText(_ text: UnsafeRawBufferPointer) throws(SLSRefusal) {
        guard isUTF8(text) else {
            throw .badRequest("InvalidEncoding", "The log is not encoded in UTF-8.")
        }
    }

    private func isUTF8(_ text: UnsafeRawBufferPointer) -> Bool {
        var offset = 0
        while text.count - offset >= 8 {
            let word = text.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            guard word & 0x8080_8080_8080_8080 == 0 else { break }
            offset += 8
        }
        let rest = text.bindMemory(to: UInt8.self)[offset...]
        guard !rest.allSatisfy({ $0 < 0x80 }) else { return true }
        return (try? UTF8Span(validating: UnsafeBufferPointer(rebasing: rest).span)) != nil
    }
}
