/// An index that a request named, and what became of its documents.
struct ElasticIndex: Sendable {
    let name: String
    /// Why they were not taken.
    let refusal: Refusal?

    init(_ name: String, _ refusal: Refusal?) {
        (self.name, self.refusal) = (name, refusal)
    }

    /// The name without a date at its end: clients begin a new index each day, and logstores expire by themselves.
    static func tag(of index: String) -> String {
        let name = Array(index.utf8)
        for pattern in ["-dddd.dd.dd", "-dddd.dd"].map({ Array($0.utf8) }) {
            guard name.count > pattern.count else { continue }
            let start = name.count - pattern.count
            let isDate = zip(name[start...], pattern).allSatisfy { byte, kind in
                switch kind {
                case UInt8(ascii: "d"): (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                case UInt8(ascii: "-"):
                    byte == kind || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
                default: byte == kind || byte == UInt8(ascii: "-")
                }
            }
            if isDate { return String(decoding: name[..<start], as: UTF8.self) }
        }
        return index
    }
}
