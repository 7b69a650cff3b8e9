/// Topic, source and tags that the logs of a LogGroup share, as the bytes that end it.
package struct GroupTrailer: Hashable, Sendable {
    /// Encoded Topic (3), Source (4) and LogTags (6), in that order; empty when there are none.
    package let bytes: [UInt8]

    /// All bytes at once: an array hashes them one by one.
    package func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// For the bytes of an earlier trailer, as they come back from storage.
    package init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// An empty topic or source is left out. Tags keep the given order: trailers that differ in it
    /// are different streams.
    package init(
        topic: String = "",
        source: String = "",
        tags: [(key: String, value: String)] = []
    ) {
        var bytes: [UInt8] = []
        if !topic.isEmpty { bytes.append(textTagged: GroupTag.topic, topic.utf8) }
        if !source.isEmpty { bytes.append(textTagged: GroupTag.source, source.utf8) }
        for (key, value) in tags {
            bytes.append(pairTagged: GroupTag.logTags, key: key, value: value)
        }
        self.bytes = bytes
    }

    /// A copy without its own tags of these names, and with these tags at the end; also how many
    /// were removed. Names are compared as bytes: comparing text may take long, and a device
    /// chooses it.
    package func replacingTags(
        named names: [[UInt8]],
        with tags: [(key: String, value: String)]
    ) -> (trailer: GroupTrailer, removed: Int) {
        var (kept, removed): ([UInt8], Int) = ([], 0)
        kept.reserveCapacity(bytes.count)
        bytes.withUnsafeBytes { bytes in
            var fields = ProtobufReader(bytes)
            var start = 0
            while let field = try? fields.next() {
                if case (6, .bytes(let range)) = field,
                    let tag = try? TextPair(bytes, range, of: "LogTag"),
                    names.contains(where: { $0.elementsEqual(bytes[tag.key]) })
                {
                    removed += 1
                } else {
                    kept.append(contentsOf: bytes[start..<fields.position])
                }
                start = fields.position
            }
        }
        for (key, value) in tags {
            kept.append(pairTagged: GroupTag.logTags, key: key, value: value)
        }
        return (GroupTrailer(bytes: kept), removed)
    }

    /// The end of a packet: this trailer and the packet's id as one more tag.
    package func bytes(packID: String) -> [UInt8] {
        var ending = bytes
        ending.append(pairTagged: GroupTag.logTags, key: "__pack_id__", value: packID)
        return ending
    }

    // MARK: - For status pages and dead letters

    // Only a damaged store has bytes that do not parse. They end the reading; the part before them
    // is still shown.

    package var topic: String { text(ofField: 3) }
    package var source: String { text(ofField: 4) }

    package var tags: [(key: String, value: String)] {
        bytes.withUnsafeBytes { bytes in
            var tags: [(key: String, value: String)] = []
            var fields = ProtobufReader(bytes)
            while let field = try? fields.next() {
                guard case (6, .bytes(let range)) = field else { continue }
                guard let tag = try? fields.pair(in: range) else { break }
                tags.append(tag)
            }
            return tags
        }
    }

    private func text(ofField number: Int) -> String {
        bytes.withUnsafeBytes { bytes in
            var found = ""
            var fields = ProtobufReader(bytes)
            while let (field, value) = try? fields.next() {
                guard field == number, case .bytes(let range) = value else { continue }
                found = fields.text(in: range)
            }
            return found
        }
    }
}
