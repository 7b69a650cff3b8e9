import Crypto

/// Secrets that are known without a name: those that the process holds, JSON Web Tokens, and
/// private keys.
enum SecretValues {
    /// The beginnings of `{"` in base64, also with space between.
    private static let tokenStarts = ["eyJ", "eyA", "ewo", "ew0", "ewk"].map { Array($0.utf8) }
    /// Of PEM, SSH2, PuTTY and age.
    private static let keyStarts = [
        "-----BEGIN", "---- BEGIN", "PuTTY-User-Key", "AGE-SECRET-KEY-",
    ]
    .map { Array($0.utf8) }
    private static let keyEnds = ["-----END", "---- END"].map { Array($0.utf8) }
    private static let keyName = Array("PRIVATE KEY".utf8)

    /// In order, without overlaps. `isCut`: a token at the end may have lost its points.
    static func ranges(in text: [UInt8], isCut: Bool = false) -> [Range<Int>] {
        var ranges = text.withUnsafeBytes { KnownSecrets.ranges(in: $0, isCut: isCut) }
        // What follows a part of a token, or a key's beginning, decides for every place in it.
        var (tokensFrom, keysFrom) = (0, 0)
        for (place, byte) in text.enumerated() {
            if byte == UInt8(ascii: "e"), place >= tokensFrom,
                tokenStarts.contains(where: text[place...].starts)
            {
                tokensFrom = partEnd(in: text, place)
                if let end = tokenEnd(in: text, place, tokensFrom, isCut) {
                    ranges.append(place..<end)
                    tokensFrom = end
                }
            } else if byte == 0x2d || byte == 0x41 || byte == 0x50, place >= keysFrom,
                let end = keyEnd(in: text, place)
            {
                ranges.append(place..<end)
                keysFrom = end
            }
        }
        var merged: [Range<Int>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound < last.upperBound {
                merged[merged.count - 1] =
                    last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    private static func tokenEnd(
        in text: [UInt8],
        _ place: Int,
        _ firstPartEnd: Int,
        _ isCut: Bool
    ) -> Int? {
        var end = firstPartEnd
        guard end - place >= 10 else { return nil }
        if end == text.count { return isCut ? end : nil }
        var points = 0
        while end < text.count, text[end] == UInt8(ascii: "."), points < 4 {
            points += 1
            end = partEnd(in: text, end + 1)
        }
        return points > 0 ? end : nil
    }

    private static func partEnd(in text: [UInt8], _ place: Int) -> Int {
        text[place...].firstIndex {
            !((0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
                || $0 == 0x2d || $0 == 0x5f)
        } ?? text.count
    }

    /// Up to the line of the end, or all that follows.
    private static func keyEnd(in text: [UInt8], _ place: Int) -> Int? {
        guard let kind = keyStarts.firstIndex(where: text[place...].starts) else { return nil }
        guard kind < keyEnds.count else {
            return kind == 2 ? text.count : partEnd(in: text, place)
        }
        let starts = { (part: [UInt8]) in { (place: Int) in text[place...].starts(with: part) } }
        guard text[place...].prefix(48).indices.contains(where: starts(keyName)) else { return nil }
        let end = text.indices[place...].first(where: starts(keyEnds[kind]))
        return end.map { min(text.count, $0 + keyEnds[kind].count + 32) } ?? text.count
    }
}
