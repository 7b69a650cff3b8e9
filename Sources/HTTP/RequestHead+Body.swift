extension RequestHead {
    /// True if the request has a body, other than one of length 0.
    package var announcesBody: Bool {
        if fieldRange("transfer-encoding") != nil { return true }
        guard let length = fieldRange("content-length") else { return false }
        return bytes[length].contains { $0 != UInt8(ascii: "0") }
    }

    /// The body's size on the wire; nil if only its end shows it.
    package var declaredBodyBytes: Int? {
        guard fieldRange("transfer-encoding") == nil else { return nil }
        guard let length = fieldRange("content-length") else { return 0 }
        // The parser has checked that it is a number.
        return bytes[length].reduce(0) { $0 &* 10 &+ Int($1 &- UInt8(ascii: "0")) }
    }
}
