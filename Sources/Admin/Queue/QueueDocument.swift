import Ingest
import JSON
import Logs
import Operations
import Queue
import System

extension QueueView {
    /// `GET /admin/queue`: the backlog, its bounds and its age.
    func write(_ json: inout JSONWriter) {
        let now = report.now
        json.member("queued_logs", report.queue.ledger.queued)
        json.object("queue") { $0.queue(report.queue, now: now) }
        json.object("destinations") { json in
            for destination in destinations {
                json.object(destination.name) { json in
                    json.member("queued_logs", destination.queue.ledger.queued)
                    json.backlog(destination.queue, now: now)
                    json.objects("outlets", destination.outlets) { json, outlet in
                        json.member("logstore", outlet.logstore)
                        json.member("queued_logs", outlet.queue.queued)
                        json.member("packets", outlet.queue.packets)
                        json.age("oldest_seconds", of: outlet.queue.oldest, now: now)
                    }
                    write(streams(of: destination.name), into: &json)
                }
            }
        }
    }

    private func write(_ streams: StreamListing.Destination?, into json: inout JSONWriter) {
        guard let streams else {
            json.member("streams", String?.none)
            return json.member("streams_more", Int?.none)
        }
        var more = streams.more
        json.array("streams") { json in
            for entry in streams.entries {
                guard json.bytes.count < bytesMax else {
                    more += 1
                    continue
                }
                json.object { $0.stream(entry, now: report.now) }
            }
        }
        json.member("streams_more", more)
    }
}

extension JSONWriter {
    fileprivate mutating func stream(_ entry: StreamListing.Entry, now: WallTime) {
        let names = StreamNames(entry.stream)
        member("logstore", names.logstore)
        member("topic", names.topic)
        member("source", names.source)
        // An array: a device may use a tag's name twice, and another order of tags is another
        // stream.
        objects("tags", names.tags) { json, tag in
            json.member("key", tag.key)
            json.member("value", tag.value)
        }
        member("tags_more", names.tagsLeft)
        member("queued_logs", entry.logs)
        member("raw_bytes", entry.rawBytes)
        member("packets", entry.packets)
        age("oldest_seconds", of: entry.oldest, now: now)
    }
}

/// The names of a stream without known secrets, cut to a bounded size.
struct StreamNames {
    static let scalarsMax = 256
    static let tagsMax = 32

    let logstore: String
    let topic: String
    let source: String
    let tags: [(key: String, value: String)]
    let tagsLeft: Int

    init(_ key: StreamKey) {
        logstore = Self.cut(key.logstore)
        topic = Self.cut(key.trailer.topic)
        source = Self.cut(key.trailer.source)
        let all = key.trailer.tags
        tags = all.prefix(Self.tagsMax).map { (Self.cut($0.key), Self.cut($0.value)) }
        tagsLeft = all.count - tags.count
    }

    private static func cut(_ text: String) -> String {
        // A long label was cut before it was stored, perhaps within a secret.
        let text = Mask.hidingKnownSecrets(in: text, isCut: true)
        let scalars = text.unicodeScalars
        guard scalars.count > scalarsMax else { return text }
        return String(scalars.prefix(scalarsMax)) + "…"
    }
}
