import Glibc

/// Finds personal data in text, in time linear in its length. Where a text is doubtful it counts as
/// found.
///
/// These kinds need what a regular expression has not: check digits, and looks at what stands
/// around.
struct PersonalDataFinder {
    private let text: UnsafeBufferPointer<UInt8>

    init(_ text: UnsafeBufferPointer<UInt8>) {
        self.text = text
    }

    /// The first at or after `start`, which is the start of the text or the end of the one found
    /// before.
    func find(_ kind: PersonalData, from start: Int) -> Range<Int>? {
        switch kind {
        case .email: email(from: start)
        case .phone: digits(from: start, phone)
        case .card: digits(from: start, card)
        case .idCard: digits(from: start, idCard)
        case .ip: address(from: start)
        case .jwt: token(from: start)
        }
    }

    // MARK: - Email

    private static let localMax = 64
    private static let domainMax = 255

    /// An `@`, or the `%40` of an address in a URL, with text before it and a domain after it.
    private func email(from start: Int) -> Range<Int>? {
        var place = start
        while place < text.count {
            var end = place + 1
            switch text[place] {
            case UInt8(ascii: "@"): break
            case UInt8(ascii: "%") where isAt(place, "%40"): end = place + 3
            default:
                place += 1
                continue
            }
            var first = place
            func hasMore() -> Bool { first > start && place - first < Self.localMax }
            while hasMore(), isRareInLocal(text[first - 1]) { first -= 1 }
            while hasMore(), isLocal(text[first - 1]) { first -= 1 }
            if first < place, let last = domain(from: end) { return first..<last }
            place = end
        }
        return nil
    }

    private func isLocal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "%"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "'"):
            true
        default: isLetter(byte) || isDigit(byte) || byte >= 0x80
        }
    }

    /// What a mailbox's name may have and other text has more often, such as `=`. It counts as a
    /// part of the name only directly before the `@`.
    private func isRareInLocal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "!"), UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "$"),
            UInt8(ascii: "&"), UInt8(ascii: "*"), UInt8(ascii: "/"), UInt8(ascii: "="),
            UInt8(ascii: "?"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"),
            UInt8(ascii: "|"), UInt8(ascii: "}"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// The end of labels with a dot between them, the last of at least two characters.
    private func domain(from start: Int) -> Int? {
        var place = start
        var label = start
        var end: Int?
        while place < text.count, place - start < Self.domainMax {
            let byte = text[place]
            if byte == UInt8(ascii: ".") {
                guard place > label else { break }
                label = place + 1
            } else if !isLetter(byte), !isDigit(byte), byte != UInt8(ascii: "-"), byte < 0x80 {
                break
            }
            place += 1
            if label > start, place - label >= 2 { end = place }
        }
        return end
    }

    // MARK: - Numbers

    /// The digits of a number, whose groups may stand apart, and where each stands.
    private struct Number {
        /// More than any number that is looked for has.
        static let digitsMax = 20
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var ends = InlineArray<20, Int>(repeating: 0)
        var count = 0
    }

    /// Looks at numbers that begin at each digit with none before it.
    private func digits(from start: Int, _ length: (Int, Number) -> Int?) -> Range<Int>? {
        var place = start
        while place < text.count {
            defer { place += 1 }
            let isStart = place == 0 || !isDigit(text[place - 1])
            guard isDigit(text[place]), isStart else { continue }
            if let end = length(place, number(from: place)) {
                let hasPlus = place > start && text[place - 1] == UInt8(ascii: "+")
                return (hasPlus ? place - 1 : place)..<end
            }
        }
        return nil
    }

    private func number(from start: Int, _ gap: Gap = .usual) -> Number {
        var number = Number()
        var place = start
        while place < text.count, number.count < Number.digitsMax {
            if isDigit(text[place]) {
                number.digits[number.count] = text[place] - 0x30
                number.ends[number.count] = place + 1
                number.count += 1
                place += 1
                continue
            }
            var next = place
            while next < text.count, next - place < gap.bytesMax, isSeparator(text[next], gap) {
                next += 1
            }
            guard next > place, next < text.count, isDigit(text[next]) else { break }
            place = next
        }
        return number
    }

    /// What may stand between two groups of digits.
    private enum Gap {
        case usual
        /// Also what dates and paths have, so the groups themselves must look like a card's.
        case wide

        var bytesMax: Int { self == .usual ? 2 : 3 }
    }

    private func isSeparator(_ byte: UInt8, _ gap: Gap) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "_"): gap == .wide
        case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "("),
            UInt8(ascii: ")"):
            true
        default: false
        }
    }

    /// Where the number ends after so many digits; nil when another digit follows at once.
    private func end(_ number: Number, _ count: Int) -> Int? {
        guard count <= number.count else { return nil }
        let end = number.ends[count - 1]
        return end < text.count && isDigit(text[end]) ? nil : end
    }

    private func card(_ start: Int, _ number: Number) -> Int? {
        let usual = card(number) { _ in true }
        let wide = self.number(from: start, .wide)
        guard wide.count >= 13 else { return usual }
        let other = card(wide) { hasLongGroups(wide, $0, from: start) }
        guard let usual, let other else { return usual ?? other }
        return max(usual, other)
    }

    private func card(_ number: Number, _ isGrouped: (Int) -> Bool) -> Int? {
        for count in stride(from: min(19, number.count), through: 13, by: -1) {
            if let end = end(number, count), isGrouped(count), hasLuhnDigit(number, count) {
                return end
            }
        }
        return nil
    }

    /// True when each group has three digits at least, as no day, month or minute has.
    private func hasLongGroups(_ number: Number, _ count: Int, from start: Int) -> Bool {
        var first = start
        for digit in 1..<count where number.ends[digit] > number.ends[digit - 1] + 1 {
            guard number.ends[digit - 1] - first >= 3 else { return false }
            first = number.ends[digit] - 1
        }
        return number.ends[count - 1] - first >= 3
    }

    private func hasLuhnDigit(_ number: Number, _ count: Int) -> Bool {
        var sum = 0
        for place in 0..<count {
            let digit = Int(number.digits[count - 1 - place])
            sum += place % 2 == 0 ? digit : digit < 5 ? 2 * digit : 2 * digit - 9
        }
        return sum > 0 && sum % 10 == 0
    }

    /// 18 characters without gaps, the last one a check digit (ISO 7064, MOD 11-2), where X is ten.
    private func idCard(_ start: Int, _ number: Number) -> Int? {
        guard number.count >= 17, number.ends[16] == start + 17, start + 17 < text.count else {
            return nil
        }
        let weights: InlineArray<17, Int> = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
        var sum = 0
        for place in 0..<17 { sum += Int(number.digits[place]) * weights[place] }
        let expected = (12 - sum % 11) % 11
        let last = text[start + 17]
        let found = last | 0x20 == UInt8(ascii: "x") ? 10 : isDigit(last) ? Int(last) - 0x30 : -1
        let end = start + 18
        let isLonger = found < 10 && end < text.count && isDigit(text[end])
        return found == expected && !isLonger ? end : nil
    }

    /// A number with a plus, a Chinese mobile or landline number, or ten digits in groups of three,
    /// three and four.
    private func phone(_ start: Int, _ number: Number) -> Int? {
        if start > 0, text[start - 1] == UInt8(ascii: "+") {
            for count in stride(from: min(15, number.count), through: 7, by: -1) {
                if let end = end(number, count) { return end }
            }
            return nil
        }
        for skipped in [0, 2, 4] where number.count >= skipped + 11 {
            let isPrefixed =
                switch skipped {
                case 0: true
                case 2: number.digits[0] == 8 && number.digits[1] == 6
                default:
                    number.digits[0] == 0 && number.digits[1] == 0 && number.digits[2] == 8
                        && number.digits[3] == 6
                }
            guard isPrefixed, number.digits[skipped] == 1, number.digits[skipped + 1] >= 3 else {
                continue
            }
            if let end = end(number, skipped + 11) { return end }
        }
        return grouped(start, number)
    }

    private func grouped(_ start: Int, _ number: Number) -> Int? {
        func hasGap(_ digit: Int) -> Bool { number.ends[digit] > number.ends[digit - 1] + 1 }
        if number.count >= 10, number.ends[2] == start + 3, hasGap(3),
            number.ends[5] == number.ends[3] + 2, hasGap(6), number.ends[9] == number.ends[6] + 3,
            let end = end(number, 10)
        {
            return end
        }
        // An area code of three or four digits, a gap, and seven or eight.
        guard number.count >= 10, number.digits[0] == 0 else { return nil }
        for area in [3, 4] where number.ends[area - 1] == start + area && hasGap(area) {
            for count in [8, 7] where number.count >= area + count {
                let last = number.ends[area + count - 1]
                if last == number.ends[area] + count - 1, let end = end(number, area + count) {
                    return end
                }
            }
        }
        return nil
    }

    // MARK: - Addresses

    /// The bytes of the longest IPv6 address.
    private static let addressMax = 45

    private func address(from start: Int) -> Range<Int>? {
        var place = start
        while place < text.count {
            let byte = text[place]
            guard isHex(byte) || byte == UInt8(ascii: ":") else {
                place += 1
                continue
            }
            let before = place > 0 ? text[place - 1] : 0
            if !isLetter(before), !isDigit(before), let end = version6(from: place) {
                return place..<end
            }
            if isDigit(byte), !isDigit(before), let end = version4(from: place) {
                return place..<end
            }
            place += 1
        }
        return nil
    }

    private func version4(from start: Int) -> Int? {
        var place = start
        for part in 0..<4 {
            if part > 0 {
                guard place < text.count, text[place] == UInt8(ascii: ".") else { return nil }
                place += 1
            }
            let first = place
            var value = 0
            while place < text.count, place - first < 3, isDigit(text[place]) {
                value = 10 * value + Int(text[place] - 0x30)
                place += 1
            }
            guard place > first, value < 256 else { return nil }
        }
        return place < text.count && isDigit(text[place]) ? nil : place
    }

    /// The longest address that starts here.
    private func version6(from start: Int) -> Int? {
        var end = start
        var colons = 0
        var digits = 0
        while end < text.count, end - start <= Self.addressMax {
            let byte = text[end]
            if byte == UInt8(ascii: ":") {
                colons += 1
            } else if isHex(byte) {
                digits += 1
            } else if byte != UInt8(ascii: ".") {
                break
            }
            // A second colon comes among the first six bytes of each address.
            if end - start == 10, colons < 2 { return nil }
            end += 1
        }
        guard colons >= 2, digits > 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Self.addressMax + 2) {
            copy in
            for place in start..<end {
                copy[place - start] = CChar(truncatingIfNeeded: text[place])
            }
            while end > start + 2 {
                let isEnd = end == text.count || !isLetter(text[end]) && !isDigit(text[end])
                copy[end - start] = 0
                var parsed = in6_addr()
                if isEnd, let name = copy.baseAddress, inet_pton(AF_INET6, name, &parsed) == 1 {
                    return end
                }
                end -= 1
            }
            return nil
        }
    }

    // MARK: - Tokens

    /// `eyJ`, which is `{"` in base64, and two or four more parts.
    private func token(from start: Int) -> Range<Int>? {
        var place = start
        while place + 3 <= text.count {
            guard isAt(place, "eyJ") else {
                place += 1
                continue
            }
            if let end = token(at: place) { return place..<end }
            // A later "eyJ" in the same run of such bytes would fail for the same reason.
            while place < text.count, isTokenByte(text[place]) { place += 1 }
        }
        return nil
    }

    private func token(at start: Int) -> Int? {
        var place = start
        var parts = 0
        while parts < 5 {
            let first = place
            while place < text.count, isTokenByte(text[place]) { place += 1 }
            // The signature of an unsigned token is empty.
            if place == first, parts < 2 { return nil }
            parts += 1
            guard place < text.count, text[place] == UInt8(ascii: "."), parts < 5 else { break }
            place += 1
        }
        return parts >= 3 ? place : nil
    }

    private func isTokenByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    // MARK: - Bytes

    private func isAt(_ place: Int, _ wanted: StaticString) -> Bool {
        guard place + wanted.utf8CodeUnitCount <= text.count, let start = text.baseAddress else {
            return false
        }
        return memcmp(start + place, wanted.utf8Start, wanted.utf8CodeUnitCount) == 0
    }

    private func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    private func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte | 0x20 }

    private func isHex(_ byte: UInt8) -> Bool { isDigit(byte) || 0x61...0x66 ~= byte | 0x20 }
}
