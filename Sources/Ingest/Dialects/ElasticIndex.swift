import System

/// An index that a request named, and what became of its documents.
struct ElasticIndex: Sendable {
    let name: String
    /// Why they were not taken.
    let refusal: Refusal?

    init(_ name: String, _ refusal: Refusal?) {
        (self.name, self.refusal) = (name, refusal)
    }

    /// As it stands in a path.
    static func name(_ text: ArraySlice<UInt8>) throws(Refusal) -> String {
        guard let name = percentDecodedText(text), TagText.isSound(name) else { throw .badIndex }
        return name
    }

    /// The name without a date at its end: clients begin a new index each day, and logstores expire by themselves.
    static func tag(of index: String) -> String {
        let name = Array(index.utf8)
        for date in IndexDate.all {
            guard let start = date.start(in: name) else { continue }
            return String(decoding: name[..<start], as: UTF8.self)
        }
        return index
    }
}
