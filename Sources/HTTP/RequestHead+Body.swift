extension RequestHead {
    /// Whether a body follows, one of no bytes aside.
    package var announcesBody: Bool {
        if fieldRange("transfer-encoding") != nil { return true }
        guard let length = fieldRange("content-length") else { return false }
        return bytes[length].contains { $0 != UInt8(ascii: "0") }
    }

    /// The size of the body as it comes; nil when only its end tells.
    package var declaredBodyBytes: Int? {
        guard fieldRange("transfer-encoding") == nil else { return nil }
        guard let length = fieldRange("content-length") else { return 0 }
        // It has been read as a number before.
        return bytes[length].reduce(0) { $0 &* 10 &+ Int($1 &- UInt8(ascii: "0")) }
    }
}
