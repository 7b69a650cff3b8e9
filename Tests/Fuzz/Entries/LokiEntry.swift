import Logs

/// Loki's pushes as protobuf.
enum LokiEntry: FuzzEntry {
    static let name = "loki"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = LokiDecoder(limits: Fixed.limits)
        let read = try readTwice(body) { body throws(LogDecodingError) in
            try decoder.decode(body, Fixed.timing, Fixed.strict).map(ReadGroup.init)
        }
        try read.keepsPromises(of: body)
        try read.hasEachStreamOnce()
    }
}

/// Loki's pushes as JSON.
enum LokiJSONEntry: FuzzEntry {
    static let name = "loki-json"

    static func run(_ body: [UInt8]) throws(Contradiction) {
        let decoder = JSONLogDecoder(limits: Fixed.limits)
        for rules in [Fixed.strict, Fixed.mending] {
            let read = try readTwice(body) { body throws(LogDecodingError) in
                try decoder.decodeLoki(body, Fixed.timing, rules).map(ReadGroup.init)
            }
            try read.keepsPromises(of: body)
            try read.hasEachStreamOnce()
        }
    }
}

extension Result where Success == [ReadGroup], Failure == LogDecodingError {
    fileprivate func hasEachStreamOnce() throws(Contradiction) {
        guard case .success(let groups) = self else { return }
        let streams = groups.map { group in
            GroupTrailer(tags: group.tags.map { (key: $0[0], value: $0[1]) })
        }
        try check(Set(streams).count == streams.count, "a stream is there twice: \(groups)")
        try check(streams.count <= Fixed.limits.streams, "too many streams")
    }
}
