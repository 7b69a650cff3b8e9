/// The fields of one kind of message.
struct MessageShape: Sendable {
    let name: StaticString
    /// The kinds of the fields 1, 2, …; there are no others.
    let kinds: [WireCursor.Kind]
    /// The fields that may repeat.
    let repeated: Set<Int>

    static let logGroup = MessageShape(
        name: "LogGroup",
        kinds: [.chunk, .chunk, .chunk, .chunk, .chunk, .chunk],
        repeated: [1, 6]
    )
    static let log = MessageShape(
        name: "Log",
        kinds: [.varint, .chunk, .chunk, .fixed32],
        repeated: [2]
    )
    static let content = MessageShape(name: "Content", kinds: [.chunk, .chunk], repeated: [])
    static let logTag = MessageShape(name: "LogTag", kinds: [.chunk, .chunk], repeated: [])
}

/// Checks that a message's fields come in the order of their numbers.
struct FieldOrder {
    let shape: MessageShape
    private var previous = 0

    init(_ shape: MessageShape) {
        self.shape = shape
    }

    /// The number of the next field.
    mutating func next(_ cursor: inout WireCursor) throws(SLSRefusal) -> Int {
        let start = cursor.position
        let (number, kind) = try cursor.tag()
        guard number <= shape.kinds.count else {
            throw cursor.problem("\(shape.name) has no field \(number)", at: start)
        }
        guard kind == shape.kinds[number - 1] else {
            throw cursor.problem(
                "field \(number) of \(shape.name) has the wrong wire type",
                at: start
            )
        }
        guard number > previous || number == previous && shape.repeated.contains(number) else {
            throw cursor.problem(
                number == previous
                    ? "field \(number) of \(shape.name) is repeated"
                    : "field \(number) of \(shape.name) comes after field \(previous)",
                at: start
            )
        }
        previous = number
        return number
    }
}
