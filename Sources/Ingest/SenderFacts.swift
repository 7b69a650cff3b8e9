import Configuration
import HTTP
import Logs
import Net

/// What was verified of the sender of one request, to be stamped on its logs.
///
/// It is put into logs that are encoded already: one place for all dialects, and no cost where a destination stamps
/// nothing. The fields are encoded once for a request and a destination, and copied into each log.
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

    /// Nil where the request shows nothing of the kind.
    private func value(of fact: SenderStamps.Fact) -> String? {
        switch fact {
        case .clientIP: clientIP?.description
        case .key: key
        case .subject: subject
        case .certificate: certificate
        case .receipt: String(decoding: receipt, as: UTF8.self)
        }
    }

    /// Stamps logs as their destinations ask for, and returns how many fields and tags of devices were removed because
    /// they have the name of a stamp.
    ///
    /// Fields may make the logs of a request `bytesMax` large together. Where very many small logs would become more,
    /// the stamps are tags of their stream, so that nothing is refused and nothing is missing.
    func stamp(_ parts: inout [TakenPart], atMost bytesMax: Int) -> Int {
        var (room, removed) = (bytesMax, 0)
        // Parts of one request mostly have one destination.
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

    private func encoded(_ stamps: SenderStamps) -> EncodedStamps {
        var fields: [(key: String, value: String)] = []
        var tags: [(key: String, value: String)] = []
        var all: [(key: String, value: String)] = []
        for label in stamps.labels {
            guard let value = value(of: label.fact) else { continue }
            if label.isTag {
                tags.append((label.name, value))
            } else {
                fields.append((label.name, value))
            }
            all.append((label.name, value))
        }
        let names = stamps.labels.map(\.name)
        // What a tag is called among fields.
        let withheld = names + names.map { FieldName.ofTag($0) }
        return EncodedStamps(
            names: names.map { Array($0.utf8) },
            fields: LogStamp(fields, withholding: withheld),
            tags: tags,
            noFields: LogStamp([], withholding: withheld),
            all: all
        )
    }
}

/// The stamps of one destination with the values of one request.
private struct EncodedStamps {
    let names: [[UInt8]]
    let fields: LogStamp
    let tags: [(key: String, value: String)]
    /// In place of both where fields would be too much.
    let noFields: LogStamp
    let all: [(key: String, value: String)]

    func stamp(_ part: inout TakenPart, atMost bytesMax: Int) -> Int {
        var (stamped, tags) = (fields.applied(to: part.logs, atMost: bytesMax), tags)
        if stamped == nil {
            stamped = noFields.applied(to: part.logs, atMost: .max)
            tags = all
        }
        let (trailer, tagsRemoved) = part.trailer.replacingTags(named: names, with: tags)
        part.trailer = trailer
        guard let stamped else { return tagsRemoved }
        part.logs = stamped.logs
        return stamped.removed + tagsRemoved
    }
}
