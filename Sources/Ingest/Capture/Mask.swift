import Crypto
package import HTTP
package import Logs
import System

/// Replaces secrets before anything of a request is kept. Equal values get equal masks, so that they can be compared;
/// the key of the hash lives as long as the process, so a mask tells nothing about the value elsewhere.
package enum Mask {
    private static let key = randomBytes(32)

    package static func redacted(_ value: some Collection<UInt8>) -> String {
        let digest = Digest.hmacSHA256(key: key, Array(value))
        return "[redacted \(value.count) bytes #\(hex(digest.prefix(3)))]"
    }

    /// The headers that become fields or tags of a log.
    private static let logHeaders: Set = ["referer", "user-agent", "x-scope-orgid"]

    /// The fields of a head, in order, with their repetitions. `hidesLogs` masks what becomes part of a log, too.
    package static func fields(
        _ head: RequestHead,
        hidesLogs: Bool
    ) -> [(name: String, value: String)] {
        head.fields.map { field in
            let name = String(decoding: head.bytes[field.name], as: UTF8.self)
            let value = Array(head.bytes[field.value])
            let isHidden = hidesLogs && logHeaders.contains(name.lowercased())
            return (
                hidingKnownSecrets(in: name), isHidden ? redacted(value) : self.field(name, value)
            )
        }
    }

    /// The value of a header field, if its name is one of those that are shown.
    static func field(_ name: String, _ value: [UInt8]) -> String {
        SecretNames.shows(field: name) || value.isEmpty
            ? String(decoding: hidingSecrets(in: value), as: UTF8.self) : redacted(value)
    }

    /// A path as it was sent. `hidesLogs` masks the id of an Elasticsearch document, which becomes a field.
    /// `isCut`: a limit has cut its end.
    package static func path(_ path: String, hidesLogs: Bool, isCut: Bool = false) -> String {
        guard hidesLogs else { return hidingSecrets(in: path, isCut: isCut) }
        for verb in ["/_doc/", "/_create/"] {
            guard let range = path.firstRange(of: verb) else { continue }
            let id = path[range.upperBound...]
            let beginning = hidingSecrets(in: String(path[..<range.upperBound]))
            return id.isEmpty ? beginning : beginning + redacted(Array(id.utf8))
        }
        return hidingSecrets(in: path, isCut: isCut)
    }

    /// A query as it was sent, but for the values of secrets; `hidesLogs` masks every value. `isCut`: a limit has cut
    /// its end.
    package static func query(
        _ query: some Collection<UInt8>,
        hidesLogs: Bool = false,
        isCut isQueryCut: Bool = false
    ) -> String {
        query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { pair in
            let isCut = isQueryCut && pair.endIndex == query.endIndex
            let sides = pair.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            let name = String(decoding: sides[0], as: UTF8.self)
            guard sides.count == 2 else {
                return hidesLogs || hasSecret(sides[0], isCut: isCut)
                    ? redacted(sides[0]) : name
            }
            let plain = percentDecodedText(Array(sides[0])[...]) ?? name
            guard !hasSecret(sides[0]) else { return "\(redacted(sides[0]))=\(redacted(sides[1]))" }
            guard hidesLogs || SecretNames.contains(plain) || hasSecret(sides[1], isCut: isCut)
            else {
                return "\(name)=\(String(decoding: sides[1], as: UTF8.self))"
            }
            return "\(name)=\(redacted(sides[1]))"
        }.joined(separator: "&")
    }

    /// True for a percent-encoded value that holds a secret, in an address of a page or in JSON.
    private static func hasSecret(_ value: some Collection<UInt8>, isCut: Bool = false) -> Bool {
        // A short word has room for no secret and no name of one.
        if value.count < KnownSecrets.bytesMin, value.allSatisfy(isWordByte) { return false }
        let bytes = value.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
        // Bytes that are not UTF-8 cannot be searched, so they are hidden.
        guard let plain = percentDecodedText(bytes[...]) else { return true }
        let inner = Array(plain.utf8)
        return hidingSecrets(in: inner, isCut: isCut) != inner
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
            || byte == UInt8(ascii: "_")
    }

    package static func hidingSecrets(in text: String, isCut: Bool = false) -> String {
        String(decoding: hidingSecrets(in: Array(text.utf8), isCut: isCut), as: UTF8.self)
    }

    /// Text with the values of secrets replaced: values behind a secret's name, the process's own secrets, JSON Web
    /// Tokens and private keys. `isCut`: a limit has cut its end.
    package static func hidingSecrets(in bytes: [UInt8], isCut: Bool = false) -> [UInt8] {
        masked(bytes[...], depth: 0, isCut: isCut).output
    }

    /// Names of members that name a value beside them, as in OTLP's attributes.
    static let labelNames: Set = ["key", "name", "k", "label", "field", "header", "attribute"]
    /// Strings within strings that are looked into. A deeper one that may have a name is masked as a whole.
    private static let depthMax = 4

    static func masked(
        _ bytes: ArraySlice<UInt8>,
        depth: Int,
        isCut: Bool = false
    ) -> (output: [UInt8], count: Int) {
        if depth > depthMax, bytes.contains(where: { ":=\"%".utf8.contains($0) }) {
            return (Array(redacted(bytes).utf8), 1)
        }
        var (output, count): ([UInt8], Int)
        if let json = JSONMask(bytes, depth: depth, isCut: isCut) {
            (output, count) = (json.output, json.count)
        } else {
            (output, count) = lines(of: bytes, depth: depth, isCut: isCut)
        }
        let found = SecretValues.ranges(in: output, isCut: isCut)
        return (replacing(found, in: output), count + found.count)
    }

    /// `ranges` are in order, without overlaps.
    private static func replacing(_ ranges: [Range<Int>], in bytes: [UInt8]) -> [UInt8] {
        guard !ranges.isEmpty else { return bytes }
        var output: [UInt8] = []
        var copied = 0
        for range in ranges {
            output += bytes[copied..<range.lowerBound]
            output += Array(redacted(bytes[range]).utf8)
            copied = range.upperBound
        }
        return output + bytes[copied...]
    }

    /// Line by line, so that damage in one does not hide a secret in the next. A value that does not end on its line
    /// hides the rest of the text.
    private static func lines(
        of bytes: ArraySlice<UInt8>,
        depth: Int,
        isCut: Bool
    ) -> (output: [UInt8], count: Int) {
        var (output, count): ([UInt8], Int) = ([], 0)
        var place = bytes.startIndex
        var spill = SecretScanner.Spill.nothing
        while place < bytes.endIndex {
            if spill == .rest { return (output + Array(redacted(bytes[place...]).utf8), count + 1) }
            let end = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
            let isAll = place == bytes.startIndex && end == bytes.endIndex
            let line = bytes[place..<end]
            if spill == .nextLine {
                (output, count, spill) = (output + Array(redacted(line).utf8), count + 1, .nothing)
            } else if !isAll, let json = JSONMask(line, depth: depth) {
                (output, count) = (output + json.output, count + json.count)
            } else {
                let masked = self.line(line, isCut: isCut && end == bytes.endIndex)
                (output, count, spill) = (
                    output + masked.output, count + masked.count, masked.spill
                )
            }
            if end < bytes.endIndex { output.append(UInt8(ascii: "\n")) }
            place = min(end + 1, bytes.endIndex)
        }
        return (output, count)
    }

    /// A line that hides more secrets behind escapes than it shows is masked as a whole.
    private static func line(
        _ line: ArraySlice<UInt8>,
        isCut: Bool
    ) -> (output: [UInt8], count: Int, spill: SecretScanner.Spill) {
        var scanner = SecretScanner(line)
        scanner.scan()
        let percent =
            line.contains(UInt8(ascii: "%")) ? percentDecoded(line, keepsMalformed: true) : nil
        for plain in [unescaped(line), percent].compactMap(\.self) where plain != Array(line) {
            var inner = SecretScanner(plain[...])
            inner.scan()
            let isKnown =
                SecretValues.ranges(in: plain, isCut: isCut).count
                > SecretValues.ranges(in: Array(line), isCut: isCut).count
            guard inner.count > scanner.count || isKnown else { continue }
            return (Array(redacted(line).utf8), inner.count, inner.spill)
        }
        return (scanner.output, scanner.count, scanner.spill)
    }

    /// The text without JSON's escapes of visible ASCII, at any depth of strings.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        guard bytes.contains(UInt8(ascii: "\\")) else { return Array(bytes) }
        var output: [UInt8] = []
        var place = bytes.startIndex
        while place < bytes.endIndex {
            let rest = bytes[place...]
            let slashes = rest.prefix { $0 == UInt8(ascii: "\\") }.count
            let code = rest.dropFirst(slashes)
            let digits = code.dropFirst().prefix(4)
            let unit = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            if slashes > 0, code.first == UInt8(ascii: "u"), digits.count == 4, let unit,
                (0x20...0x7e).contains(unit)
            {
                output.append(unit)
                place += slashes + 5
            } else if slashes > 0, code.first == UInt8(ascii: "/") {
                output.append(UInt8(ascii: "/"))
                place += slashes + 1
            } else {
                output += rest.prefix(max(slashes, 1))
                place += max(slashes, 1)
            }
        }
        return output
    }

    /// A log without the process's secrets, tokens and private keys.
    package static func hidingKnownSecrets(in entry: LogEntry) -> LogEntry {
        LogEntry(
            time: entry.time,
            fields: entry.fields.map {
                (hidingKnownSecrets(in: $0.key), hidingKnownSecrets(in: $0.value))
            }
        )
    }

    /// Text without them. Names are not looked at. `isCut`: a limit has cut its end, or ends of texts that it quotes.
    package static func hidingKnownSecrets(in text: String, isCut: Bool = false) -> String {
        let bytes = Array(text.utf8)
        let found = SecretValues.ranges(in: bytes, isCut: isCut)
        return found.isEmpty ? text : String(decoding: replacing(found, in: bytes), as: UTF8.self)
    }
}
