import Glibc
import Logs

/// A text of a draft: in the log as it came, among the program's own texts, or new.
struct DraftText {
    /// Offsets in the input from 0, in the program's texts from `programBase`; new text has
    /// negative ones.
    fileprivate(set) var offset: Int
    var count: Int

    fileprivate static let programBase = 1 << 40
    static let empty = DraftText(offset: programBase, count: 0)

    init(offset: Int, count: Int) {
        self.offset = offset
        self.count = count
    }

    init(ofProgram place: Range<Int>) {
        self.init(offset: Self.programBase + place.lowerBound, count: place.count)
    }

    /// Where the text ends in the input.
    var inputEnd: Int { offset + count }

    func part(_ range: Range<Int>) -> DraftText {
        // New text lies at the complement of its offset.
        let start = offset < 0 ? offset - range.lowerBound : offset + range.lowerBound
        return DraftText(offset: start, count: range.count)
    }
}

struct DraftField {
    var name: DraftText
    var value: DraftText
    /// The number of its name in the program, or `TextIndex.none`.
    var number: Int
    /// Where the encoded field starts in the input, or -1 when its name or value is another now.
    var start: Int
    var isRemoved = false
}

/// One log while filters change it: where its names and values lie, and the memory of new ones. The
/// memory is used for one log after the other; nothing is allocated for a log once it is large
/// enough.
final class LogDraft {
    private let texts: TextIndex
    private let limits: LogLimits

    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var inputStart: UnsafePointer<UInt8>
    /// Where the time starts, and what follows the fields.
    private var time = 0
    private var tail = 0..<0
    private let fields = DraftFields()
    private let newText: NewText
    private(set) var changes = 0
    /// The time that a step gave the log.
    private(set) var newTime: LogTime?
    /// nil: the logs are a device's, whose rules are the owner's.
    var work: TrialWork?
    /// What the program asks of the request that brought the logs.
    var requestParts: [[UInt8]?] = []

    init(_ texts: TextIndex, _ limits: LogLimits) {
        self.texts = texts
        self.limits = limits
        newText = NewText(most: 16 * max(limits.valueBytes, 4096))
        inputStart = texts.bytes
    }

    /// Begins a body, which must outlive the draft's use of it.
    func start(_ bytes: UnsafeRawBufferPointer) {
        input = bytes
        if let start = bytes.baseAddress { inputStart = start.assumingMemoryBound(to: UInt8.self) }
    }

    /// Forgets the body, and gives back what an unusual log needed.
    func end() {
        input = UnsafeRawBufferPointer(start: nil, count: 0)
        inputStart = texts.bytes
        fields.count = 0
        (newText.count, changes, newTime) = (0, 0, nil)
        newText.shrink(to: 256 << 10)
        fields.shrink(to: 1024)
    }

    /// False when a trial has too little work left. A device's logs pay for a comparison with nil.
    @inline(__always)
    func spend(_ units: @autoclosure () -> Int) -> Bool {
        guard let work else { return true }
        return work.spend(units())
    }

    // MARK: - Reading

    /// Reads an entry as `LogEntries` found it. Only the gateway's own encoding is understood: the
    /// time in five bytes, fields of a name and a value, perhaps nanoseconds.
    func read(_ entry: Range<Int>) throws(LogDecodingError) {
        fields.count = 0
        (newText.count, changes, newTime) = (0, 0, nil)
        precondition(entry.lowerBound >= 0 && entry.upperBound <= input.count)
        let end = entry.upperBound
        var place = entry.lowerBound + 1
        guard length(&place, end) == end - place, end - place >= 1 + Varint.timeSize,
            inputStart[place] == LogTag.time, inputStart[place + Varint.timeSize] < 0x80
        else {
            throw LogDecodingError(position: entry.lowerBound, reason: "a log starts with its time")
        }
        time = place
        place += 1 + Varint.timeSize
        while place < end, inputStart[place] == LogTag.contents {
            let start = place
            place += 1
            let size = length(&place, end)
            let fieldEnd = place + size
            guard size >= 0, size <= end - place, place < fieldEnd, inputStart[place] == PairTag.key
            else { throw broken(start) }
            place += 1
            let nameCount = length(&place, fieldEnd)
            let name = place
            guard nameCount >= 0, nameCount < fieldEnd - place,
                inputStart[place + nameCount] == PairTag.value
            else { throw broken(start) }
            place += nameCount + 1
            let valueCount = length(&place, fieldEnd)
            guard valueCount >= 0, valueCount == fieldEnd - place else { throw broken(start) }
            fields.append(
                DraftField(
                    name: DraftText(offset: name, count: nameCount),
                    value: DraftText(offset: place, count: valueCount),
                    number: texts.number(inputStart + name, nameCount),
                    start: start
                )
            )
            place = fieldEnd
        }
        guard place == end || end - place == 5 && inputStart[place] == LogTag.nanoseconds else {
            throw LogDecodingError(position: place, reason: "this is no field of a log")
        }
        tail = place..<end
    }

    private func broken(_ place: Int) -> LogDecodingError {
        LogDecodingError(position: place, reason: "a field is a name and a value")
    }

    /// A length below 2^35; -1 when it is broken.
    @inline(__always)
    private func length(_ place: inout Int, _ end: Int) -> Int {
        var (value, shift) = (0, 0)
        while place < end, shift < 35 {
            let byte = inputStart[place]
            place += 1
            value |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return -1
    }

    // MARK: - Fields

    var valueBytesMax: Int { limits.valueBytes }
    var topicBytesMax: Int { limits.topicBytes }
    var sourceBytesMax: Int { limits.sourceBytes }

    var fieldCount: Int { fields.count }

    @inline(__always)
    func field(_ index: Int) -> DraftField { fields[index] }

    /// The bytes of a text, valid until new text is written.
    @inline(__always)
    func bytes(_ text: DraftText) -> UnsafeBufferPointer<UInt8> {
        let start: UnsafePointer<UInt8>
        if text.offset < 0 {
            start = UnsafePointer(newText.start) + ~text.offset
        } else if text.offset < DraftText.programBase {
            start = inputStart + text.offset
        } else {
            start = texts.bytes + (text.offset - DraftText.programBase)
        }
        return UnsafeBufferPointer(start: start, count: text.count)
    }

    /// The field of this name; of several the last.
    @inline(__always)
    func index(of number: Int) -> Int? {
        var index = fields.count - 1
        while index >= 0 {
            if fields[index].number == number, !fields[index].isRemoved { return index }
            index -= 1
        }
        return nil
    }

    @inline(__always)
    func value(of number: Int) -> DraftText? {
        index(of: number).map { fields[$0].value }
    }

    func setTime(_ time: LogTime) {
        newTime = time
        changes += 1
    }

    func remove(_ index: Int) {
        fields.base[index].isRemoved = true
        changes += 1
    }

    func setValue(_ index: Int, _ value: DraftText) {
        fields.base[index].value = value
        fields.base[index].start = -1
        changes += 1
    }

    /// Gives the field of this name a value, or adds it as the last one.
    func set(_ name: NewName, _ value: DraftText) throws(StepFailure) {
        guard value.count <= limits.valueBytes else { throw .valueTooLong }
        var found: Int?
        for index in 0..<fields.count where has(name, index) {
            if let earlier = found { remove(earlier) }
            found = index
        }
        if let found {
            guard !isSame(fields[found].value, value) else { return }
            setValue(found, value)
        } else {
            try append(name, value)
        }
    }

    func append(_ name: NewName, _ value: DraftText) throws(StepFailure) {
        guard value.count <= limits.valueBytes else { throw .valueTooLong }
        guard name.text.count <= limits.keyBytes else { throw .nameTooLong }
        // Removed fields do not count. The fields are counted only where the list is long.
        guard fields.count < limits.fields || liveCount < limits.fields else {
            throw .tooManyFields
        }
        fields.append(DraftField(name: name.text, value: value, number: name.number, start: -1))
        changes += 1
    }

    /// Gives fields of one name another one. Fields that have it already are removed.
    func rename(_ number: Int, to name: NewName) throws(StepFailure) {
        guard let index = index(of: number), number != name.number else { return }
        guard name.text.count <= limits.keyBytes else { throw .nameTooLong }
        for other in 0..<fields.count where other != index {
            if has(name, other) || fields[other].number == number && !fields[other].isRemoved {
                remove(other)
            }
        }
        fields.base[index].name = name.text
        fields.base[index].number = name.number
        fields.base[index].start = -1
        changes += 1
    }

    private var liveCount: Int { (0..<fields.count).count { !fields[$0].isRemoved } }

    private func has(_ name: NewName, _ index: Int) -> Bool {
        let field = fields[index]
        guard !field.isRemoved, field.number == name.number else { return false }
        return name.number != TextIndex.none || isSame(field.name, name.text)
    }

    private func isSame(_ left: DraftText, _ right: DraftText) -> Bool {
        guard left.count == right.count else { return false }
        guard left.count > 0, let first = bytes(left).baseAddress,
            let second = bytes(right).baseAddress
        else { return true }
        return memcmp(first, second, left.count) == 0
    }

    /// A name that the program does not have.
    func newName(_ text: DraftText) -> NewName {
        let name = bytes(text)
        guard let start = name.baseAddress else {
            return NewName(text: text, number: TextIndex.none)
        }
        return NewName(text: text, number: texts.number(start, name.count))
    }

    // MARK: - Undoing

    /// Keeps the fields, and returns the number of changes, for `restore`. One at a time.
    func save() -> Int {
        fields.save()
        return changes
    }

    func restore(_ changes: Int) {
        fields.restore()
        self.changes = changes
    }

    // MARK: - New text

    /// Where the next new text starts.
    var textStart: Int { newText.count }

    /// Makes room, so that the bytes of texts stay in place while so many are written.
    func reserve(_ count: Int) throws(StepFailure) { try newText.reserve(count) }

    @inline(__always)
    func write(_ text: DraftText) throws(StepFailure) {
        try newText.reserve(text.count)
        newText.append(bytes(text))
    }

    func write(_ bytes: [UInt8]) throws(StepFailure) {
        try newText.reserve(bytes.count)
        bytes.withUnsafeBufferPointer { newText.append($0) }
    }

    func write(_ byte: UInt8, times count: Int = 1) throws(StepFailure) {
        try newText.reserve(count)
        newText.append(byte, times: count)
    }

    /// The text written since `textStart` was `start`.
    func text(from start: Int) -> DraftText {
        DraftText(offset: ~start, count: newText.count - start)
    }

    /// Takes back what was written since.
    func dropText(from start: Int) { newText.count = start }

    // MARK: - Writing

    /// The size of the log as it is now.
    var encodedBytes: Int {
        var size = 1 + Varint.timeSize + (newTime.map { $0.nanoseconds > 0 ? 5 : 0 } ?? tail.count)
        for index in 0..<fields.count where !fields[index].isRemoved { size += fields[index].size }
        return size
    }

    /// Writes the log as an entry and returns its bytes, which are valid until the next one.
    func encode(to memory: inout RawMemory) -> UnsafeBufferPointer<UInt8> {
        let size = encodedBytes
        memory.grow(to: 8 + size, keeping: 0)
        var place = memory.start
        place.pointee = GroupTag.logs
        place = Varint.write(size, to: place + 1)
        copy(time..<time + 1 + Varint.timeSize, to: &place)
        if let newTime { Varint.writePadded(newTime.seconds, to: place - Varint.timeSize) }
        for index in 0..<fields.count where !fields[index].isRemoved {
            let field = fields[index]
            if let encoded = field.encoded {
                copy(encoded, to: &place)
                continue
            }
            place.pointee = LogTag.contents
            place = Varint.write(field.contentSize, to: place + 1)
            place.pointee = PairTag.key
            place = Varint.write(field.name.count, to: place + 1)
            copy(bytes(field.name), to: &place)
            place.pointee = PairTag.value
            place = Varint.write(field.value.count, to: place + 1)
            copy(bytes(field.value), to: &place)
        }
        if let newTime {
            if newTime.nanoseconds > 0 {
                place.pointee = LogTag.nanoseconds
                for shift in 0..<4 {
                    place[1 + shift] = UInt8(truncatingIfNeeded: newTime.nanoseconds >> (8 * shift))
                }
                place += 5
            }
        } else {
            copy(tail, to: &place)
        }
        return UnsafeBufferPointer(start: memory.start, count: place - memory.start)
    }

    @inline(__always)
    private func copy(_ range: Range<Int>, to place: inout UnsafeMutablePointer<UInt8>) {
        place.update(from: inputStart + range.lowerBound, count: range.count)
        place += range.count
    }

    @inline(__always)
    private func copy(
        _ text: UnsafeBufferPointer<UInt8>,
        to place: inout UnsafeMutablePointer<UInt8>
    ) {
        guard let start = text.baseAddress else { return }
        place.update(from: start, count: text.count)
        place += text.count
    }
}
