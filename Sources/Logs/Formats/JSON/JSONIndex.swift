import CSimdjson

/// Where the tokens of a JSON text start, found by simdjson at several bytes a cycle.
struct JSONIndex: ~Copyable {
    private let index: OpaquePointer

    init() {
        guard let index = sluice_json_create() else {
            preconditionFailure("the system has no memory left")
        }
        self.index = index
    }

    deinit { sluice_json_destroy(index) }

    /// Positions of all tokens, ascending, followed by the text's length. Valid until the next
    /// call.
    ///
    /// Strings are known to be closed, valid UTF-8 and free of control characters then. Nothing
    /// else is checked yet.
    func tokens(
        of text: UnsafePointer<UInt8>,
        count: Int
    ) throws(JSONFault) -> UnsafeBufferPointer<UInt32> {
        guard count < UInt32.max else { throw JSONFault(.tooLarge, at: 0) }
        var positions: UnsafePointer<UInt32>?
        var found = 0
        let result = sluice_json_build(index, text, count, &positions, &found)
        guard result == sluice_json_ok else {
            switch result {
            case sluice_json_empty: throw JSONFault(.empty, at: 0)
            case sluice_json_no_memory: throw JSONFault(.noMemory, at: 0)
            default: throw JSONFault.first(in: UnsafeBufferPointer(start: text, count: count))
            }
        }
        return UnsafeBufferPointer(start: positions, count: found)
    }

    /// Gives back what a text longer than `count` needed.
    func shrink(to count: Int) {
        sluice_json_shrink(index, count)
    }
}
