/// How the records of a request are written.
enum OTLPForm {
    /// As the Collector's exporter does: each repeats what its resource and its scope say, and has a field
    /// for whatever it might say.
    case whole
    /// For requests that would become too large so. What many records would repeat are tags of theirs, and
    /// what a record does not say is left out.
    case lean

    /// Reads a request whole, and again if that would be too large.
    static func wholeElseLean(
        _ read: (OTLPForm) throws(LogDecodingError) -> [TrackedLogs]
    ) throws(LogDecodingError) -> [TrackedLogs] {
        do throws(LogDecodingError) {
            return try read(.whole)
        } catch {
            guard error.kind == .tooLarge else { throw error }
            return try read(.lean)
        }
    }
}

/// A text of a resource or a scope.
struct OTLPSharedText {
    let name: StaticString
    var range = 0..<0
    /// Whether it was no text as it came.
    var isRepaired = false

    init(_ name: StaticString) { self.name = name }
}
