import Configuration
import HTTP
import Logs
import Net
import System

/// The verified facts about the sender of one request, to be stamped on its logs.
///
/// They are added to logs that are encoded already: one place serves all dialects, and a
/// destination without stamps costs nothing. The fields are encoded once for each request and
/// destination, and copied into each log.
struct SenderFacts {
    let clientIP: IPAddress?
    let key: String?
    let subject: String?
    let certificate: String?
    let receipt: [UInt8]

    init(_ head: RequestHead, _ proven: ProvenSender?, _ proxies: [AddressRange], receipt: [UInt8])
    {
        clientIP = head.clientAddress(behind: proxies)
        key = proven?.sender.name
        subject = proven?.subject
        certificate = head.peer.clientNames.first
        self.receipt = receipt
    }

    /// The facts of a captured request. Neither certificates nor tokens are kept of it.
    init(address: String, key: String?, receipt: [UInt8]) {
        clientIP = IPAddress(address)
        self.key = key
        subject = nil
        certificate = nil
        self.receipt = receipt
    }

    /// nil when the request has no such fact.
    private func value(of fact: SenderStamps.Fact) -> String? {
        switch fact {
        case .clientIP: clientIP?.description
        case .key: key
        case .subject: subject
        case .certificate: certificate
        case .receipt: String(decoding: receipt, as: UTF8.self)
        }
    }

    /// Adds the stamps of each destination to its logs. Returns how many fields and tags of devices
    /// were removed because they have the name of a stamp.
    ///
    /// Fields may make the logs of a request `bytesMax` large together. When very many small logs
    /// would exceed that, the stamps become tags of the stream, so that nothing is refused and
    /// nothing is missing.
    func stamp(_ parts: inout [TakenPart], atMost bytesMax: Int) -> Int {
        for index in parts.indices { nameClient(&parts[index]) }
        var (room, removed) = (bytesMax, 0)
        // The parts of one request mostly have the same destination.
        var last: (stamps: SenderStamps, encoded: EncodedStamps)?
        for index in parts.indices {
            let stamps = parts[index].target.intake.stamps
            guard !stamps.isEmpty else {
                room -= parts[index].logs.bytes
                continue
            }
            if last?.stamps != stamps { last = (stamps, encoded(stamps)) }
            guard let encoded = last?.encoded else { continue }
            removed += encoded.stamp(&parts[index], atMost: room)
            room -= parts[index].logs.bytes
        }
        return removed
    }

    /// Puts the client's address into a source that the destination gives.
    private func nameClient(_ part: inout TakenPart) {
        let source = part.target.labels.source
        guard part.target.site.sourceNamesClient, part.trailer.source == source else { return }
        let address = clientIP?.description ?? ""
        part.trailer = GroupTrailer(
            topic: part.trailer.topic,
            source: source.replacing(Destination.Labels.clientIP, with: address)
                .prefix(bytes: LogLimits().sourceBytes),
            tags: part.trailer.tags
        )
    }

    private func encoded(_ stamps: SenderStamps) -> EncodedStamps {
        let known = stamps.labels.compactMap { label in
            value(of: label.fact).map { (isTag: label.isTag, field: (key: label.name, value: $0)) }
        }
        let names = stamps.labels.map(\.name)
        // The names of tags that became fields.
        let withheld = names + names.map { FieldName.ofTag($0) }
        return EncodedStamps(
            names: names.map { Array($0.utf8) },
            fields: AddedFields(known.filter { !$0.isTag }.map(\.field), replacing: withheld),
            tags: known.filter(\.isTag).map(\.field),
            noFields: AddedFields([], replacing: withheld),
            all: known.map(\.field)
        )
    }
}

/// The stamps of one destination, with the values of one request.
private struct EncodedStamps {
    let names: [[UInt8]]
    let fields: AddedFields
    let tags: [(key: String, value: String)]
    /// Used instead of `fields` and `tags` when fields would be too large.
    let noFields: AddedFields
    let all: [(key: String, value: String)]

    func stamp(_ part: inout TakenPart, atMost bytesMax: Int) -> Int {
        var (stamped, tags) = (fields.added(to: part.logs, atMost: bytesMax), tags)
        if stamped == nil {
            stamped = noFields.added(to: part.logs, atMost: .max)
            tags = all
        }
        let (trailer, tagsRemoved) = part.trailer.replacingTags(named: names, with: tags)
        part.trailer = trailer
        guard let stamped else { return tagsRemoved }
        part.logs = stamped.logs
        return stamped.removed + tagsRemoved
    }
}
