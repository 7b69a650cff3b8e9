/// What a record of OTLP says besides its texts.
struct OTLPRecord {
    /// Nanoseconds since 1970; zero is none.
    var time: UInt64 = 0
    var observedTime: UInt64 = 0
    var severityNumber: Int32 = 0
    var flags: UInt32 = 0
    var droppedAttributes: UInt32 = 0
    // In the memory of the texts.
    var severityText = 0..<0
    var attributes: Range<Int>?
    var body = 0..<0
    var traceID = 0..<0
    var spanID = 0..<0
    var eventName = 0..<0
}
