/// What a record of OTLP says. Texts are ranges in the memory of `OTLPTexts`.
struct OTLPRecord {
    /// Nanoseconds since 1970; zero is none.
    var time: UInt64 = 0
    var observedTime: UInt64 = 0
    var severityNumber: Int32 = 0
    var flags: UInt32 = 0
    var droppedAttributes: UInt32 = 0
    var severityText = 0..<0
    var attributes: Range<Int>?
    var body = 0..<0
    var traceID = 0..<0
    var spanID = 0..<0
    var eventName = 0..<0
}

/// A text that is settled: it is UTF-8, and stands in the memory of `OTLPTexts`.
struct OTLPText {
    var range = 0..<0
    /// True when it was no text as it came.
    var isRepaired = false
}

/// The texts of a resource and a scope, which records share with their neighbours. A resource's
/// texts are repaired once, and not with each record.
struct OTLPSharedTexts {
    var host = OTLPText()
    var service = OTLPText()
    var resource = OTLPText()
    var scopeName = OTLPText()
    var scopeVersion = OTLPText()
    var scopeAttributes = OTLPText()

    /// The size of all of them, which each record repeats.
    var bytes: Int {
        host.range.count + service.range.count + resource.range.count
            + scopeName.range.count + scopeVersion.range.count + scopeAttributes.range.count
    }
}
