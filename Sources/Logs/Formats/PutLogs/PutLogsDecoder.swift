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
    /// The memory that stays allocated between bodies.
    private static let keptBytes = 256 << 10

    private var reader: PutLogsReader
    private let inflater = Inflater()

    /// The content of all packages so far, failed ones included.
    package var inflatedBytes: Int { inflater.producedBytes }

    package init(limits: LogLimits = LogLimits()) {
        reader = PutLogsReader(limits: limits)
    }

    /// Reads a LogGroup.
    package func decode(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules()
    ) throws(LogDecodingError) -> TrackedLogs {
        defer { reader.writer.shrink(to: Self.keptBytes) }
        do throws(ProtobufError) {
            reader.writer.start(timing, rules)
            return try reader.group(body)
        } catch {
            throw LogDecodingError(position: error.position, reason: error.reason)
        }
    }

    /// Applies other rules to logs that were read before.
    package func decode(
        _ logs: EncodedLogs,
        _ timing: BatchTiming,
        _ rules: LogRules
    ) throws(LogDecodingError) -> DecodedLogs {
        defer { reader.writer.shrink(to: Self.keptBytes) }
        let result = logs.bytes.withUnsafeBytes { bytes in
            Result { () throws(ProtobufError) in
                reader.writer.start(timing, rules, readBefore: true)
                return try reader.group(bytes).logs
            }
        }
        do throws(ProtobufError) {
            return try result.get()
        } catch {
            throw LogDecodingError(position: error.position, reason: error.reason)
        }
    }

    /// Reads a list of packages (`x-log-mode: batch_group`), each a LogGroup of its own. The limits
    /// bound all of them together; packages are inflated one after the other.
    package func decodePackages(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        inflating limit: InflateLimit = InflateLimit()
    ) throws(LogDecodingError) -> [TrackedLogs] {
        defer {
            reader.writer.shrink(to: Self.keptBytes)
            inflater.shrink()
        }
        var groups: [TrackedLogs] = []
        var logs = 0
        var packages = PackageList(body, limits: reader.limits, limit)
        while let package = try packages.next() {
            let content = try packages.content(of: package, inflater)
            reader.writer.start(timing, rules, logsBefore: logs)
            do throws(ProtobufError) {
                groups.append(try reader.group(content))
            } catch {
                throw packages.fault(package, at: error.position, error.reason)
            }
            logs += groups[groups.count - 1].logs.count
        }
        return groups
    }
}
