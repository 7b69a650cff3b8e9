import System

/// The fields that decide where a request ends and if another may follow.
struct FramingFields {
    private var contentLength: Int?
    private var coding = TransferCoding.none
    private var host: Range<Int>?
    private var saysClose = false
    private var saysKeepAlive = false
    private var saysContinue = false
    private var saysOtherExpectation = false

    mutating func note(
        name: Slice<UnsafeRawBufferPointer>,
        value: Slice<UnsafeRawBufferPointer>,
        at range: Range<Int>
    ) throws(RequestProblem) {
        switch name.count {
        case 4 where name.isSameIgnoringCase(as: "host"):
            guard host == nil else { throw .malformed("Host is given twice") }
            host = range
        case 6 where name.isSameIgnoringCase(as: "expect"):
            if value.isSameIgnoringCase(as: "100-continue") {
                saysContinue = true
            } else {
                saysOtherExpectation = true
            }
        case 10 where name.isSameIgnoringCase(as: "connection"):
            for option in value.split(separator: UInt8(ascii: ",")) {
                let option = option.withoutSpaces
                if option.isSameIgnoringCase(as: "close") { saysClose = true }
                if option.isSameIgnoringCase(as: "keep-alive") { saysKeepAlive = true }
            }
        case 14 where name.isSameIgnoringCase(as: "content-length"):
            // RFC 9110 section 8.6 would accept an equal value, but no honest client sends one.
            guard contentLength == nil else { throw .malformed("Content-Length is given twice") }
            contentLength = try Self.length(value)
        case 17 where name.isSameIgnoringCase(as: "transfer-encoding"):
            try coding.add(value)
        default: break
        }
    }

    private static func length(
        _ value: Slice<UnsafeRawBufferPointer>
    ) throws(RequestProblem) -> Int {
        guard !value.isEmpty, value.allSatisfy(\.isDigit) else {
            throw .malformed("Content-Length is not a plain decimal number")
        }
        var length = 0
        for digit in value {
            let (tens, overflows) = length.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = tens.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
            guard !overflows, !overflowsToo else {
                throw .malformed("Content-Length is larger than any body")
            }
            length = sum
        }
        return length
    }

    /// RFC 9112 section 6.3. A request with both framings is a smuggling attempt.
    func framing(minorVersion: Int) throws(RequestProblem) -> BodyFraming {
        guard !coding.isNone else { return .length(contentLength ?? 0) }
        guard contentLength == nil else {
            throw .malformed("Content-Length and Transfer-Encoding exclude each other")
        }
        guard minorVersion >= 1 else {
            throw .malformed("HTTP/1.0 has no Transfer-Encoding")
        }
        try coding.check()
        return .chunked
    }

    func keepsAlive(minorVersion: Int) -> Bool {
        minorVersion >= 1 ? !saysClose : saysKeepAlive && !saysClose
    }

    /// RFC 9110 section 10.1.1: HTTP/1.0 clients must not get "100 Continue".
    func expectsContinue(minorVersion: Int) throws(RequestProblem) -> Bool {
        guard minorVersion >= 1 else { return false }
        guard !saysOtherExpectation else {
            throw RequestProblem(
                status: 417,
                reason: "the only supported expectation is 100-continue"
            )
        }
        return saysContinue
    }

    /// RFC 9112 section 3.2.
    func checkHost(
        in bytes: UnsafeRawBufferPointer,
        minorVersion: Int,
        authority: Range<Int>?
    ) throws(RequestProblem) {
        guard let host else {
            // An absolute target names a host in HTTP/1.0 too, where readers would not look for it.
            if minorVersion >= 1 || authority != nil { throw .malformed("Host is missing") }
            return
        }
        guard Self.isHost(bytes[host]) else { throw .malformed("Host is not a host name") }
        // The RFC lets the target win, but a request that names two hosts is more likely an attack.
        if let authority {
            guard zip(bytes[host], bytes[authority]).allSatisfy({ $0.lowercased == $1.lowercased }),
                host.count == authority.count
            else {
                throw .malformed("Host is not the host of the request target")
            }
        }
    }

    /// RFC 3986 section 3.2: host [ ":" port ].
    private static func isHost(_ value: Slice<UnsafeRawBufferPointer>) -> Bool {
        var rest = value[...]
        if rest.first == UInt8(ascii: "[") {
            guard let bracket = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let literal = rest[rest.startIndex..<bracket].dropFirst()
            let isV6 = { (byte: UInt8) in
                hexValue(byte) != nil || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
            }
            guard literal.count > 1, literal.allSatisfy(isV6) else { return false }
            rest = rest[(bracket + 1)...]
        } else {
            let name = rest.prefix { $0.isHostName }
            guard !name.isEmpty else { return false }
            rest = rest.dropFirst(name.count)
        }
        guard let colon = rest.first else { return true }
        let port = rest.dropFirst()
        guard colon == UInt8(ascii: ":"), port.count <= 5, port.allSatisfy(\.isDigit) else {
            return false
        }
        return port.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 65535
    }
}

extension Slice<UnsafeRawBufferPointer> {
    var withoutSpaces: Self {
        var slice = self
        while let first = slice.first, first == .space || first == .tab {
            slice = slice.dropFirst()
        }
        while let last = slice.last, last == .space || last == .tab { slice = slice.dropLast() }
        return slice
    }
}

/// The transfer coding, over all Transfer-Encoding fields (RFC 9112 section 6.1).
enum TransferCoding {
    case none
    case chunked
    /// Codings that this server does not decode, without a final "chunked".
    case unknown
    /// Such codings under a final "chunked", so the end of the body is known.
    case unknownInChunks

    var isNone: Bool {
        if case .none = self { true } else { false }
    }

    /// Adds the next field. Empty list elements are refused, although the syntax allows them: a
    /// reader that mishandles them sees another coding.
    mutating func add(_ value: Slice<UnsafeRawBufferPointer>) throws(RequestProblem) {
        for element in value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let element = element.withoutSpaces
            let name = element.prefix(while: \.isToken)
            let parameters = element.dropFirst(name.count).withoutSpaces
            guard !name.isEmpty, parameters.isEmpty || parameters.first == UInt8(ascii: ";") else {
                throw .malformed("Transfer-Encoding is not a list of codings")
            }
            switch (self, name.isSameIgnoringCase(as: "chunked")) {
            case (.chunked, _), (.unknownInChunks, _):
                throw .malformed("\"chunked\" must be the last transfer coding and appear once")
            case (_, true) where !parameters.isEmpty:
                throw .malformed("the transfer coding \"chunked\" takes no parameters")
            case (.none, true): self = .chunked
            case (.unknown, true): self = .unknownInChunks
            case (_, false): self = .unknown
            }
        }
    }

    /// Section 6.3 demands 400 if the end of the body is unknown. Section 6.1 advises 501 if the
    /// end is known and only the coding is not.
    func check() throws(RequestProblem) {
        switch self {
        case .none, .chunked: break
        case .unknown:
            throw .malformed("the last transfer coding is not \"chunked\", so the body has no end")
        case .unknownInChunks:
            throw RequestProblem(
                status: 501,
                reason: "the only supported transfer coding is \"chunked\";"
                    + " use Content-Encoding for compression"
            )
        }
    }
}
