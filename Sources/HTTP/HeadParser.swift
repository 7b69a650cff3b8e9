/// A checked head with its framing and the connection's fate.
struct ParsedHead {
    let head: RequestHead
    let framing: BodyFraming
    let keepsAlive: Bool
    /// The client waits for "100 Continue" before it sends the body.
    let expectsContinue: Bool
}

/// How the end of a body is found (RFC 9112 section 6).
enum BodyFraming: Equatable {
    case length(Int)
    case chunked

    static let none = BodyFraming.length(0)
}

/// Parses one complete head by RFC 9112, and refuses heads that two readers could read differently.
///
/// Behind a load balancer such a difference turns one client's bytes into another's request. So
/// nothing here is repaired or guessed.
struct HeadParser {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private var fields: [RequestHead.Field] = []
    private var meaning = FramingFields()

    /// Parses the bytes from the method to the blank line, as `HeadScanner` found them: each line
    /// ends with CRLF, and the last is empty.
    static func parse(
        _ bytes: UnsafeRawBufferPointer,
        fieldCount: Int,
        peer: PeerAddress
    ) throws(RequestProblem) -> ParsedHead {
        var parser = HeadParser(bytes: bytes)
        parser.fields.reserveCapacity(fieldCount)
        return try parser.parse(peer: peer)
    }

    private mutating func parse(peer: PeerAddress) throws(RequestProblem) -> ParsedHead {
        let methodRange = try methodName()
        let targetRange = try target()
        let minorVersion = try version()
        while bytes[position] != .carriageReturn { try field() }
        guard position + 2 == bytes.count else {
            throw .malformed("a carriage return is not followed by a line feed")
        }
        let method = RequestHead.Method(bytes[methodRange])
        let place = try TargetForm(bytes, targetRange, isOptions: method == .options)
        try meaning.checkHost(in: bytes, minorVersion: minorVersion, authority: place.authority)
        return ParsedHead(
            head: RequestHead(
                bytes: Array(bytes),
                method: method,
                path: place.path,
                query: place.query,
                fields: fields,
                minorVersion: minorVersion,
                peer: peer
            ),
            framing: try meaning.framing(minorVersion: minorVersion),
            keepsAlive: meaning.keepsAlive(minorVersion: minorVersion),
            expectsContinue: try meaning.expectsContinue(minorVersion: minorVersion)
        )
    }

    private mutating func methodName() throws(RequestProblem) -> Range<Int> {
        let start = position
        while bytes[position].isToken { position += 1 }
        guard position > start else { throw .malformed("the method is missing") }
        guard bytes[position] == .space else {
            throw .malformed("the method contains an invalid byte")
        }
        defer { position += 1 }
        return start..<position
    }

    private mutating func target() throws(RequestProblem) -> Range<Int> {
        let start = position
        while bytes[position].isTarget { position += 1 }
        guard position > start else { throw .malformed("the request target is missing") }
        guard bytes[position] == .space else {
            throw .malformed("the request target contains a byte that must be percent-encoded")
        }
        defer { position += 1 }
        return start..<position
    }

    // RFC 9112 section 2.3: the name is case-sensitive, and the version is two single digits. RFC
    // 9110 section 2.5: a higher minor version is treated as ours.
    private mutating func version() throws(RequestProblem) -> Int {
        let start = position
        while bytes[position] != .carriageReturn { position += 1 }
        let text = bytes[start..<position]
        guard bytes[position + 1] == .lineFeed, text.count == 8, text.starts(with: "HTTP/".utf8),
            bytes[start + 5].isDigit, bytes[start + 6] == UInt8(ascii: "."),
            bytes[start + 7].isDigit
        else {
            throw .malformed("the request line does not end with HTTP/1.1")
        }
        guard bytes[start + 5] == UInt8(ascii: "1") else {
            throw RequestProblem(status: 505, reason: "only HTTP/1.1 and HTTP/1.0 are supported")
        }
        position += 2
        return bytes[start + 7] == UInt8(ascii: "0") ? 0 : 1
    }

    private mutating func field() throws(RequestProblem) {
        let first = bytes[position]
        // RFC 9112 section 5.2: obs-fold.
        guard first != .space, first != .tab else {
            throw .malformed("a field continues on the next line")
        }
        let start = position
        while bytes[position].isToken { position += 1 }
        let name = start..<position
        guard bytes[position] == UInt8(ascii: ":"), !name.isEmpty else {
            throw .malformed(
                bytes[position] == .space || bytes[position] == .tab
                    ? "a field name is followed by a space before its colon"
                    : "a field name is missing or contains an invalid byte"
            )
        }
        position += 1
        let value = try fieldValue()
        fields.append(RequestHead.Field(name: name, value: value))
        try meaning.note(name: bytes[name], value: bytes[value], at: value)
    }

    private mutating func fieldValue() throws(RequestProblem) -> Range<Int> {
        while bytes[position] == .space || bytes[position] == .tab { position += 1 }
        let start = position
        while bytes[position].isFieldContent { position += 1 }
        guard bytes[position] == .carriageReturn else {
            throw .malformed("a field value contains a control character")
        }
        guard bytes[position + 1] == .lineFeed else {
            throw .malformed("a carriage return is not followed by a line feed")
        }
        var end = position
        while end > start, bytes[end - 1] == .space || bytes[end - 1] == .tab { end -= 1 }
        position += 2
        return start..<end
    }
}

extension RequestHead.Method {
    /// Methods are case-sensitive (RFC 9110 section 9.1).
    fileprivate init(_ token: Slice<UnsafeRawBufferPointer>) {
        self =
            if token.elementsEqual("POST".utf8) {
                .post
            } else if token.elementsEqual("GET".utf8) {
                .get
            } else if token.elementsEqual("HEAD".utf8) {
                .head
            } else if token.elementsEqual("PUT".utf8) {
                .put
            } else if token.elementsEqual("PATCH".utf8) {
                .patch
            } else if token.elementsEqual("DELETE".utf8) {
                .delete
            } else if token.elementsEqual("OPTIONS".utf8) {
                .options
            } else {
                .other
            }
    }
}

/// The parts of a request target (RFC 9112 section 3.2).
///
/// Clients send origin form. Servers must also accept absolute form, and "*" for OPTIONS. Authority
/// form belongs to CONNECT, which only proxies serve.
struct TargetForm {
    let path: Range<Int>
    let query: Range<Int>?
    /// The host and port of an absolute target.
    let authority: Range<Int>?

    init(
        _ bytes: UnsafeRawBufferPointer,
        _ target: Range<Int>,
        isOptions: Bool
    ) throws(RequestProblem) {
        if bytes[target.lowerBound] == UInt8(ascii: "/") {
            authority = nil
            (path, query) = Self.split(bytes, target)
        } else if isOptions, target.count == 1, bytes[target.lowerBound] == UInt8(ascii: "*") {
            authority = nil
            (path, query) = (target, nil)
        } else {
            let rest = try Self.afterScheme(bytes, target)
            let end =
                bytes[rest].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
                ?? rest.upperBound
            guard end > rest.lowerBound else {
                throw .malformed("an absolute request target needs a host")
            }
            authority = rest.lowerBound..<end
            let (path, query) = Self.split(bytes, end..<rest.upperBound)
            // RFC 9110 section 4.2.3: an empty path means "/", here the slash before the host.
            self.path = path.isEmpty ? rest.lowerBound - 1..<rest.lowerBound : path
            self.query = query
        }
    }

    private static func afterScheme(
        _ bytes: UnsafeRawBufferPointer,
        _ target: Range<Int>
    ) throws(RequestProblem) -> Range<Int> {
        for scheme in ["http://", "https://"] as [StaticString] {
            let length = scheme.utf8CodeUnitCount
            if target.count > length, bytes[target].prefix(length).isSameIgnoringCase(as: scheme) {
                return target.lowerBound + length..<target.upperBound
            }
        }
        throw .malformed("the request target is neither a path nor an http address")
    }

    private static func split(
        _ bytes: UnsafeRawBufferPointer,
        _ target: Range<Int>
    ) -> (Range<Int>, Range<Int>?) {
        guard let mark = bytes[target].firstIndex(of: UInt8(ascii: "?")) else {
            return (target, nil)
        }
        return (target.lowerBound..<mark, mark + 1..<target.upperBound)
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// The text must be in lower case.
    func isSameIgnoringCase(as text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return count == wanted.count && zip(self, wanted).allSatisfy { $0.lowercased == $1 }
    }
}

/// Character classes of RFC 9110 and 9112. Each test is a shift and a mask.
extension UInt8 {
    /// RFC 9110 section 5.6.2: tchar.
    var isToken: Bool {
        isIn(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)
    }

    /// RFC 9110 section 5.5: field values may also contain tabs and spaces.
    var isFieldContent: Bool {
        self >= 0x20 ? self != 0x7f : self == 0x09
    }

    /// A request target is visible ASCII; clients never send the fragment (RFC 9110 section 7.1).
    var isTarget: Bool {
        self > 0x20 && self < 0x7f && self != UInt8(ascii: "#")
    }

    /// A registered name or an IPv4 address. RFC 3986 also allows sub-delims, but no real host name
    /// contains them, and later readers of the name give some of them a meaning.
    var isHostName: Bool {
        isIn(low: 0x03ff_6020_0000_0000, high: 0x47ff_fffe_87ff_fffe)
    }

    var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

    var lowercased: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }

    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")

    private func isIn(low: UInt64, high: UInt64) -> Bool {
        self < 64 ? low >> UInt64(self) & 1 == 1 : self < 128 && high >> UInt64(self - 64) & 1 == 1
    }
}
