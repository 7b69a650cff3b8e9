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
            // RFC 9110 section 4.2.3: an empty path means "/". The range refers to the slash before
            // the host.
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
