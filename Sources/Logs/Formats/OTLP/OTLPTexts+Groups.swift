// A request becomes one group of logs. In the lean form the records of a scope may become one of their own,
// with what they share as its tags.
extension OTLPTexts {
    /// Below that repeating is cheaper than a stream of its own.
    private static let cheapBytes = 16 << 10
    /// Groups with tags; what is beyond repeats.
    private static let apartMax = 1024

    /// So many records come next, which share what is known of resource and scope.
    mutating func startRecords(_ count: Int, _ writer: inout LogWriter) {
        guard form == .lean, count > 1, apartCount < Self.apartMax else { return }
        let (bytes, overflow) = (count - 1).multipliedReportingOverflow(by: sharedBytes)
        guard overflow || bytes > Self.cheapBytes else { return }
        closeGroup(&writer)
        isApart = true
        apartCount += 1
        written += sharedBytes
    }

    mutating func endRecords(_ writer: inout LogWriter) {
        guard isApart else { return }
        closeGroup(&writer)
        isApart = false
    }

    /// All that the request brought, when it has been read.
    mutating func finish(_ writer: inout LogWriter) -> [TrackedLogs] {
        closeGroup(&writer)
        return groups
    }

    private mutating func closeGroup(_ writer: inout LogWriter) {
        var logs = DecodedLogs()
        writer.move(to: &logs)
        guard logs.count > 0 else { return }
        groups.append(TrackedLogs(logs: logs, tags: isApart ? tags(writer.limits) : []))
    }

    private func tags(_ limits: LogLimits) -> [(key: String, value: String)] {
        var tags = GatheredTags()
        var repaired: [String] = []
        for text in [host, service, scopeName, scopeVersion, resource, scopeAttributes]
        where !text.range.isEmpty {
            let name = "\(text.name)"
            tags.add(name, String(decoding: memory.text(text.range), as: UTF8.self), limits)
            if text.isRepaired { repaired.append(name) }
        }
        if !repaired.isEmpty {
            tags.add("__invalid_utf8__", repaired.joined(separator: ","), limits)
        }
        return tags.tags
    }
}
