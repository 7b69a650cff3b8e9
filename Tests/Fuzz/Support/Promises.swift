import Logs

/// Logs of one stream, in a form that can be compared.
struct ReadGroup: Equatable {
    let logs: DecodedLogs
    let topic: String?
    let source: String?
    let tags: [[String]]
    let areTimed: Bool

    init(_ tracked: TrackedLogs) {
        logs = tracked.logs
        topic = tracked.topic
        source = tracked.source
        tags = tracked.tags.map { [$0.key, $0.value] }
        areTimed = tracked.areTimed
    }

    init(_ logs: DecodedLogs) { self.init(TrackedLogs(logs: logs)) }

    /// The logs that SLS gets.
    var group: [UInt8] {
        let tags = tags.map { (key: $0[0], value: $0[1]) }
        let trailer = GroupTrailer(topic: topic ?? "", source: source ?? "", tags: tags)
        return logs.sound.bytes + trailer.bytes(packID: "5B0C-1")
    }

    /// The promises that the queue, delivery and readers of dead letters rely on.
    func keepsPromises() throws(Contradiction) {
        try logs.sound.keepsPromises()
        for faulty in logs.faulty {
            try check(faulty.logs.count > 0, "logs set aside that are none")
            try faulty.logs.keepsPromises()
        }
        guard logs.sound.count > 0 else { return }
        let refusal = SandboxReading.refusal(of: group)
        try check(refusal == nil, "SLS would refuse the group: \(refusal ?? "")")
    }
}

extension EncodedLogs {
    fileprivate func keepsPromises() throws(Contradiction) {
        try check((try? LogEntries.count(bytes)) == count, "\(count) logs are not so many entries")
        let pieces = (try? self.pieces(atMost: 100)) ?? []
        try check(pieces.flatMap(\.bytes) == bytes, "pieces are not the whole")
        try check(pieces.reduce(0) { $0 + $1.count } == count, "pieces have other logs")
        try exactly(bytes) { bytes throws(Contradiction) in
            var entries = LogEntries(bytes)
            while let range = try? entries.next() {
                let entry = UnsafeRawBufferPointer(rebasing: bytes[range])
                try check((try? LogEntry(entry)) != nil, "a log cannot be read back")
            }
        }
        try takesFields()
    }

    /// As a tag of all becomes a field of each.
    private func takesFields() throws(Contradiction) {
        let room = bytes.count + 64 * count
        let logs = DecodedLogs(sound: self)
        guard let added = logs.adding([("__tag__:env", "prod")], atMost: room)?.sound else {
            throw Contradiction(description: "no room for a field where there is enough")
        }
        try check(added.count == count, "adding a field changes the number of logs")
        try check((try? LogEntries.count(added.bytes)) == count, "adding a field breaks entries")
    }
}

extension LogDecodingError {
    /// Who reads it looks for the place in what was sent.
    func isInside(_ body: [UInt8]) throws(Contradiction) {
        try check(0...body.count ~= position, "outside of \(body.count) bytes: \(self)")
    }
}

extension Result where Success == [ReadGroup], Failure == LogDecodingError {
    func keepsPromises(of body: [UInt8]) throws(Contradiction) {
        switch self {
        case .success(let groups): for group in groups { try group.keepsPromises() }
        case .failure(let error): try error.isInside(body)
        }
    }
}
