import Logs

/// OpenTelemetry's requests as protobuf.
enum OTLPEntry: FuzzEntry {
    static let name = "otlp"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = OTLPDecoder(limits: Fixed.limits)
        try runOTLP(body) { body, rules, bytesMax throws(LogDecodingError) in
            try decoder.decode(body, Fixed.timing, rules, atMost: bytesMax)
        }
    }
}

/// OpenTelemetry's requests as JSON.
enum OTLPJSONEntry: FuzzEntry {
    static let name = "otlp-json"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        try runOTLP(body) { body, rules, bytesMax throws(LogDecodingError) in
            try decoder.decodeOTLP(body, Fixed.timing, rules, atMost: bytesMax)
        }
    }
}

/// Once with room for what records repeat, and once without: no log is lost for that.
private func runOTLP(
    _ body: [UInt8],
    _ decode: (UnsafeRawBufferPointer, LogRules, Int) throws(LogDecodingError) -> [TrackedLogs]
) throws(Contradiction) {
    let rounds = [
        (Fixed.mending, 256 << 10), (Fixed.strict, 256 << 10), (Fixed.strict, 1 << 10),
        (Fixed.apart, 1 << 10),
    ]
    var counts: [Int] = []
    for (rules, bytesMax) in rounds {
        let read = try readTwice(body) { body throws(LogDecodingError) in
            try decode(body, rules, bytesMax).map(ReadGroup.init)
        }
        try read.keepsPromises(of: body)
        guard case .success(let groups) = read else { continue }
        let bytes = groups.reduce(0) { $0 + $1.logs.bytes }
        try check(bytes <= bytesMax, "\(bytes) bytes, where \(bytesMax) were allowed")
        counts.append(groups.reduce(0) { $0 + $1.logs.count })
    }
    try check(Set(counts).count <= 1, "how large it may be changes the logs: \(counts)")
}
