/// Reads bodies of SLS's own PutLogs: one LogGroup, or several in packages. One for each thread: it
/// keeps its scratch memory.
///
/// What cannot be protobuf of this schema is refused with its place. Unknown fields are skipped. What
/// a log may be is the writer's to say: one bad log costs neither its request nor its neighbours.
///
/// - A log without a time happened when it arrived. Nanoseconds beyond a second are left out.
/// - A missing key or value is an empty one.
/// - Text that is not UTF-8 is repaired, where a log has it with a mark.
/// - `Category` and `MachineUUID` are skipped: SLS shows neither, and no packet of ours has them.
package final class PutLogsDecoder {
    /// What stays allocated between bodies.
    private static let keptBytes = 256 << 10

    private var walk: LogGroupWalk
    private let inflater = Inflater()

    /// Of all packages so far, those that failed included.
    package var inflatedBytes: Int { inflater.producedBytes }

    package init(limits: LogLimits = LogLimits()) {
        walk = LogGroupWalk(limits: limits)
    }

    /// Reads a LogGroup.
    package func decode(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules()
    ) throws(LogDecodingError) -> TrackedLogs {
        defer { walk.writer.shrink(to: Self.keptBytes) }
        do throws(ProtobufError) {
            walk.writer.start(timing, rules)
            return try walk.group(body)
        } catch {
            throw LogDecodingError(position: error.position, reason: error.reason)
        }
    }

    /// Reads a list of packages (`x-log-mode: batch_group`), each a LogGroup of its own. The limits are
    /// those of all of them together; packages are inflated one after the other.
    package func decodePackages(
        _ body: UnsafeRawBufferPointer,
        _ timing: BatchTiming,
        _ rules: LogRules = LogRules(),
        inflating limit: InflateLimit = InflateLimit()
    ) throws(LogDecodingError) -> [TrackedLogs] {
        defer {
            walk.writer.shrink(to: Self.keptBytes)
            inflater.shrink()
        }
        var groups: [TrackedLogs] = []
        var logs = 0
        var packages = PackageList(body, limits: walk.limits, limit)
        while let package = try packages.next() {
            let content = try packages.content(of: package, inflater)
            walk.writer.start(timing, rules, logsBefore: logs)
            do throws(ProtobufError) {
                groups.append(try walk.group(content))
            } catch {
                throw packages.fault(package, at: error.position, error.reason)
            }
            logs += groups[groups.count - 1].logs.count
        }
        return groups
    }
}
