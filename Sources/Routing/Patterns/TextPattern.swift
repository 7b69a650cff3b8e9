import CRE2

/// A regular expression in RE2's syntax. Its cost is linear in the text, whatever the text.
///
/// Pattern and text are UTF-8. A text that is not valid UTF-8 is searched too, but no character
/// class matches its invalid bytes.
package struct TextPattern: Sendable, Equatable {
    package static let bytesMax = 4096
    package static let groupsMax = Int(sluice_re2_spans_max) - 1

    package let text: String
    /// Named groups, in order.
    package let groups: [(name: String, number: Int)]
    private let expression: Expression

    package init(_ text: String) throws(PatternProblem) {
        let expression = try Expression(text)
        self.text = text
        self.expression = expression
        groups = (1...max(1, expression.groupCount)).compactMap { number in
            expression.name(ofGroup: number).map { (name: $0, number: number) }
        }
    }

    package static func == (left: Self, right: Self) -> Bool { left.text == right.text }

    /// The instructions that it compiles to: the measure of its memory, and of the time to compile
    /// it.
    package var instructions: Int { expression.instructions }

    /// The number of groups, named or not.
    package var groupCount: Int { expression.groupCount }

    /// The leftmost match at or after `from`.
    package func find(in text: UnsafeBufferPointer<UInt8>, from: Int = 0) -> Range<Int>? {
        var span = sluice_re2_span()
        guard expression.match(text, from: from, sluice_re2_anywhere, &span, count: 1) else {
            return nil
        }
        return span.start..<span.end
    }

    package func isMatch(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        expression.match(text, from: 0, sluice_re2_anywhere, nil, count: 0)
    }

    /// Finds the leftmost match. `ranges` gets the whole match and then each group by its number;
    /// nil is a group that took no part. Calls that pass the same array do not allocate.
    package func groups(
        in text: UnsafeBufferPointer<UInt8>,
        into ranges: inout [Range<Int>?]
    ) -> Bool {
        let count = 1 + expression.groupCount
        return withUnsafeTemporaryAllocation(of: sluice_re2_span.self, capacity: count) { spans in
            ranges.removeAll(keepingCapacity: true)
            let first = spans.baseAddress
            guard expression.match(text, from: 0, sluice_re2_anywhere, first, count: count) else {
                return false
            }
            for span in spans { ranges.append(span.start < 0 ? nil : span.start..<span.end) }
            return true
        }
    }
}

/// The owner of RE2's compiled form.
///
/// Sendable although it holds a pointer: the pattern never changes after `init`, and RE2 guards the
/// cache of states that its matches share.
final class Expression: @unchecked Sendable {
    /// RE2 falls back to a slower search where its cache of states would need more.
    static let memoryMax = 1 << 20

    let groupCount: Int
    let instructions: Int
    private let pointer: OpaquePointer

    init(_ text: String, memoryMax: Int = Expression.memoryMax) throws(PatternProblem) {
        guard text.utf8.count <= TextPattern.bytesMax else {
            throw PatternProblem(
                position: TextPattern.bytesMax,
                reason: "a regular expression has at most \(TextPattern.bytesMax) bytes"
            )
        }
        var text = text
        let created = text.withUTF8 { sluice_re2_create($0.baseAddress, $0.count, memoryMax) }
        guard let created else { throw PatternProblem(position: 0, reason: "memory is short") }
        var position = 0
        if let reason = sluice_re2_problem(created, &position) {
            defer { sluice_re2_destroy(created) }
            throw PatternProblem(position: position, reason: String(cString: reason))
        }
        pointer = created
        groupCount = Int(sluice_re2_groups(created))
        instructions = Int(sluice_re2_size(created))
        guard groupCount <= TextPattern.groupsMax else {
            throw PatternProblem(
                position: 0,
                reason: "\(groupCount) groups are more than \(TextPattern.groupsMax)"
            )
        }
    }

    deinit { sluice_re2_destroy(pointer) }

    func name(ofGroup number: Int) -> String? {
        sluice_re2_group_name(pointer, Int32(number)).map { String(cString: $0) }
    }

    func match(
        _ text: UnsafeBufferPointer<UInt8>,
        from: Int,
        _ anchor: sluice_re2_anchor,
        _ spans: UnsafeMutablePointer<sluice_re2_span>?,
        count: Int
    ) -> Bool {
        sluice_re2_match(
            pointer,
            text.baseAddress,
            text.count,
            from,
            anchor,
            spans,
            Int32(count)
        )
    }

    func matches(start text: UnsafeBufferPointer<UInt8>) -> Bool {
        match(text, from: 0, sluice_re2_at_start, nil, count: 0)
    }

    func matches(whole text: UnsafeBufferPointer<UInt8>) -> Bool {
        match(text, from: 0, sluice_re2_whole, nil, count: 0)
    }
}

/// Why a text is no pattern.
package struct PatternProblem: Error, Equatable, CustomStringConvertible {
    /// The byte at which it goes wrong.
    package let position: Int
    package let reason: String

    package init(position: Int, reason: String) {
        self.position = position
        self.reason = reason
    }

    package var description: String { "\(reason) (at byte \(position) of the pattern)" }
}
