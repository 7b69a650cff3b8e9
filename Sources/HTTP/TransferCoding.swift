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
