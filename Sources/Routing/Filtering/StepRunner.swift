import Logs

/// A filter that matches a tag, by its position among those that do.
struct MatchedFilter {
    let tag: TagState
    let position: Int
}

/// Performs the steps of filters on a draft.
final class StepRunner {
    enum Result {
        case goesOn
        case dropped
        case sampledOut
        case tagged(TagState)
        /// The log has another topic or source.
        case labelled(TagState)
        /// These logs go on in its place.
        case split(EncodedLogs)
    }

    private static let tagBytesMax = 128

    private let draft: LogDraft
    private let tags: TagStates
    private let tagWork: Int
    private var groups: [Range<Int>?] = []
    /// SplitMix64.
    private var random = UInt64.random(in: .min ... .max)
    var sender = SenderText()
    /// The bytes that the pieces of split logs of the present request may still take.
    var splitRoom = 0
    /// How many times the present log was split.
    var splits = 0
    private var encoded = RawMemory(capacity: 4096)

    init(_ draft: LogDraft, _ tags: TagStates, tagWork: Int) {
        self.draft = draft
        self.tags = tags
        self.tagWork = tagWork
    }

    /// Performs a step. When it throws, the log is as it was before, except for values that could
    /// not be redacted. `place` is the step's filter among those of the tag that led to it, for
    /// what its pattern captured.
    @inline(__always)
    func perform(
        _ action: FilterProgram.Action,
        _ tag: TagState,
        _ place: MatchedFilter
    ) throws(StepFailure) -> Result {
        guard draft.spend(64 + 4 * draft.fieldCount + action.work(draft)) else { throw .outOfWork }
        let written = draft.textStart
        defer { _ = draft.spend(8 * (draft.textStart - written)) }
        switch action {
        case .add(let assignments):
            try undoing(assignments.count > 1) { () throws(StepFailure) in
                for assignment in assignments
                where draft.index(of: assignment.name.number) == nil {
                    let value = try text(assignment.value, tag, place)
                    try draft.append(assignment.name, value)
                }
            }
        case .set(let assignments):
            try undoing(assignments.count > 1) { () throws(StepFailure) in
                for assignment in assignments {
                    let value = try text(assignment.value, tag, place)
                    try draft.set(assignment.name, value)
                }
            }
        case .rename(let renamings):
            try undoing(renamings.count > 1) { () throws(StepFailure) in
                for (old, new) in renamings { try draft.rename(old, to: new) }
            }
        case .remove(let fields):
            for index in 0..<draft.fieldCount where fields.selects(draft.field(index), in: draft) {
                draft.remove(index)
            }
        case .keep(let fields):
            for index in 0..<draft.fieldCount {
                let field = draft.field(index)
                if !field.isRemoved, !fields.selects(field, in: draft) { draft.remove(index) }
            }
        case .redact(let redactor): try redactor.apply(to: draft)
        case .parse(let parser):
            try undoing(true) { () throws(StepFailure) in try parser.apply(to: draft, &groups) }
        case .truncate(let fields, let bytes): truncate(fields, bytes)
        case .sample(let keep, let field): return isSampled(keep, field) ? .goesOn : .sampledOut
        case .drop: return .dropped
        case .tag(let template): return try retag(template, tag, place)
        case .split(let splitter): return try split(splitter)
        case .time(let field, let format):
            guard let value = draft.value(of: field) else { break }
            guard let time = format.time(draft.bytes(value)) else { throw .notTime }
            draft.setTime(time)
        case .topic(let template):
            var labels = tag.labels
            labels.topic = try label(template, tag, place, atMost: draft.topicBytesMax)
            return try relabel(tag, labels)
        case .source(let template):
            var labels = tag.labels
            labels.source = try label(template, tag, place, atMost: draft.sourceBytesMax)
            return try relabel(tag, labels)
        }
        return .goesOn
    }

    @inline(__always)
    private func undoing(
        _ isNeeded: Bool,
        _ body: () throws(StepFailure) -> Void
    ) throws(StepFailure) {
        guard isNeeded else { return try body() }
        let saved = draft.save()
        do {
            try body()
        } catch {
            draft.restore(saved)
            throw error
        }
    }

    private func truncate(_ fields: FieldSelector, _ bytes: Int) {
        for index in 0..<draft.fieldCount {
            let field = draft.field(index)
            guard field.value.count > bytes, fields.selects(field, in: draft) else { continue }
            let text = draft.bytes(field.value)
            guard let start = text.baseAddress else { continue }
            draft.setValue(index, field.value.part(0..<utf8Boundary(start, atMost: max(bytes, 0))))
        }
    }

    private func isSampled(_ keep: Int, _ field: Int?) -> Bool {
        let number: UInt64
        if let field, let value = draft.value(of: field) {
            number = stableHash(draft.bytes(value))
        } else {
            random &+= 0x9E37_79B9_7F4A_7C15
            var mixed = random
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            number = mixed ^ (mixed >> 31)
        }
        return Int(number.multipliedFullWidth(by: 1_000_000).high) < keep
    }

    // MARK: - Templates

    private func text(
        _ template: CompiledTemplate,
        _ tag: TagState,
        _ place: MatchedFilter
    ) throws(StepFailure) -> DraftText {
        if let constant = template.constant { return constant }
        let start = draft.textStart
        for part in template.parts {
            switch part {
            case .text(let text): try draft.write(text)
            case .field(let number):
                if let value = draft.value(of: number) { try draft.write(value) }
            case .tag: try draft.write(tag.tag)
            case .captured:
                try draft.write(place.tag.captured[place.position])
            case .clientIP: try draft.write(sender.clientIP)
            case .key: try draft.write(sender.key)
            case .receipt: try draft.write(sender.receipt)
            }
        }
        return draft.text(from: start)
    }

    // MARK: - Tags

    private func retag(
        _ template: CompiledTemplate,
        _ tag: TagState,
        _ place: MatchedFilter
    ) throws(StepFailure) -> Result {
        let new = draft.bytes(try text(template, tag, place))
        guard 1...Self.tagBytesMax ~= new.count, !new.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { throw .tag }
        if tag.isTag(new) { return .goesOn }
        guard draft.spend(tagWork) else { throw .outOfWork }
        guard let plain = tags.state(of: new) else { throw .tooManyTags }
        let state = tag.labels == .none ? plain : tags.state(plain, with: tag.labels)
        guard let state, tags.hasRoom(for: state) else { throw .tooManyTags }
        return .tagged(state)
    }

    private func label(
        _ template: CompiledTemplate,
        _ tag: TagState,
        _ place: MatchedFilter,
        atMost bytesMax: Int
    ) throws(StepFailure) -> [UInt8] {
        let text = try text(template, tag, place)
        guard text.count <= bytesMax else { throw .labelTooLong }
        return Array(draft.bytes(text))
    }

    private func relabel(_ tag: TagState, _ labels: NewLabels) throws(StepFailure) -> Result {
        guard labels != tag.labels else { return .goesOn }
        guard draft.spend(tagWork) else { throw .outOfWork }
        guard let state = tags.state(tag, with: labels), tags.hasRoom(for: state) else {
            throw .tooManyLabels
        }
        return .labelled(state)
    }

    // MARK: - Splitting

    private func split(_ splitter: FilterProgram.Splitter) throws(StepFailure) -> Result {
        guard splits < LogFilter.splitsMax else { throw .tooDeepSplit }
        defer { encoded.shrink(to: 256 << 10) }
        guard let pieces = try splitter.pieces(of: draft, atMost: splitRoom, &encoded) else {
            return .goesOn
        }
        splitRoom -= pieces.bytes.count
        return .split(pieces)
    }
}

enum StepFailure: Error {
    case nameTooLong, valueTooLong, tooManyFields, tooMuchText
    case notJSON, notPairs, noMatch, tooManyParsedFields
    case tag, tooManyTags
    case notArray, tooManyElements(most: Int), tooMuchSplit, tooDeepSplit
    case notTime, labelTooLong, tooManyLabels
    case noSecret, tooManyMatches, outOfWork

    var reason: String {
        switch self {
        case .nameTooLong: "the new name of a field is too long"
        case .valueTooLong: "the new value of a field is too long"
        case .tooManyFields: "the log would have too many fields"
        case .tooMuchText: "the filters write too much text for one log"
        case .notJSON: "the value is no JSON object"
        case .notPairs: "the value has no key=value pairs"
        case .noMatch: "the pattern does not match the value"
        case .tooManyParsedFields: "the value has more than \(Parsing.fieldsMax) fields"
        case .tag: "the new tag is not 1 to 128 bytes of printable text"
        case .tooManyTags: "the logs of the request would have too many different tags"
        case .notArray: "the value is no JSON array"
        case .tooManyElements(let most): "the array has more than \(most) elements"
        case .tooMuchSplit: "the logs of the request would grow too much when they are split"
        case .tooDeepSplit:
            "logs would be split more than \(LogFilter.splitsMax) times, one within the other"
        case .notTime: "the value is no time in this format"
        case .labelTooLong: "the new topic or source is too long"
        case .tooManyLabels:
            "the logs of the request would have too many different topics and sources"
        case .noSecret: "there is no filters_secret"
        case .tooManyMatches: "the pattern matches too often"
        case .outOfWork: "the trial needs too much work"
        }
    }
}
