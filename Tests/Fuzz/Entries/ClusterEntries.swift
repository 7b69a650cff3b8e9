import CommitLog
import HTTP
import System

@testable import Admin
@testable import Fleet
@testable import Queue

/// The entries of a commit log, as a broker gives them back. A seed is a list of entries without
/// checksums: the bytes that follow a length.
enum CommitsEntry: FuzzEntry {
    static let name = "commits"
    static let bytesMax = 4096

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        try checkAlone(bytes)
        var reader = CommitAssembler(after: .start)
        var rest = bytes[...]
        var number: UInt64 = 0
        while let described = takeDescribed(&rest) {
            let written = described.entry.bytes
            try checkAlone(written)
            number += 1 + UInt64(described.gap)
            let before = reader
            let commit: Commit?
            do throws(CommitLogError) {
                commit = try reader.add(NumberedEntry(number: number, bytes: written))
            } catch {
                return
            }
            try checkOrder(before, reader, commit, at: number)
        }
    }

    private static func checkOrder(
        _ before: CommitAssembler,
        _ after: CommitAssembler,
        _ commit: Commit?,
        at number: UInt64
    ) throws(Contradiction) {
        try check(before.end.entry == 0 || number == before.end.entry + 1, "a gap was not seen")
        try check(after.end.entry == number, "the reader is elsewhere")
        try check(after.position.epoch >= before.position.epoch, "an epoch came back")
        guard let commit else { return try check(after.position == before.position, "it moved") }
        let isThere = after.position.entry == number && after.position.commit == commit.id.commit
        try check(isThere, "it is elsewhere")
        let isBefore = commit.start.entry < number && commit.start.commit + 1 == commit.id.commit
        try check(isBefore, "its start is not before it")
        let isNext = commit.id.commit == before.position.commit + 1
        try check(before.position.commit == 0 || isNext, "a commit is missing")
    }

    /// What can be read is written as it was.
    private static func checkAlone(_ bytes: [UInt8]) throws(Contradiction) {
        guard let entry = try? CommitEntry(bytes) else { return }
        try check(entry.part < entry.parts, "a part behind the last one")
        try check(entry.bytes == bytes, "it is written in another way")
    }

    private static func takeDescribed(
        _ rest: inout ArraySlice<UInt8>
    ) -> (entry: CommitEntry, gap: UInt8)? {
        guard rest.count >= 8 else { return nil }
        let head = Array(rest.prefix(8))
        rest = rest.dropFirst(8)
        let body = rest.prefix(Int(head[7] & 15))
        rest = rest.dropFirst(body.count)
        let kind = CommitEntry.Kind(rawValue: head[0] % 5 + 1) ?? .changes
        // The highest numbers, too: nothing may overflow.
        let commit = head[3] == 255 ? UInt64.max - UInt64(head[4]) : UInt64(head[4])
        let id = AppendID(writer: UInt64(head[1]), epoch: UInt64(head[2]), commit: commit)
        let parts = UInt32(head[5] >> 4) + 1
        let entry = CommitEntry(
            kind,
            schema: 1,
            id: id,
            part: UInt32(head[5] & 15),
            parts: parts,
            body: body
        )
        return (entry, head[6] & 1)
    }
}

/// What gateways of a cluster send each other: parts, messages, questions and answers.
enum MessagesEntry: FuzzEntry {
    static let name = "messages"
    static let bytesMax = 4096

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        var parts = MessageParts()
        _ = parts.add(bytes, .now)
        for part in MessageParts.cut(bytes, to: 1024).dropLast() { _ = parts.add(part, .now) }
        if let message = FleetMessage(bytes) {
            try check(FleetMessage(message.bytes) == message, "a message reads otherwise")
        }
        if let question = RelayedRequest(bytes) {
            try check(RelayedRequest(question.bytes) == question, "a question reads otherwise")
            _ = question.head.queryPairs
        }
        if let name = LetterName(String(decoding: bytes, as: UTF8.self)) {
            try check(LetterName(name.description) == name, "a name reads otherwise")
        }
        if let response = ClusterAnswer.response(bytes) { _ = ClusterAnswer.sums(response) }
    }
}
