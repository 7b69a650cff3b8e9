/// Parses server-sent events (WHATWG HTML, section 9.2) from pieces, in bounded memory.
struct EventStream {
    struct Event: Equatable {
        var name: String
        /// nil when the data exceeds the bound.
        var data: [UInt8]?
    }

    /// The bound of a line and of an event. The gateway keeps less than this for a slow reader.
    static let bytesMax = 1 << 20

    private var line: [UInt8] = []
    private var isLineTooLong = false
    private var isFirstLine = true
    /// A line feed that comes next belongs to the carriage return before it.
    private var isAfterReturn = false

    private var name = ""
    private var data: [UInt8] = []
    private var isTooLong = false

    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    /// Returns the events that end in this piece. An event without an end does not count.
    mutating func take(_ piece: [UInt8]) -> [Event] {
        var events: [Event] = []
        var rest = piece[...]
        while !rest.isEmpty {
            if isAfterReturn, rest.first == Self.lineFeed { rest.removeFirst() }
            isAfterReturn = false
            guard let end = rest.firstIndex(where: Self.endsLine) else { break }
            extend(by: rest[..<end])
            if let event = endLine() { events.append(event) }
            isAfterReturn = rest[end] == Self.carriageReturn
            rest = rest[(end + 1)...]
        }
        extend(by: rest)
        return events
    }

    private static func endsLine(_ byte: UInt8) -> Bool {
        byte == lineFeed || byte == carriageReturn
    }

    private mutating func extend(by part: ArraySlice<UInt8>) {
        let room = Self.bytesMax - line.count
        isLineTooLong = isLineTooLong || part.count > room
        line += part.prefix(room)
    }

    private mutating func endLine() -> Event? {
        defer {
            line.removeAll(keepingCapacity: true)
            isLineTooLong = false
            isFirstLine = false
        }
        var content = line[...]
        // A byte order mark may precede the first line.
        if isFirstLine, content.starts(with: [0xEF, 0xBB, 0xBF]) { content = content.dropFirst(3) }
        guard !content.isEmpty else { return endEvent() }
        let colon = content.firstIndex(of: UInt8(ascii: ":")) ?? content.endIndex
        // A line that begins with a colon is a comment of any length.
        guard colon > content.startIndex else { return nil }
        var value = content[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        switch String(decoding: content[..<colon], as: UTF8.self) {
        case "data": extendData(by: value)
        case "event": name = String(decoding: value.prefix(64), as: UTF8.self)
        default: break
        }
        return nil
    }

    private mutating func extendData(by value: ArraySlice<UInt8>) {
        guard !isLineTooLong, data.count + value.count < Self.bytesMax else {
            isTooLong = true
            return
        }
        data += value
        data.append(Self.lineFeed)
    }

    private mutating func endEvent() -> Event? {
        defer {
            name = ""
            data = []
            isTooLong = false
        }
        guard isTooLong || !data.isEmpty else { return nil }
        return Event(name: name.isEmpty ? "message" : name, data: isTooLong ? nil : data.dropLast())
    }
}
