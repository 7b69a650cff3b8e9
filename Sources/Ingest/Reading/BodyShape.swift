/// Recognises a body by its first bytes. The content type is unreliable: browsers send JSON as
/// `application/x-protobuf` or `text/plain`, and an SDK for phones sends protobuf as a form.
extension UnsafeRawBufferPointer {
    /// True: the body can only be a JSON object, a brace and then a name or the other brace. A
    /// LogGroup may begin with a line feed, which is blank in JSON, and a brace; a name does not
    /// follow there.
    var beginsAsObject: Bool {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        var rest = self[...]
        if rest.starts(with: mark) { rest = rest.dropFirst(mark.count) }
        rest = rest.drop(while: \.isBlank)
        guard rest.first == UInt8(ascii: "{") else { return false }
        rest = rest.dropFirst().drop(while: \.isBlank)
        return rest.first == UInt8(ascii: "\"") || rest.first == UInt8(ascii: "}")
    }

    /// True: the body is a LogGroup as SLS's SDKs write it, with a log first and the log's time
    /// first. No text has the byte that marks the time.
    var beginsAsLogGroup: Bool {
        guard count > 2, self[0] == 0x0A else { return false }
        var length = self[1...].prefix(5)
        while let byte = length.popFirst() {
            guard byte < 0x80 else { continue }
            let first = length.startIndex
            return first < count && self[first] == 0x08
        }
        return false
    }
}

extension UInt8 {
    /// White space of JSON.
    fileprivate var isBlank: Bool {
        self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09
    }
}
