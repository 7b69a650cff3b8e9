import HTTP

extension RequestHead {
    /// Whether a body follows, one of no bytes aside.
    var announcesBody: Bool {
        if fieldRange("transfer-encoding") != nil { return true }
        guard let length = fieldRange("content-length") else { return false }
        return bytes[length].contains { $0 != UInt8(ascii: "0") }
    }
}
