/// The texts that the fields of one record will have: those of its resource and its scope, which it
/// shares with its neighbours, and behind them its own.
///
/// Texts that are no UTF-8 are repaired here, those of a resource once and not with each record.
struct OTLPTexts: ~Copyable {
    var memory = TextMemory()

    private(set) var form = OTLPForm.whole
    private(set) var host = OTLPSharedText("host")
    private(set) var service = OTLPSharedText("service")
    private(set) var resource = OTLPSharedText("resource")
    private(set) var scopeName = OTLPSharedText("otlp.name")
    private(set) var scopeVersion = OTLPSharedText("otlp.version")
    /// Left out when a scope has none.
    private(set) var scopeAttributes = OTLPSharedText("otlp.attribute")
    /// Where the scope's texts start.
    private var scopeStart = 0
    /// Where the record's texts start.
    private(set) var recordStart = 0
    /// What a record repeats.
    private(set) var sharedBytes = 0

    /// What all records of the request together became so far. Each repeats what its resource says, so it
    /// may be far more than was sent.
    var written = 0
    /// What they may become.
    private(set) var bytesMax = Int.max
    /// Whether they would have become more.
    var isExceeded = false
    /// Whether the records that are being read have what they share as tags.
    var isApart = false
    /// What is complete.
    var groups: [TrackedLogs] = []
    /// How many of them have tags.
    var apartCount = 0

    mutating func startRequest(_ form: OTLPForm, atMost bytesMax: Int) {
        memory.start(atMost: bytesMax)
        self.form = form
        self.bytesMax = bytesMax
        (written, isExceeded, isApart, groups, apartCount) = (0, false, false, [], 0)
    }

    /// Forgets everything, and gives back what a large request needed.
    mutating func shrink(to bytes: Int) {
        memory.shrink(to: bytes)
        groups = []
    }

    mutating func startResource() {
        memory.cut(to: 0)
    }

    mutating func endResource(attributes: Range<Int>?, host: Range<Int>, service: Range<Int>) {
        self.host = settle(self.host, host)
        self.service = settle(self.service, service)
        // The exporter writes an empty object, which says nothing.
        let none = attributes == nil && form == .whole ? add("{}") : 0..<0
        resource = settle(resource, attributes ?? none)
        scopeStart = memory.count
    }

    mutating func noResource() {
        startResource()
        endResource(attributes: nil, host: 0..<0, service: 0..<0)
    }

    mutating func startScope() {
        memory.cut(to: scopeStart)
    }

    mutating func endScope(name: Range<Int>, version: Range<Int>, attributes: Range<Int>?) {
        scopeName = settle(scopeName, name)
        scopeVersion = settle(scopeVersion, version)
        scopeAttributes = settle(scopeAttributes, attributes ?? 0..<0)
        recordStart = memory.count
        sharedBytes =
            host.range.count + service.range.count + resource.range.count
            + scopeName.range.count + scopeVersion.range.count + scopeAttributes.range.count
    }

    mutating func noScope() {
        startScope()
        endScope(name: 0..<0, version: 0..<0, attributes: nil)
    }

    private mutating func settle(_ text: OTLPSharedText, _ range: Range<Int>) -> OTLPSharedText {
        var text = text
        let repaired = memory.repair(range)
        (text.range, text.isRepaired) = (repaired ?? range, repaired != nil)
        return text
    }

    mutating func startRecord() {
        memory.cut(to: recordStart)
    }

    /// Whether the texts, or what became of them, are more than they may be: the request is refused, or
    /// read again in the lean form.
    var isTooLarge: Bool { isExceeded || memory.isExceeded }

    mutating func add(_ text: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        let start = memory.count
        memory.append(text)
        return start..<memory.count
    }

    mutating func add(_ text: StaticString) -> Range<Int> {
        let start = memory.count
        memory.append(text)
        return start..<memory.count
    }

    /// An id of zeros is none (trace context, section 3.2.2.3).
    mutating func add(id: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        let start = memory.count
        if id.contains(where: { $0 != 0 }) { memory.append(hex: id) }
        return start..<memory.count
    }
}
