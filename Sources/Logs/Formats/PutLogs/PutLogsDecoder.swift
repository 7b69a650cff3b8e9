/// Reads bodies of SLS's own PutLogs: one LogGroup, or several in packages. There is one for each
/// thread: it keeps its scratch memory.
///
/// Bytes that cannot be protobuf of this schema are refused with their position. Unknown fields are
/// skipped. The writer decides what a log may be: one bad log costs neither its request nor its
/// neighbours.
///
/// - A log without a time gets its arrival as time. Nanoseconds beyond a second are left out.
/// - A missing key or value is an empty one.
/// - Text that is not UTF-8 is repaired; a log of such text gets a mark.
/// - `Category` and `MachineUUID` are skipped: SLS shows neither, and no packet of ours has them.
package final class PutLogsDecoder {
    private var reader: PutLogsReader
    private let inflater = Inflater()

    /// The content of all packages so far, failed ones included.
    package var inflatedBytes: Int { inflater.producedBytes }

    package init(limits: LogLimits = LogLimits()) {
        reader = PutLogsReader(limits: limits)
    }

    package func decode(_ body: LogBody) throws(LogDecodingError) -> TrackedLogs {
        defer { reader.writer.shrink() }
        reader.writer.start(body.timing, body.rules)
        return try reader.group(body.bytes)
    }

    /// Applies other rules to logs that were read before.
    package func decode(
        _ logs: EncodedLogs,
        _ timing: BatchTiming,
        _ rules: LogRules
    ) throws(LogDecodingError) -> DecodedLogs {
        defer { reader.writer.shrink() }
        reader.writer.start(timing, rules, readBefore: true)
        return try logs.bytes.withUnsafeBufferPointer { bytes throws(LogDecodingError) in
            try reader.group(UnsafeRawBufferPointer(bytes)).logs
        }
    }

    /// Reads a list of packages (`x-log-mode: batch_group`), each a LogGroup of its own. The limits
    /// bound all of them together; packages are inflated one after the other.
    package func decodePackages(
        _ body: LogBody,
        inflating limit: InflateLimit = InflateLimit()
    ) throws(LogDecodingError) -> [TrackedLogs] {
        defer {
            reader.writer.shrink()
            inflater.shrink()
        }
        var groups: [TrackedLogs] = []
        var logs = 0
        var packages = PackageList(body.bytes, limits: reader.limits, limit)
        while let package = try packages.next() {
            let content = try packages.content(of: package, inflater)
            reader.writer.start(body.timing, body.rules, logsBefore: logs)
            do throws(LogDecodingError) {
                groups.append(try reader.group(content))
            } catch {
                throw packages.fault(package, at: error.position, error.reason)
            }
            logs += groups[groups.count - 1].logs.count
        }
        return groups
    }
}

/// Writes the logs of a LogGroup, in one pass over it.
struct PutLogsReader: ~Copyable {
    let limits: LogLimits
    var writer: LogWriter

    init(limits: LogLimits) {
        self.limits = limits
        writer = LogWriter(limits: limits)
    }

    mutating func group(_ bytes: UnsafeRawBufferPointer) throws(LogDecodingError) -> TrackedLogs {
        var tracked = TrackedLogs()
        var tags = GatheredTags()
        var fields = ProtobufReader(bytes)
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let range)):
                try writer.checkRoom(at: fields.start)
                if !writer.copy(log: UnsafeRawBufferPointer(rebasing: bytes[range])) {
                    try log(bytes, range, at: fields.start)
                }
            // Category and MachineUUID.
            case (2, .bytes), (5, .bytes): continue
            case (3, .bytes(let range)):
                let topic = fields.text(in: range)
                guard topic.utf8.count <= limits.topicBytes else {
                    throw fields.fault("Topic must not exceed \(limits.topicBytes) bytes")
                }
                tracked.topic = topic
            case (4, .bytes(let range)):
                let source = fields.text(in: range)
                guard source.utf8.count <= limits.sourceBytes else {
                    throw fields.fault("Source must not exceed \(limits.sourceBytes) bytes")
                }
                tracked.source = source
            case (6, .bytes(let range)):
                let tag = try TextPair(bytes, range, of: "LogTag")
                tags.addUnchecked(bytes.text(tag.key), bytes.text(tag.value), limits)
            case (1...6, _): throw fields.wrongType(field.field, of: "LogGroup")
            default: continue
            }
        }
        tracked.tags = tags.tags
        tracked.logs = writer.logs
        return tracked
    }

    /// A log that cannot be copied.
    @inline(never)
    private mutating func log(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        at start: Int
    ) throws(LogDecodingError) {
        var seconds: UInt64?
        var nanoseconds: UInt32 = 0
        var fields = ProtobufReader(bytes, in: range)
        writer.startLog()
        while let field = try fields.next() {
            switch field {
            case (1, .number(let number)): seconds = number
            case (2, .bytes(let range)):
                let content = try TextPair(bytes, range, of: "Content")
                writer.uncheckedField(
                    name: bytes.text(content.key),
                    value: bytes.text(content.value)
                )
            case (4, .fixed32(let number)): nanoseconds = number
            case (1, _), (2, _), (4, _): throw fields.wrongType(field.field, of: "Log")
            default: continue
            }
        }
        if let seconds {
            writer.time(
                seconds: seconds,
                nanoseconds: nanoseconds < 1_000_000_000 ? nanoseconds : 0
            )
        }
        try writer.endLog(at: start)
    }
}

/// The packages of a batch_group body (facts 1.5): `SlsLogPackageList`, whose packages have `data`
/// (1), `uncompress_size` (2) and `compress_type` (3).
struct PackageList {
    struct Package {
        fileprivate(set) var data: Range<Int>
        fileprivate(set) var rawBytes: Int?
        /// Nil when it is not compressed.
        fileprivate(set) var coding: ContentCoding?
    }

    private let body: UnsafeRawBufferPointer
    private let packagesMax: Int
    private var fields: ProtobufReader
    private var count = 0
    private let limit: InflateLimit
    /// The most content of all packages together, however the body is cut into them.
    private let bytesMax: Int
    private var bytesLeft: Int

    init(_ body: UnsafeRawBufferPointer, limits: LogLimits, _ limit: InflateLimit) {
        self.body = body
        packagesMax = limits.packages
        fields = ProtobufReader(body)
        self.limit = limit
        bytesMax = limit.allowance(for: body.count)
        bytesLeft = bytesMax
    }

    mutating func next() throws(LogDecodingError) -> Package? {
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let range)):
                guard count < packagesMax else {
                    throw fields.fault("the body has more than \(packagesMax) packages")
                }
                count += 1
                return try package(in: range)
            case (1, _): throw fields.wrongType(1, of: "SlsLogPackageList")
            default: continue
            }
        }
        return nil
    }

    private func package(in range: Range<Int>) throws(LogDecodingError) -> Package {
        // No compress_type means lz4.
        var package = Package(data: range.lowerBound..<range.lowerBound, coding: .lz4)
        var fields = ProtobufReader(body, in: range)
        while let field = try fields.next() {
            switch field {
            case (1, .bytes(let data)): package.data = data
            case (2, .number(let size)):
                guard let size = Int32(exactly: size) else {
                    throw fields.fault("uncompress_size is none that a package can have")
                }
                package.rawBytes = Int(size)
            case (3, .number(0)): package.coding = nil
            case (3, .number(1)): package.coding = .deflate
            case (3, .number(2)): package.coding = .lz4
            case (3, .number(3)): package.coding = .zstd
            case (3, .number): throw fields.fault("compress_type must be 0, 1, 2 or 3")
            case (1...3, _): throw fields.wrongType(field.field, of: "SlsLogPackage")
            default: continue
            }
        }
        return package
    }

    /// The LogGroup of a package, valid until the inflater's next call.
    mutating func content(
        of package: Package,
        _ inflater: Inflater
    ) throws(LogDecodingError) -> UnsafeRawBufferPointer {
        var content = UnsafeRawBufferPointer(rebasing: body[package.data])
        do throws(InflateError) {
            if let coding = package.coding {
                var limit = limit
                limit.bytes = bytesLeft
                content = try inflater.inflate(
                    content,
                    coding,
                    rawBytes: package.rawBytes,
                    limit: limit
                )
            } else if content.count > bytesLeft {
                throw .tooLarge(limit: bytesMax)
            }
        } catch {
            throw fault(package, at: 0, sentence(error), error.kind)
        }
        bytesLeft -= content.count
        return content
    }

    func fault(
        _ package: Package,
        at position: Int,
        _ reason: String,
        _ kind: LogDecodingError.Kind = .unreadable
    ) -> LogDecodingError {
        LogDecodingError(
            // A position in compressed content is not known.
            position: package.data.lowerBound + (package.coding == nil ? position : 0),
            reason: "package \(count): \(reason)",
            kind: kind
        )
    }

    private func sentence(_ error: InflateError) -> String {
        switch error {
        case .tooLarge: "the packages hold more than \(bytesMax) bytes; send smaller batches"
        case .suspiciousRatio(let ratio): "it inflates more than \(ratio)-fold"
        case .corrupt(let reason): reason
        case .noMemory: "\(error)"
        case .sizeMissing: "an lz4 package needs uncompress_size, the size of its content"
        case .sizeMismatch(let declared, _): "it does not hold the \(declared) bytes it should"
        }
    }
}

extension InflateError {
    fileprivate var kind: LogDecodingError.Kind {
        switch self {
        case .tooLarge, .suspiciousRatio: .tooLarge
        case .corrupt, .sizeMismatch, .sizeMissing: .notInflatable
        case .noMemory: .noMemory
        }
    }
}
