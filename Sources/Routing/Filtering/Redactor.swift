import Crypto
import Logs

/// Replaces in the values of fields what must not be stored. When it cannot look at a whole value,
/// or cannot write the new one, it empties the value.
struct Redactor {
    enum Replacement {
        case mask
        /// Fails without a key.
        case hash(Secret?)
        case text(DraftText)
    }

    /// All searches in one value together may scan this many times its length: each match may cost
    /// a scan to the end.
    private static let searchFactor = 256
    private static let searchMin = 16 << 20

    let fields: FieldSelector
    let what: Redaction.What
    let with: Replacement

    func apply(to draft: LogDraft) throws(StepFailure) {
        var failure: StepFailure?
        for index in 0..<draft.fieldCount {
            let field = draft.field(index)
            guard field.value.count > 0, fields.selects(field, in: draft) else { continue }
            do {
                if let value = try redacted(field.value, draft) { draft.setValue(index, value) }
            } catch {
                draft.setValue(index, .empty)
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// The new value; nil when nothing was found.
    private func redacted(
        _ value: DraftText,
        _ draft: LogDraft
    ) throws(StepFailure) -> DraftText? {
        if case .everything = what {
            let start = draft.textStart
            try replace(value, draft)
            return try bounded(draft.text(from: start), draft)
        }
        guard let first = try find(in: draft, value, from: 0) else { return nil }
        let start = draft.textStart
        var found: Range<Int>? = first
        var copied = 0
        var searched = 0
        while let match = found {
            // An empty match hides nothing.
            if !match.isEmpty {
                try draft.write(value.part(copied..<match.lowerBound))
                try replace(value.part(match), draft)
                copied = match.upperBound
            }
            let next = match.isEmpty ? after(match.upperBound, draft.bytes(value)) : copied
            guard next < value.count else { break }
            searched += value.count - next
            guard isSelfBounded || searched <= max(Self.searchMin, Self.searchFactor * value.count)
            else { throw .tooManyMatches }
            found = try find(in: draft, value, from: next)
        }
        try draft.write(value.part(copied..<value.count))
        return try bounded(draft.text(from: start), draft)
    }

    /// Personal data has a greatest length, so its search stops there.
    private var isSelfBounded: Bool {
        if case .known = what { true } else { false }
    }

    private func bounded(_ value: DraftText, _ draft: LogDraft) throws(StepFailure) -> DraftText {
        guard value.count <= draft.valueBytesMax else { throw .valueTooLong }
        return value
    }

    private func find(
        in draft: LogDraft,
        _ value: DraftText,
        from start: Int
    ) throws(StepFailure) -> Range<Int>? {
        let text = draft.bytes(value)
        switch what {
        case .everything: return 0..<text.count
        case .known(let kind):
            let found = PersonalDataFinder(text).find(kind, from: start)
            let end = found?.upperBound ?? text.count
            guard draft.spend(64 + 32 * (end - start)) else { throw .outOfWork }
            return found
        case .matches(let pattern):
            guard draft.spend(pattern.work(text.count - start)) else { throw .outOfWork }
            return pattern.find(in: text, from: start)
        }
    }

    /// The end of the character that starts here.
    private func after(_ place: Int, _ text: UnsafeBufferPointer<UInt8>) -> Int {
        var end = place + 1
        while end < text.count, text[end] & 0xC0 == 0x80 { end += 1 }
        return end
    }

    private func replace(_ text: DraftText, _ draft: LogDraft) throws(StepFailure) {
        guard draft.spend(1024 + 4 * text.count) else { throw .outOfWork }
        switch with {
        case .text(let replacement): try draft.write(replacement)
        case .mask:
            let characters = draft.bytes(text).count { $0 & 0xC0 != 0x80 }
            try draft.write(UInt8(ascii: "*"), times: characters)
        case .hash(let secret):
            guard let secret, secret.byteCount > 0 else { throw .noSecret }
            try draft.reserve(32)
            let digest = Self.hash(draft.bytes(text), secret)
            for place in 0..<16 {
                try draft.write(Self.digit(digest[place] >> 4))
                try draft.write(Self.digit(digest[place] & 15))
            }
        }
    }

    private static func hash(
        _ text: UnsafeBufferPointer<UInt8>,
        _ secret: Secret
    ) -> InlineArray<32, UInt8> {
        var digest = InlineArray<32, UInt8>(repeating: 0)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { place in
            guard let start = place.baseAddress else { return }
            secret.withBytes { Digest.hmacSHA256(key: $0, text, to: start) }
            for index in 0..<32 { digest[index] = place[index] }
        }
        return digest
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
