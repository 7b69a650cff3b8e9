import Crypto
import Glibc
import Logs
import Routing
import System

// Content becomes part of a record only here, where it is masked.
extension CaptureRecord.Body {
    /// What is kept of a body.
    private static let bytesMax = 64 << 10

    /// Text, masked. The beginning alone where it is long, which is cut before it is masked: a secret's beginning is
    /// masked too. With a reason nothing is kept but size and hash.
    init(_ bytes: UnsafeRawBufferPointer, hides reason: String?) {
        let hash = hex(Digest.sha256(bytes))
        var beginning = Array(bytes.prefix(Self.bytesMax))
        let isCut = beginning.count < bytes.count
        // A character may be cut in two.
        while isCut, let last = beginning.last, last & 0xc0 == 0x80 || last >= 0xc0 {
            beginning.removeLast()
        }
        let isText = String(validating: beginning, as: UTF8.self) != nil
        guard reason == nil, isText else {
            let hidden = reason ?? "not text, so secrets in it cannot be found; see the logs"
            self.init(bytes: bytes.count, sha256: hash, text: nil, isCut: false, reason: hidden)
            return
        }
        let masked = Mask.text(in: beginning)
        self.init(
            bytes: bytes.count,
            sha256: hash,
            text: String(decoding: masked, as: UTF8.self),
            isCut: isCut,
            reason: masked == beginning ? nil : "secrets are masked"
        )
    }
}

extension CaptureRecord.Log {
    /// What a field of a log may have.
    private static let valueBytesMax = 8 << 10

    /// `fields` are those of the log as it came, the time first; `trace` is its way through the filters, if there are
    /// any. With `redacts` nothing is kept as it came.
    init(
        _ fields: CaptureRecord.Fields,
        _ trace: FilterTrace.Log?,
        tag: String,
        _ redacts: Bool,
        _ group: LogGroup,
        _ plans: TagPlans?
    ) {
        let destinations =
            group.target.isRouted
            ? plans?.plan(for: tag).destinations ?? [] : [group.target.destination]
        var reason: String?
        var after: CaptureRecord.Fields? = fields
        if let trace {
            after = trace.fields.map { [fields[0]] + $0 }
            switch trace.end {
            case .kept: break
            case .droppedBy(let filter):
                after = nil
                reason = "dropped by filters[\(filter)]"
            case .deadLetter(let fault): reason = "dead letter: \(fault.code): \(fault.message)"
            }
        }
        self.init(
            before: redacts ? nil : Self.masked(fields),
            after: after.map(Self.masked),
            tag: tag,
            destinations: after == nil ? [] : destinations,
            reason: reason
        )
    }

    private static func masked(_ fields: CaptureRecord.Fields) -> CaptureRecord.Fields {
        fields.map { name, value in
            if SecretNames.contains(name) { return (name, Mask.text(Array(value.utf8))) }
            let bytes = Array(value.utf8.prefix(valueBytesMax))
            let text = String(decoding: Mask.text(in: bytes), as: UTF8.self)
            let cut = value.utf8.count - bytes.count
            return (name, cut > 0 ? text + "… (\(cut) more bytes)" : text)
        }
    }
}

extension EncodedLogs {
    /// The time and the fields of each log.
    var entryFields: [CaptureRecord.Fields] {
        bytes.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            var all: [CaptureRecord.Fields] = []
            while let range = try? entries.next() {
                let log = UnsafeRawBufferPointer(rebasing: bytes[range])
                guard let entry = try? LogEntry(log) else { continue }
                let time = [(name: "__time__", value: "\(entry.time.seconds)")]
                all.append(time + entry.fields.map { (name: $0.key, value: $0.value) })
            }
            return all
        }
    }
}
