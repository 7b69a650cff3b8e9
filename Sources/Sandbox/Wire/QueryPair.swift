import System

/// One decoded `key=value` of a query.
struct QueryPair: Sendable, Equatable {
    let key: String
    let value: String

    /// The pairs in order. Clients encode a space as `%20` or, like a form, as `+`; a plus sign is
    /// always `%2B`.
    static func list(parsing query: String) throws(SLSRefusal) -> [QueryPair] {
        var pairs: [QueryPair] = []
        for piece in query.utf8.split(separator: UInt8(ascii: "&")) {
            let equals = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
            let value = equals == piece.endIndex ? piece[equals...] : piece[equals...].dropFirst()
            pairs.append(
                QueryPair(key: try decoded(piece[..<equals]), value: try decoded(value))
            )
        }
        return pairs
    }

    private static func decoded(_ piece: Substring.UTF8View) throws(SLSRefusal) -> String {
        var bytes: [UInt8] = []
        var rest = piece.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = rest.next().flatMap(hexValue),
                    let low = rest.next().flatMap(hexValue)
                else {
                    throw .badParameter("The query has a % without two hexadecimal digits.")
                }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .badParameter("The query is not UTF-8 once decoded.")
        }
        return text
    }
}
