import Logs

/// Lists of LogGroups that are compressed one by one (`x-log-mode: batch_group`).
enum PackageEntry: FuzzEntry {
    static let name = "packages"

    private static let limit = InflateLimit(bytes: 64 << 10, ratio: 20, freeBytes: 8 << 10)

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = PutLogsDecoder(limits: Fixed.limits)
        let read = try readTwice(body) { body throws(LogDecodingError) in
            try decoder.decodePackages(body, Fixed.timing, Fixed.strict, inflating: limit)
                .map(ReadGroup.init)
        }
        try read.keepsPromises(of: body)
        guard case .success(let groups) = read else { return }
        let logs = groups.reduce(0) { $0 + $1.logs.count }
        try check(logs <= Fixed.limits.logs, "\(logs) logs, which are too many")
        try check(groups.count <= Fixed.limits.packages, "too many packages")
    }
}
