/// A reader of what strangers write, and what must hold of it whatever comes.
///
/// libFuzzer calls it with what it makes up, the suite with the seeds: so it keeps nothing from one
/// call to the next, and what it finds can be found again with the one input.
protocol FuzzEntry: SendableMetatype {
    /// Also that of its folder of seeds.
    static var name: String { get }
    /// Beyond that an input is only slower.
    static var bytesMax: Int { get }

    static func run(_ bytes: [UInt8]) throws(Contradiction)
}

extension FuzzEntry {
    static var bytesMax: Int { 4096 }
}

let fuzzEntries: [any FuzzEntry.Type] = [
    AlibabaEntry.self, AnswerEntry.self, BulkEntry.self, ChunkEntry.self, ConfigurationEntry.self,
    CommitsEntry.self, CredentialEntry.self, DNSJSONEntry.self, DNSMessageEntry.self,
    DNSQuestionEntry.self,
    FilterEntry.self, HeadEntry.self, InflateEntry.self, LineEntry.self, LokiEntry.self,
    LokiJSONEntry.self, MaskEntry.self, MessagesEntry.self, NATSEntry.self, NetworkEntry.self,
    OTLPEntry.self,
    OTLPJSONEntry.self,
    PackageEntry.self,
    PlainEntry.self, ProxyEntry.self, PutLogsEntry.self, QueryEntry.self, RequestEntry.self,
    SettingsEntry.self, SplunkEntry.self, StitchEntry.self, StoredEntry.self, TagPatternEntry.self,
    TencentEntry.self, TextPatternEntry.self, TimeEntry.self, TokenEntry.self, TrackingEntry.self,
]

/// Two readings of one input that should agree and do not, or a promise that was not kept.
struct Contradiction: Error, CustomStringConvertible {
    let description: String
}

func check(_ holds: Bool, _ promise: @autoclosure () -> String) throws(Contradiction) {
    guard holds else { throw Contradiction(description: promise()) }
}
