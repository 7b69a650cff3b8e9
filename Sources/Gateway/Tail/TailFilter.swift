import HTTP
import Logs
import Queue

/// Which logs somebody wants to see as they come.
struct TailFilter: Sendable, Equatable {
    var destination: String?
    var logstore: String?
    /// The topic, which is the tag of `/logs/{tag}` where the destination gives no other.
    var topic: String?
    /// Fields that a log must have, with these values where one is given.
    var fields: [Field] = []

    struct Field: Sendable, Equatable {
        var name: String
        var value: String?
    }

    static let fieldsMax = 8
    private static let known =
        "known here: destination, logstore, topic, field=NAME or field=NAME:VALUE"

    init() {}

    init(_ head: RequestHead) throws(Refusal) {
        func problem(_ reason: String) -> Refusal { Refusal(400, "ParameterInvalid", reason) }
        guard let pairs = head.queryPairs else { throw problem("the query cannot be read") }
        for (name, value) in pairs {
            switch name {
            case "destination": destination = value
            case "logstore": logstore = value
            case "topic": topic = value
            case "field":
                guard !value.isEmpty, fields.count < Self.fieldsMax else {
                    throw problem("at most \(Self.fieldsMax) fields, each as NAME or NAME:VALUE")
                }
                let sides = value.split(separator: ":", maxSplits: 1)
                fields.append(
                    Field(
                        name: sides.first.map(String.init) ?? value,
                        value: sides.count == 2 ? String(sides[1]) : nil
                    )
                )
            default: throw problem("\(clipped(name)) means nothing here; \(Self.known)")
            }
        }
    }

    /// Whether logs of the stream may be wanted at all.
    func admits(_ stream: StreamKey) -> Bool {
        (destination ?? stream.destination) == stream.destination
            && (logstore ?? stream.logstore) == stream.logstore
            && (topic ?? stream.trailer.topic) == stream.trailer.topic
    }

    func admits(_ entry: LogEntry) -> Bool {
        fields.allSatisfy { wanted in
            entry.fields.contains { key, value in
                key == wanted.name && (wanted.value ?? value) == value
            }
        }
    }
}
